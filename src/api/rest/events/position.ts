/** The id of the event after which a client resumes. */
import { eventNumber } from '../../events/resume.ts'

/** Undefined for texts that are no event id. An id beyond 2^53−1 becomes 2^53−1, which no event has either. */
export function parsePosition(text: string): number | undefined {
  return eventNumber(text) ?? (/^[1-9]\d+$/.test(text) ? Number.MAX_SAFE_INTEGER : undefined)
}
