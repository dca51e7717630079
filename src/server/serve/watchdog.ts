/** The watchdog of a service. Slow code is logged, at most once a minute per place. */

import { createWatchdog, type Watchdog } from '../../base/watchdog/watchdog.ts'
import type { Settings } from '../config/config.ts'
import type { Logger } from '../observability/log.ts'

const intervalMs = 60_000

/** `now`: in milliseconds. */
export function loggedWatchdog(
  settings: { readonly 'logic.limits': Pick<Settings['logic.limits'], 'code'> },
  logger: Logger,
  now: () => number = Date.now,
): Watchdog {
  const loggedAt = new Map<string, number>()
  return createWatchdog({
    limitMs: settings['logic.limits'].code,
    onSlow(place, durationMs) {
      const nowMs = now()
      if (nowMs - (loggedAt.get(place) ?? Number.NEGATIVE_INFINITY) < intervalMs) return
      loggedAt.set(place, nowMs)
      const message = 'code of the model is slow: all requests of this thread waited for it'
      logger.warn({ place, ms: Math.round(durationMs) }, message)
    },
  })
}
