/** The id of the event after which a listener goes on. */
import { eventNumber } from '../../events/resume.ts'

/** Undefined for what is no event id. An id beyond 2^53−1 is taken for the largest, which no event has either. */
export function parsePosition(text: string): number | undefined {
  return eventNumber(text) ?? (/^[1-9]\d+$/.test(text) ? Number.MAX_SAFE_INTEGER : undefined)
}
