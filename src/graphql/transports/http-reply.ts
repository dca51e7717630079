/** HTTP replies of GraphQL. Imports nothing heavy: error replies are needed before GraphQL is loaded. */
import { type Call, type Reply, unsent } from '../../call.ts'
import type { Executed } from '../engine.ts'
import { type RequestError, requestErrorOf } from '../request-error.ts'
import { type Accepted, type JsonType, readAccept } from './accept.ts'

export const path = '/graphql'
export const assetsPath = '/graphql/assets/'

const caching = ['Cache-Control', 'no-store', 'Vary', 'Authorization, X-API-Key, Cookie, Accept']

const jsonHeaders = {
  'application/json': ['Content-Type', 'application/json; charset=utf-8', ...caching],
  'application/graphql-response+json': [
    'Content-Type',
    'application/graphql-response+json; charset=utf-8',
    ...caching,
  ],
} as const

/** The HTTP reply with the result of an operation. */
export function executedReply({ text, replies }: Executed, json: JsonType): Reply {
  const known = replies?.[json]
  if (known) return known
  const made = { status: 200, headers: jsonHeaders[json], body: text }
  if (replies === undefined) return made
  const kept = { ...made, kept: unsent() }
  replies[json] = kept
  return kept
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
  const all = Object.entries({ ...statusHeaders[status], ...headers })
  return { status, headers: [...jsonHeaders[json], ...all.flat()], body: text }
}

/** An error that was thrown before GraphQL got the request, in the form that GraphQL clients read. */
export function errorReply(error: unknown, { headers }: Call): Reply {
  return requestErrorReply(requestErrorOf(error), readAccept(headers.accept))
}
