/** Replies of the GraphQL face to HTTP requests. Imports nothing heavy: errors are told before it is loaded. */
import { type Call, type Reply, unsent } from '../call.ts'
import { type Accepted, readAccept } from './accept.ts'
import type { Executed } from './engine.ts'
import { type Refusal, refusalOf } from './refusal.ts'

export const path = '/graphql'
export const assetsPath = '/graphql/assets/'

const caching = ['Cache-Control', 'no-store', 'Vary', 'Authorization, X-API-Key, Accept']

export const jsonHeaders = {
  'application/json': ['Content-Type', 'application/json; charset=utf-8', ...caching],
  'application/graphql-response+json': [
    'Content-Type',
    'application/graphql-response+json; charset=utf-8',
    ...caching,
  ],
} as const

/** By media type. */
export type Replies = { -readonly [Type in keyof typeof jsonHeaders]?: Reply }

/** What was executed, as it is sent. */
export function executedReply({ text, replies }: Executed, json: keyof typeof jsonHeaders): Reply {
  const known = replies?.[json]
  if (known) return known
  const made = { status: 200, headers: jsonHeaders[json], body: text }
  if (replies === undefined) return made
  const kept = { ...made, kept: unsent() }
  replies[json] = kept
  return kept
}

/** Headers that a status asks for (RFC 6750, 3; RFC 9110, 10.2.3), before those that the refusal itself brings. */
const special: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'WWW-Authenticate': 'Bearer realm="api", error="invalid_token"' },
  429: { 'Retry-After': '60' },
  503: { 'Retry-After': '1' },
}

/** The status and form of a refusal depend on what the client takes. */
export function refusalReply(refused: Refusal, { json = 'application/json' }: Accepted): Reply {
  const { text, wellFormed, headers = {} } = refused
  const status = json === 'application/json' && wellFormed ? 200 : refused.status
  const all = Object.entries({ ...special[status], ...headers })
  return { status, headers: [...jsonHeaders[json], ...all.flat()], body: text }
}

/** What a stage before this face has thrown, in the form that GraphQL clients read. */
export function errorReply(error: unknown, { headers }: Call): Reply {
  return refusalReply(refusalOf(error), readAccept(headers.accept))
}
