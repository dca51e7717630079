/** The events after which a client may resume. */
import { ApiError } from '../../base/errors.ts'
import type { LogBounds } from '../../engine/plan/change-feed.ts'

const eventIdPattern = /^(0|[1-9]\d{0,15})$/

/** The number of an event id, e.g. 1042 for `"1042"`; undefined for a text that is not an event id. */
export function eventNumber(id: string): number | undefined {
  const number = eventIdPattern.test(id) ? Number(id) : Number.NaN
  return Number.isSafeInteger(number) ? number : undefined
}

/** Throws RESYNC_REQUIRED if the log does not have every event after this one. */
export function checkResumable(after: number, bounds: LogBounds): void {
  const { pruned, drawn } = bounds
  if (after < pruned) {
    throw new ApiError(
      'RESYNC_REQUIRED',
      `The log no longer has the events up to ${pruned}, so it is not possible to resume after ${after}. Read the items again, then listen.`,
    )
  }
  if (after > drawn) {
    throw new ApiError(
      'RESYNC_REQUIRED',
      `There is no event ${after} yet: the newest is ${drawn}. Read the items again, then listen.`,
    )
  }
}
