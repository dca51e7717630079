/** A GraphQL request, in the form that all transports share (GraphQL over HTTP, "Request parameters"). */

import { isUtf8 } from 'node:buffer'
import type { Call } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'
import { isObject, parseJson, type UncheckedObject } from '../../base/json.ts'

export interface GraphqlRequest {
  readonly query: string | undefined
  readonly operationName: string | undefined
  readonly variables: Readonly<Record<string, unknown>> | undefined
  /** `sha256:` and 64 hexadecimal digits. */
  readonly documentId: string | undefined
  /** Apollo's `extensions.persistedQuery.sha256Hash`. */
  readonly sha256Hash: string | undefined
}

/** A JSON field allows 64 levels; the path to it takes a few more. */
const maxNesting = 80

function badRequest(message: string): ApiError {
  return new ApiError('BAD_REQUEST', message)
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.keys(value).every(key => isWithin(Reflect.get(value, key), levels - 1))
}

function stringOf(values: UncheckedObject, name: string): string | undefined {
  const value = values[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  throw badRequest(`\`${name}\` must be a string.`)
}

function objectOf(values: UncheckedObject, name: string): UncheckedObject | undefined {
  const value = values[name]
  if (value === undefined || value === null) return undefined
  if (!isObject(value)) throw badRequest(`\`${name}\` must be a JSON object.`)
  if (isWithin(value, maxNesting)) return value
  throw badRequest(`\`${name}\` is nested too deeply; at most ${maxNesting} levels are allowed.`)
}

function persistedHash(extensions: UncheckedObject | undefined): string | undefined {
  const persisted = extensions?.persistedQuery
  if (persisted === undefined || persisted === null) return undefined
  if (!isObject(persisted) || persisted.version !== 1) {
    throw badRequest('`extensions.persistedQuery` must be an object with `version` 1 and `sha256Hash`.')
  }
  const { sha256Hash } = persisted
  if (typeof sha256Hash === 'string' && /^[0-9a-f]{64}$/.test(sha256Hash)) return sha256Hash
  throw badRequest('`extensions.persistedQuery.sha256Hash` must be 64 hexadecimal digits, in lower case.')
}

/** The request in a JSON object, whose unknown members are ignored. Throws BAD_REQUEST. */
export function parseRequest(values: unknown): GraphqlRequest {
  if (Array.isArray(values)) throw badRequest('Batches are not supported: send one request at a time.')
  if (!isObject(values)) throw badRequest('The body must be a JSON object with `query`.')
  const query = stringOf(values, 'query')
  const request = {
    query,
    operationName: stringOf(values, 'operationName'),
    variables: objectOf(values, 'variables'),
    documentId: stringOf(values, 'documentId'),
    sha256Hash: persistedHash(objectOf(values, 'extensions')),
  }
  const isNamed = request.documentId !== undefined || request.sha256Hash !== undefined
  // graphql-ws requires `query`, which may be empty: https://the-guild.dev/graphql/ws/recipes#persisted-queries
  if (isNamed) return query === '' ? { ...request, query: undefined } : request
  if (query !== undefined) return request
  throw badRequest('`query` is missing: send the text of the operation, or name a stored document.')
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

/**
 * The request in a POST's body. Forms and text are UNSUPPORTED_MEDIA_TYPE: a page of any origin can send them without
 * a preflight.
 */
export function bodyRequest(call: Call): GraphqlRequest {
  requireJson(call)
  if (call.body.length === 0) throw badRequest('The body is empty; send a JSON object with `query`.')
  if (!isUtf8(call.body)) throw badRequest('The body is not valid UTF-8.')
  return parseRequest(readJson(call.body.toString('utf8'), 'The body'))
}

function readJson(text: string, source: string): unknown {
  const value = parseJson(text)
  if (value === undefined) throw badRequest(`${source} is not JSON.`)
  return value
}

const jsonParameters = new Set(['variables', 'extensions'])
const parameters = new Set(['query', 'operationName', 'documentId', ...jsonParameters])

/** The request in a GET's query string. Parameters that GraphQL over HTTP does not define are ignored. */
export function queryRequest({ query }: Call): GraphqlRequest {
  const values: Record<string, unknown> = {}
  for (const [name, value] of new URLSearchParams(query)) {
    if (!parameters.has(name)) continue
    if (name in values) throw badRequest(`The parameter \`${name}\` is given twice.`)
    if (!jsonParameters.has(name)) values[name] = value
    else values[name] = value === '' ? null : readJson(value, `The parameter \`${name}\``)
  }
  return parseRequest(values)
}
