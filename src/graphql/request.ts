/** What a client asks for, whichever way it came (GraphQL over HTTP, "Request parameters"). */
import { isUtf8 } from 'node:buffer'
import type { Call } from '../call.ts'
import { ApiError } from '../errors.ts'

export interface GraphqlRequest {
  readonly query: string | undefined
  readonly operationName: string | undefined
  readonly variables: Readonly<Record<string, unknown>> | undefined
  /** `sha256:` and 64 hexadecimal digits. */
  readonly documentId: string | undefined
  /** Apollo's `extensions.persistedQuery.sha256Hash`. */
  readonly sha256Hash: string | undefined
}

type Values = Readonly<Record<string, unknown>>

/** A JSON field takes 64 levels; what leads to it takes some more. */
const DEEPEST = 80

function bad(message: string): ApiError {
  return new ApiError('BAD_REQUEST', message)
}

function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.keys(value).every(key => isWithin(Reflect.get(value, key), levels - 1))
}

function textOf(values: Values, name: string): string | undefined {
  const value = values[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  throw bad(`\`${name}\` must be a string.`)
}

function objectOf(values: Values, name: string): Values | undefined {
  const value = values[name]
  if (value === undefined || value === null) return undefined
  if (!isObject(value)) throw bad(`\`${name}\` must be a JSON object.`)
  if (isWithin(value, DEEPEST)) return value
  throw bad(`\`${name}\` is nested too deep; at most ${DEEPEST} levels are taken.`)
}

function persistedHash(extensions: Values | undefined): string | undefined {
  const persisted = extensions?.persistedQuery
  if (persisted === undefined || persisted === null) return undefined
  if (!isObject(persisted) || persisted.version !== 1) {
    throw bad('`extensions.persistedQuery` must be an object with `version` 1 and `sha256Hash`.')
  }
  const { sha256Hash } = persisted
  if (typeof sha256Hash === 'string' && /^[0-9a-f]{64}$/.test(sha256Hash)) return sha256Hash
  throw bad('`extensions.persistedQuery.sha256Hash` must be 64 hexadecimal digits, in lower case.')
}

/** The request in a JSON object. Throws BAD_REQUEST; what it does not know, it leaves alone. */
export function requestOf(values: unknown): GraphqlRequest {
  if (Array.isArray(values)) throw bad('Batches are not taken: send one request at a time.')
  if (!isObject(values)) throw bad('The body must be a JSON object with `query`.')
  const query = textOf(values, 'query')
  const request = {
    query,
    operationName: textOf(values, 'operationName'),
    variables: objectOf(values, 'variables'),
    documentId: textOf(values, 'documentId'),
    sha256Hash: persistedHash(objectOf(values, 'extensions')),
  }
  const isNamed = request.documentId !== undefined || request.sha256Hash !== undefined
  // The protocol of graphql-ws requires a text: https://the-guild.dev/graphql/ws/recipes#persisted-queries
  if (isNamed) return query === '' ? { ...request, query: undefined } : request
  if (query !== undefined) return request
  throw bad('`query` is missing: send the text of the operation, or name a stored document.')
}

const contentType = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i

function requireJson({ headers }: Call): void {
  const type = headers['content-type']
  if (type === undefined || !contentType.test(type)) {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the request as application/json, in UTF-8.', {
      headers: { Accept: 'application/json' },
    })
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body without a Content-Encoding.')
  }
}

/** A POST's body. Forms and text, which any page could send from anywhere, are UNSUPPORTED_MEDIA_TYPE. */
export function bodyRequest(call: Call): GraphqlRequest {
  requireJson(call)
  if (call.body.length === 0) throw bad('The body is empty; send a JSON object with `query`.')
  if (!isUtf8(call.body)) throw bad('The body is not valid UTF-8.')
  return requestOf(parsed(call.body.toString('utf8'), 'The body'))
}

function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw bad(`${what} is not JSON.`)
  }
}

const json = new Set(['variables', 'extensions'])
const parameters = new Set(['query', 'operationName', 'documentId', ...json])

/** A GET's query string. */
export function queryRequest({ query }: Call): GraphqlRequest {
  const values: Record<string, unknown> = {}
  for (const [name, value] of new URLSearchParams(query)) {
    if (!parameters.has(name)) continue
    if (name in values) throw bad(`The parameter \`${name}\` is given twice.`)
    values[name] = json.has(name) && value !== '' ? parsed(value, `The parameter \`${name}\``) : value
    if (json.has(name) && value === '') values[name] = null
  }
  return requestOf(values)
}
