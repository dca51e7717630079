/**
 * From which budget a request draws. Pages have one of their own, so that requests to the API from behind the same address do
 * not prevent a sign-in. Static assets draw nothing: a page may need several, and none costs more than sending it.
 */

import { path as graphqlPath } from '../../api/graphql/transports/http-reply.ts'
import type { Call } from '../../base/call.ts'
import { acceptsPage } from '../../base/media-ranges.ts'
import type { Principal } from '../../base/principal.ts'
import type { RateLimits } from '../../engine/cluster/rate-limits.ts'
import { isAccountPath, isBrowserPath } from '../../identity/accounts/paths.ts'
import type { Exchange } from '../http/http.ts'

const assets = /^\/(?:account|docs|graphql)\/assets\//

function isPage({
  path,
  query,
  method,
  headers,
}: Pick<Call, 'path' | 'query' | 'method' | 'headers'>): boolean {
  if (path === '/' || path === '/docs' || path.startsWith('/docs/')) return true
  // GraphiQL. With a query, it is an operation.
  if (path === graphqlPath) return method === 'GET' && query === '' && acceptsPage(headers.accept)
  return isAccountPath(path) || isBrowserPath(path)
}

/** Draws one request from the budget that it belongs to. Throws RATE_LIMITED if nothing remains. */
export function drawRequest(
  limits: RateLimits,
  principal: Principal,
  exchange: Exchange,
): undefined | Promise<undefined> {
  if (assets.test(exchange.path)) return undefined
  return isPage(exchange) ? limits.drawPage(principal, exchange) : limits.draw(principal, exchange)
}
