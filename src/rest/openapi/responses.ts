/** The responses and headers of the OpenAPI document. */
import { catalogue } from '../../errors.ts'
import type { JsonSchema } from '../../model/fields/type.ts'

const string = { type: 'string' }
const integer = { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

function header(description: string, schema: JsonSchema): JsonSchema {
  return { description, schema }
}

const components: { readonly [name: string]: JsonSchema } = {
  'API-Version': header('The version of the interface.', string),
  'X-Request-Id': header('Names this exchange, in our log too.', string),
  'X-RateLimit-Limit': header('Requests allowed in the window.', integer),
  'X-RateLimit-Remaining': header('Requests left in the window.', integer),
  'X-RateLimit-Reset': header('When the window ends, in Unix seconds.', integer),
  RateLimit: header('What is left of the budget (draft-ietf-httpapi-ratelimit-headers).', string),
  'RateLimit-Policy': header('The budget (draft-ietf-httpapi-ratelimit-headers).', string),
  'Cache-Control': header('Who may keep the answer (RFC 9111).', string),
  Vary: header('The request headers that the answer depends on (RFC 9110, 12.5.5).', string),
  ETag: header('The entity tag (RFC 9110, 8.8.3).', string),
  Link: header('first, prev, next and last page (RFC 8288).', string),
  'Idempotent-Replayed': header('`true`: the stored answer to an earlier request with the same key.', string),
  Location: header('The path of the new item.', string),
  Deprecation: header('Since when something in this answer is deprecated (RFC 9745).', string),
  Sunset: header('When it stops working (RFC 8594).', string),
  'Retry-After': header('Seconds to wait.', integer),
  'WWW-Authenticate': header('How to authenticate (RFC 6750).', string),
  Allow: header('The methods that the path takes.', string),
  Accept: header('The media types that the body may have.', string),
  'Accept-Patch': header('The media types that the body of a PATCH may have (RFC 5789).', string),
  'Accept-Encoding': header('The codings that the body may have.', string),
}

function listed(...names: string[]): JsonSchema {
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}

const always = [
  'API-Version',
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
  'Cache-Control',
  'Vary',
]
const deprecation = ['Deprecation', 'Sunset']
const written = [...always, ...deprecation, 'Idempotent-Replayed']

export const headers = {
  components,
  gone: listed(...written),
  events: listed(...always),
  read: listed(...always, ...deprecation, 'ETag'),
  list: listed(...always, ...deprecation, 'ETag', 'Link'),
  written: listed(...written, 'ETag'),
  batch: listed(...always, 'Idempotent-Replayed'),
  acted: listed(...written),
  created: listed(...written, 'ETag', 'Location'),
}

/** A successful response in JSON. */
export function success(description: string, schema: JsonSchema, sent: JsonSchema): JsonSchema {
  return { description, headers: sent, content: { 'application/json': { schema } } }
}

const special: Record<number, readonly string[]> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  403: ['WWW-Authenticate'],
  409: ['Retry-After'],
  415: ['Accept', 'Accept-Patch', 'Accept-Encoding'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

function errorResponse(status: number): JsonSchema {
  const rows = Object.entries(catalogue).filter(([, row]) => row.status === status)
  return {
    description: rows.map(([code, row]) => `\`${code}\`: ${row.message}`).join(' '),
    headers: listed(...always, ...(special[status] ?? [])),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        example: { error: { code: rows[0]?.[0] ?? '', message: rows[0]?.[1].message ?? '' } },
      },
      'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
    },
  }
}

const statuses = new Set(Object.values(catalogue).map(({ status }) => status))

/** References to the error responses of these statuses. */
export function responses(...wanted: number[]): JsonSchema {
  return Object.fromEntries(wanted.map(status => [status, { $ref: `#/components/responses/${status}` }]))
}

responses.components = Object.fromEntries([...statuses].map(status => [status, errorResponse(status)]))
