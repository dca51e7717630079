/** Finds the credential of a request. */

import type { IncomingHttpHeaders } from 'node:http'
import { Cache, CacheBound } from '../base/cache.ts'
import { ApiError } from '../base/errors.ts'

/** The parts of a request that may contain a credential. `api_key` is removed from `query`. */
export interface CredentialSource {
  /** Of the request to which a proof belongs (RFC 9449, 4.2); undefined in a WebSocket message. */
  readonly method?: string
  readonly path?: string
  /** Whether the sender has already proven possession of the key on this connection. */
  readonly proven?: boolean | undefined
  readonly headers: IncomingHttpHeaders
  query: string
  /** True if `api_key` was removed from the query. */
  keyInQuery?: boolean
}

export interface Credential {
  /** `bearer`: any kind; `key`: sent in a place for API keys only; `dpop`: with a proof (RFC 9449). */
  readonly place: 'bearer' | 'key' | 'dpop'
  readonly text: string
}

/** RFC 6750, 2.1. Node joins repeated headers with a comma. */
const bearer = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i

/** RFC 9449, 7.1 */
const dpop = /^DPoP +([A-Za-z0-9._~+/-]+=*) *$/i

const bearerPrefixCharacters = 'Bearer '.length
const plainBearer = /^Bearer [A-Za-z0-9._~+/-]+=*$/

/** Long headers, such as those with JWTs, are cached: matching each character costs more than everything else. */
const minCachedCharacters = 128
const maxCachedCharacters = 4096
const maxCachedHeaders = 2000
const longHeaders = new Cache<string, Credential>(new CacheBound('authorization_headers', maxCachedHeaders))

function readPlainBearer(header: string): Credential | undefined {
  const cached = header.length < minCachedCharacters ? undefined : longHeaders.get(header)
  if (cached !== undefined) return cached
  if (!plainBearer.test(header)) return undefined
  const credential: Credential = { place: 'bearer', text: header.slice(bearerPrefixCharacters) }
  if (header.length >= minCachedCharacters && header.length <= maxCachedCharacters) {
    longHeaders.set(header, credential)
  }
  return credential
}

function parseAuthorization(header: string): Credential {
  const token = bearer.exec(header)?.[1]
  if (token !== undefined) return { place: 'bearer', text: token }
  const boundToken = dpop.exec(header)?.[1]
  if (boundToken !== undefined) return { place: 'dpop', text: boundToken }
  throw new ApiError('UNAUTHORIZED', 'The `Authorization` header must have the form `Bearer …` or `DPoP …`.')
}

function decodeComponent(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Removes every `api_key` from the query, however it is encoded, and returns their values. */
function takeFromQuery(source: CredentialSource): string[] {
  const { query } = source
  if (query === '' || (!query.includes('api_key') && !query.includes('%'))) return []
  const keys: string[] = []
  const otherParts = query.split('&').filter(part => {
    const equalsIndex = part.indexOf('=')
    const name = equalsIndex === -1 ? part : part.slice(0, equalsIndex)
    if (decodeComponent(name) !== 'api_key') return true
    keys.push(equalsIndex === -1 ? '' : (decodeComponent(part.slice(equalsIndex + 1)) ?? ''))
    return false
  })
  if (keys.length === 0) return keys
  source.query = otherParts.join('&')
  source.keyInQuery = true
  return keys
}

/**
 * The credential of a request; null if there is none. Removes `api_key` from the query. Throws BAD_REQUEST if there are two
 * different credentials, UNAUTHORIZED if the form of the credential is unknown.
 */
export function findCredential(source: CredentialSource): Credential | null {
  const fromQuery = takeFromQuery(source)
  if (fromQuery.length > 1) throw givenTwice()
  const { authorization } = source.headers
  const header = source.headers['x-api-key']
  if (authorization === undefined && header === undefined && fromQuery.length === 0) return null
  if (authorization !== undefined && header === undefined && fromQuery.length === 0) {
    // Hot path.
    const credential = readPlainBearer(authorization)
    if (credential !== undefined) return credential
    if (!authorization.includes(',')) return parseAuthorization(authorization)
  }
  return requireSingle(authorization, header, fromQuery)
}

function givenTwice(): ApiError {
  const message = 'The parameter "api_key" occurs twice: send it once.'
  return new ApiError('BAD_REQUEST', message, {
    details: [{ field: 'api_key', code: 'given_twice', message }],
  })
}

function requireSingle(
  authorization: string | undefined,
  header: string | string[] | undefined,
  fromQuery: readonly string[],
): Credential {
  const keys = header === undefined ? [] : String(header).split(',')
  const headers = authorization === undefined ? [] : authorization.split(',')
  const texts = new Set([...keys.map(key => key.trim()), ...fromQuery])
  for (const value of headers) texts.add(bearer.exec(value.trim())?.[1] ?? value.trim())
  if (texts.size > 1)
    throw new ApiError('BAD_REQUEST', 'The request carries two different credentials: send one.')
  const [first] = headers.map(value => parseAuthorization(value.trim()))
  const [text = ''] = texts
  return keys.length + fromQuery.length > 0 || !first ? { place: 'key', text } : first
}
