/** The responses and headers of the OpenAPI document. */
import { catalogue } from '../../../base/errors.ts'
import type { JsonSchema } from '../../../model/fields/type.ts'
import type { Collection } from '../../../model/model.ts'
import { type Reference, referTo, schemaReference } from './components.ts'
import type { Document } from './names.ts'

const string = { type: 'string' }
const integer = { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

function header(description: string, schema: JsonSchema): JsonSchema {
  return { description, schema }
}

/** Headers of every response. No response repeats them, since that would double the size of the document. */
export const commonHeaders: { readonly [name: string]: JsonSchema } = {
  'API-Version': header('The version of the API.', string),
  'X-Request-Id': header('Identifies the request, also in the log of the service.', string),
  'X-RateLimit-Limit': header('The number of requests allowed in the window.', integer),
  'X-RateLimit-Remaining': header('The number of requests left in the window.', integer),
  'X-RateLimit-Reset': header('When the window ends, in Unix seconds.', integer),
  RateLimit: header('The remaining quota (draft-ietf-httpapi-ratelimit-headers-10).', string),
  'RateLimit-Policy': header('The quota policy (draft-ietf-httpapi-ratelimit-headers-10).', string),
  'Cache-Control': header('Who may store the response (RFC 9111).', string),
  Vary: header('The request headers on which the response depends (RFC 9110, 12.5.5).', string),
  Deprecation: header('When something in this response was deprecated (RFC 9745).', string),
  Sunset: header('When it stops working (RFC 8594).', string),
}

/** Headers of some responses. */
export const headers: { readonly [name: string]: JsonSchema } = {
  ETag: header('The entity tag (RFC 9110, 8.8.3).', string),
  Link: header('Links to the `first`, `prev`, `next` and `last` page (RFC 8288).', string),
  'Idempotent-Replayed': header(
    '`true`: this is the stored response to an earlier request with the same key.',
    string,
  ),
  Location: header('The path of the new item.', string),
  'Content-Disposition': header('The name of the file (RFC 6266).', string),
  'Retry-After': header('Seconds to wait.', integer),
  'WWW-Authenticate': header('How to authenticate (RFC 6750).', string),
  Allow: header('The methods that the path supports.', string),
  Accept: header('The media types that the body may have.', string),
  'Accept-Patch': header('The media types that the body of a PATCH may have (RFC 5789).', string),
  'Accept-Encoding': header('The codings that the body may have.', string),
}

export function headerReferences(names: readonly string[]): JsonSchema {
  return Object.fromEntries(names.map(name => [name, referTo('headers', name)]))
}

/** A successful response in JSON. `sent`: its own headers. */
export function json(description: string, schema: JsonSchema, ...sent: readonly string[]): JsonSchema {
  return {
    description,
    ...(sent.length > 0 && { headers: headerReferences(sent) }),
    content: { 'application/json': { schema } },
  }
}

/** One item, after a read or a write. */
export function itemResponse(document: Document, collection: Collection): Reference {
  const name = `${document.schemaName(collection, 'item')}Response`
  return document.responses.refer(`item ${collection.name}`, name, () =>
    json('The item after the request.', document.schema(collection, 'item'), 'ETag', 'Idempotent-Replayed'),
  )
}

export function listResponse(document: Document, collection: Collection): Reference {
  const name = `${document.schemaName(collection, 'list')}Response`
  return document.responses.refer(`list ${collection.name}`, name, () =>
    json('A page of items.', document.schema(collection, 'list'), 'ETag', 'Link'),
  )
}

/** `kind`: `created` if the response contains more than the item. */
export function createdResponse(
  document: Document,
  collection: Collection,
  kind: 'item' | 'created',
): Reference {
  const name = `${document.schemaName(collection, 'item')}CreatedResponse`
  const schema = document.schema(collection, kind)
  return document.responses.refer(`created ${collection.name}`, name, () =>
    json('The new item.', schema, 'ETag', 'Idempotent-Replayed', 'Location'),
  )
}

/** By kind of operation, the statuses of its errors. A status has all codes that the catalogue gives it. */
const errorStatuses = {
  Account: [400, 401, 403, 404, 406, 408, 413, 415, 429, 500, 503],
  Document: [400, 401, 406, 412, 429, 500, 503],
  Read: [400, 401, 403, 404, 406, 412, 429, 500, 503],
  Events: [400, 401, 403, 406, 410, 429, 500, 503],
  Create: [400, 401, 403, 406, 408, 409, 413, 415, 422, 429, 500, 503],
  Update: [400, 401, 403, 404, 406, 408, 409, 412, 413, 415, 422, 429, 500, 503],
  Delete: [400, 401, 403, 404, 406, 409, 412, 422, 429, 500, 503],
  Action: [400, 401, 403, 404, 406, 408, 409, 413, 415, 422, 429, 500, 503],
  Batch: [400, 401, 403, 404, 405, 406, 408, 409, 412, 413, 415, 422, 429, 500, 503],
} as const

/** A query can refuse its call as a conflict. */
const queryErrorStatuses = [...errorStatuses.Read, 409].sort((one, other) => one - other)

export type ErrorKind = keyof typeof errorStatuses

const headersByStatus: Record<number, readonly string[]> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  405: ['Allow'],
  409: ['Retry-After'],
  415: ['Accept', 'Accept-Patch', 'Accept-Encoding'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

const codesOf = (status: number): readonly string[] =>
  Object.entries(catalogue).flatMap(([code, row]) => (row.status === status ? [`\`${code}\``] : []))

/** `x-statuses` lists the statuses for programs. */
function errorResponse(statuses: readonly number[]): JsonSchema {
  const headerNames = new Set(statuses.flatMap(status => headersByStatus[status] ?? []))
  return {
    description: `An error: ${statuses.map(status => `${status} ${codesOf(status).join(', ')}`).join('; ')}.`,
    'x-statuses': statuses,
    ...(headerNames.size > 0 && { headers: headerReferences([...headerNames]) }),
    content: {
      'application/json': { schema: schemaReference('ErrorResponse') },
      'application/problem+json': { schema: schemaReference('Problem') },
    },
  }
}

const notModified = {
  description: 'Not modified: one of the entity tags is current.',
  headers: headerReferences(['ETag']),
}
const noContentResponse = { description: 'Done.', headers: headerReferences(['Idempotent-Replayed']) }

/** The responses that do not depend on the model. */
export const responses: { readonly [name: string]: JsonSchema } = {
  NotModifiedResponse: notModified,
  NoContentResponse: noContentResponse,
  ...Object.fromEntries(
    Object.entries(errorStatuses).map(([kind, statuses]) => [`${kind}Error`, errorResponse(statuses)]),
  ),
}

/** All errors, as the `default` response. */
export function errors(kind: ErrorKind): JsonSchema {
  return { default: referTo('responses', `${kind}Error`) }
}

/** The errors of the model's queries: a component only where there are any. */
export function queryErrors(document: Document): JsonSchema {
  return {
    default: document.responses.refer('query errors', 'QueryError', () => errorResponse(queryErrorStatuses)),
  }
}

export const noContent: JsonSchema = { 204: referTo('responses', 'NoContentResponse') }

/** For a GET that evaluates preconditions. */
export function readResponses(ok: JsonSchema, kind: ErrorKind = 'Read'): JsonSchema {
  return { 200: ok, 304: referTo('responses', 'NotModifiedResponse'), ...errors(kind) }
}
