/** The routes of the model, as the service answers them. */

import { createRoutes, type Routes } from '../../../api/routes/routes.ts'
import type { RateLimits } from '../../../engine/cluster/rate-limits.ts'
import type { Exchange } from '../../http/http.ts'
import { logWith, openCode, type ServiceCodeParts } from '../background/code.ts'

interface RoutesParts extends ServiceCodeParts {
  readonly rateLimits: RateLimits
  readonly isDevelopment: boolean
}

export interface OpenRoutes {
  /** Undefined for a model without routes. */
  readonly routes: Routes | undefined
  close(): Promise<void>
}

export function openRoutes(parts: RoutesParts): OpenRoutes {
  const { settings, logger, rateLimits, isDevelopment } = parts
  const { close, ...code } = openCode(parts)
  const routes = createRoutes({
    code,
    logOf: ({ name }, { requestId }) => logWith(logger, { route: name, request_id: requestId }),
    connectionOf: call => {
      // Every call is an exchange.
      const exchange = call as Exchange
      return {
        readBody: () => exchange.readBody(settings.bodyLimit),
        onClose: listener => exchange.res.once('close', listener),
      }
    },
    draw: (principal, call) => rateLimits.draw(principal, call as Exchange),
    drawRoute: route => rateLimits.drawRoute(route),
    giveRoute: route => rateLimits.giveRoute(route),
    timeoutMs: settings['logic.limits'].route,
    maxAnswerBytes: settings.maxAnswer,
    isDevelopment,
  })
  return { routes, close }
}
