/** The time limit of a service for the model's own code. Slow code is logged, at most once a minute per place. */

import { createTimeLimit, type TimeLimit } from '../../base/time-limit.ts'
import type { Logger } from '../observability/log.ts'

const intervalMs = 60_000

/** `now`: in milliseconds. */
export function loggedTimeLimit(logger: Logger, now: () => number = Date.now): TimeLimit {
  const loggedAt = new Map<string, number>()
  return createTimeLimit({
    onSlow(place, durationMs) {
      const nowMs = now()
      if (nowMs - (loggedAt.get(place) ?? Number.NEGATIVE_INFINITY) < intervalMs) return
      loggedAt.set(place, nowMs)
      const message = 'code of the model is slow: all requests of this thread waited for it'
      logger.warn({ place, ms: Math.round(durationMs) }, message)
    },
    onUnbounded(cause) {
      const error = cause instanceof Error ? cause.message : String(cause)
      const message =
        'code of the model runs without a time limit, because Node does not permit one: start Node with `--allow-inspector`'
      logger.warn({ error }, message)
    },
  })
}
