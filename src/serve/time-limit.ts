/** The bound on the model's own code as a service has it: slow code is logged, each place once a minute. */
import type { Logger } from '../observability/log.ts'
import { createTimeLimit, type TimeLimit } from '../time-limit.ts'

const intervalMs = 60_000

/** `now`: in milliseconds. */
export function loggedTimeLimit(logger: Logger, now: () => number = Date.now): TimeLimit {
  const lastAt = new Map<string, number>()
  return createTimeLimit({
    onSlow(place, durationMs) {
      const at = now()
      if (at - (lastAt.get(place) ?? Number.NEGATIVE_INFINITY) < intervalMs) return
      lastAt.set(place, at)
      const message = 'code of the model is slow: all requests of this thread waited for it'
      logger.warn({ place, ms: Math.round(durationMs) }, message)
    },
    onUnbounded(cause) {
      const error = cause instanceof Error ? cause.message : String(cause)
      const message =
        'code of the model runs without a bound on its time, since this Node lets nothing end it: start it with `--allow-inspector`'
      logger.warn({ error }, message)
    },
  })
}
