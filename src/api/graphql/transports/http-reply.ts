/** HTTP replies of GraphQL. Imports nothing large, because error replies are needed before GraphQL is loaded. */
import { type Call, emptyHead, type Reply } from '../../../base/call.ts'
import type { Executed } from '../engine.ts'
import { type RequestError, toRequestError } from '../request-error.ts'
import { type Accepted, type JsonType, readAccept } from './accept.ts'

export const path = '/graphql'
export const assetsPath = '/graphql/assets/'

const cachingHeaders = ['Cache-Control', 'no-store', 'Vary', 'Authorization, X-API-Key, Cookie, Accept']

const jsonHeaders = {
  'application/json': ['Content-Type', 'application/json; charset=utf-8', ...cachingHeaders],
  'application/graphql-response+json': [
    'Content-Type',
    'application/graphql-response+json; charset=utf-8',
    ...cachingHeaders,
  ],
} as const

/** The HTTP reply with the result of an operation. */
export function executedReply({ text, replies }: Executed, json: JsonType): Reply {
  const cached = replies?.[json]
  if (cached) return cached
  const reply = { status: 200, headers: jsonHeaders[json], body: text }
  if (replies === undefined) return reply
  const cacheable = { ...reply, cachedHead: emptyHead() }
  replies[json] = cacheable
  return cacheable
}

/** Headers that a status requires (RFC 6750, 3; RFC 9110, 10.2.3), unless the error brings its own. */
const statusHeaders: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'WWW-Authenticate': 'Bearer realm="api", error="invalid_token"' },
  429: { 'Retry-After': '60' },
  503: { 'Retry-After': '1' },
}

/** Status and media type depend on what the client accepts. */
export function requestErrorReply(error: RequestError, { json = 'application/json' }: Accepted): Reply {
  const { text, isWellFormed, headers = {} } = error
  const status = json === 'application/json' && isWellFormed ? 200 : error.status
  const extraHeaders = Object.entries({ ...statusHeaders[status], ...headers })
  return { status, headers: [...jsonHeaders[json], ...extraHeaders.flat()], body: text }
}

/** The reply to an error that was thrown before GraphQL received the request, in the form that GraphQL clients expect. */
export function errorReply(error: unknown, { headers }: Call): Reply {
  return requestErrorReply(toRequestError(error), readAccept(headers.accept))
}
