/** The id of the event after which a listener goes on. */
import { ApiError } from '../../errors.ts'
import { eventNumber } from '../../events/resume.ts'

/** Undefined for what is no event id. Throws RESYNC_REQUIRED for one that is larger than any. */
export function parsePosition(text: string): number | undefined {
  const number = eventNumber(text)
  if (number !== undefined || !/^[1-9]\d+$/.test(text)) return number
  throw new ApiError(
    'RESYNC_REQUIRED',
    'There is no event of so large an id. Read the items again, then listen.',
  )
}
