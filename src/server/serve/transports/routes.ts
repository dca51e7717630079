/** The routes of the model, as the service answers them. */

import { createRoutes, type Routes } from '../../../api/routes/routes.ts'
import { basePathOf } from '../../../base/base-path.ts'
import type { RateLimits } from '../../../engine/cluster/rate-limits.ts'
import { SettingsError } from '../../config/config.ts'
import type { Exchange } from '../../http/http.ts'
import { logWith, openCode, type ServiceCodeParts } from '../background/code.ts'
import { atMostHalf } from './events.ts'

interface RoutesParts extends ServiceCodeParts {
  readonly rateLimits: RateLimits
  readonly isDevelopment: boolean
}

export interface OpenRoutes {
  /** Undefined for a model without routes. */
  readonly routes: Routes | undefined
  close(): Promise<void>
}

/**
 * Of one caller and one route. A provider may send a burst, and most of its addresses are one: their limit is far above what providers
 * keep open at once, and a tenth of the connections that a service has by default.
 */
const maxRunning = 1000

export function openRoutes(parts: RoutesParts): OpenRoutes {
  const { settings, logger, rateLimits, isDevelopment } = parts
  requireReachable(parts)
  const { close, ...code } = openCode(parts)
  const routes = createRoutes({
    code,
    logOf: ({ name }, { requestId }) => logWith(logger, { route: name, request_id: requestId }),
    connectionOf: call => {
      // Every call is an exchange.
      const exchange = call as Exchange
      return {
        readBody: () => exchange.readBody(settings.bodyLimit),
        onClose: listener => {
          if (exchange.res.destroyed) setImmediate(listener)
          else exchange.res.once('close', listener)
        },
        onClientEnd: listener => exchange.res.once('close', exchange.onGone(listener)),
      }
    },
    draw: (principal, call) => rateLimits.draw(principal, call as Exchange),
    drawRoute: route => rateLimits.drawRoute(route),
    giveRoute: route => rateLimits.giveRoute(route),
    maxRunning: atMostHalf(maxRunning, settings),
    timeoutMs: settings['logic.limits'].route,
    maxAnswerBytes: settings.maxAnswer,
    isDevelopment,
  })
  return { routes, close }
}

/** Below a base path, requests come with it or without it: no path of a route may begin with it. */
function requireReachable({ model, settings }: RoutesParts): void {
  const basePath = basePathOf(settings.baseUrl)
  const route = [...model.logic.routes.values()].find(({ path }) => `${path}/`.startsWith(`${basePath}/`))
  if (basePath === '' || route === undefined) return
  const message = `its path is the beginning of ${route.path}, the path of \`routes.${route.name}\`: choose another for one of them`
  throw new SettingsError([{ place: '`baseUrl`', message }])
}
