/** Cross-origin requests of browsers (Fetch standard, 3.3). */
import type { Reply } from '../../base/call.ts'
import type { Exchange } from './exchange.ts'

/** Flat headers of every response. */
export const crossOrigin = ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', '*']

/** The response to a CORS preflight request (Fetch standard, 3.3.2). */
export const preflight: Reply = {
  status: 204,
  headers: [
    'Access-Control-Allow-Methods',
    'GET, HEAD, POST, PUT, PATCH, DELETE',
    'Access-Control-Allow-Headers',
    // `*` covers every other header except in old browsers, which need the names: of tracing libraries too.
    'Authorization, DPoP, X-API-Key, Content-Type, Accept, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, X-Request-Id, Apollo-Require-Preflight, X-Requested-With, traceparent, tracestate, baggage, sentry-trace, *',
    'Access-Control-Max-Age',
    '86400',
    'Cache-Control',
    'no-store',
  ],
  body: null,
}

export function isPreflight({ method, headers }: Exchange): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  )
}
