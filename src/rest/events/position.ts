/** The id of the event after which a listener goes on. */
import { ApiError } from '../../errors.ts'
import { eventNumber } from '../../events/resume.ts'
import { quoted } from '../../plan/names.ts'

/**
 * Throws BAD_REQUEST for what is no event id, and RESYNC_REQUIRED for one that is larger than any. `what`: the parameter
 * or header that it comes from, as the subject of a sentence.
 */
export function parsePosition(what: string, text: string): number {
  const number = eventNumber(text)
  if (number !== undefined) return number
  if (/^[1-9]\d+$/.test(text)) {
    throw new ApiError(
      'RESYNC_REQUIRED',
      `${what} names an event that is newer than any. Read the items again, then listen.`,
    )
  }
  throw new ApiError('BAD_REQUEST', `${what} must be the id of an event, not ${quoted(text)}.`)
}
