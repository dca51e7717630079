/** The parameters of the OpenAPI document. */

import { lastPage, maxCounted } from '../../../engine/plan/plan.ts'
import { maxSearchCharacters, maxSearchTerms } from '../../../engine/plan/text-search.ts'
import { pascalCase } from '../../../model/check/names.ts'
import type { JsonSchema, JsonValue } from '../../../model/fields/type.ts'
import type { Collection } from '../../../model/model.ts'
import { canFollow, visibleFields } from '../operations.ts'
import { defaultPerPage, maxPerPage } from '../query/list.ts'
import { type Reference, referTo, schemaReference } from './components.ts'
import { filterParameters, namedFields } from './filters.ts'
import type { Document } from './names.ts'
import { openapiSchema } from './values.ts'

const fieldsDescription =
  'The fields to return, separated by commas. Items then have only these, whatever their schema requires. ' +
  '`*` stands for all fields that are not computed, so `*,open_tasks` adds a computed field to them.'

const includeDescription =
  'Relations to embed, separated by commas; `a.b` embeds the relation `b` of `a` too. A credential that is limited to ' +
  'scopes needs those that read the embedded items.'

export function queryParameter(name: string, description: string, schema: JsonSchema): JsonSchema {
  return { name, in: 'query', description, schema }
}

/** A text that is not empty. */
const text = { type: 'string', minLength: 1 }

/** `*`, or entity tags separated by commas (RFC 9110, 13.1.1). */
export const entityTags = {
  type: 'string',
  pattern: '^(\\*|(W/)?"[!#-~]*"(, ?(W/)?"[!#-~]*")*)$',
}

/** A bare key, or one as a quoted string (RFC 8941, 3.3.3). */
const idempotencyKey = '^([!#-+\\--~]+|"([ !#-\\[\\]-~]|\\\\["\\\\])+")$'

const declared: { readonly [name: string]: JsonSchema } = {
  id: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of the item.',
    schema: openapiSchema({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    example: 1,
  },
  n: {
    name: 'n',
    in: 'path',
    required: true,
    description: 'The id of the item that belongs to it.',
    schema: openapiSchema({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    example: 1,
  },
  // Without a default: a client that sends defaults could never send `cursor`.
  page: queryParameter(
    'page',
    'The number of the page. Without `page` and `cursor`, it is the first page. Cannot be combined with `cursor`.',
    openapiSchema({ type: 'integer', minimum: 1, maximum: lastPage }),
  ),
  per_page: queryParameter(
    'per_page',
    'The number of items per page.',
    openapiSchema({ type: 'integer', minimum: 1, maximum: maxPerPage, default: defaultPerPage }),
  ),
  cursor: {
    ...queryParameter('cursor', '`next_cursor` of the previous page; empty for the first page.', {
      type: 'string',
    }),
    allowEmptyValue: true,
  },
  total: queryParameter(
    'total',
    `How \`meta.total\` is determined. \`exact\`, the default, counts all matching items. \`estimate\` counts up to ${maxCounted} and estimates beyond that; \`total_is_estimate\` then is true. \`none\` omits \`total\`. With \`cursor\`, only \`none\` is allowed.`,
    // Without a default, as `page`.
    schemaReference('TotalMode'),
  ),
  // Without an example: the response would lack members that its schema requires.
  fields: queryParameter('fields', fieldsDescription, text),
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    description: 'Entity tags. If one of them is current, the response is 304.',
    schema: entityTags,
  },
  'If-Match': {
    name: 'If-Match',
    in: 'header',
    description:
      'Entity tags of the item without `fields` and `include`. If none of them is current, the response is 412.',
    schema: entityTags,
  },
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A key of your choice, e.g. a UUID, that makes the write safe to retry for 24 hours: the same request with the same key gets the stored response, with `Idempotent-Replayed: true`. Another request with the same key gets 422.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: idempotencyKey },
  },
}

/** `If-Match` → `IfMatchParam`. Generators turn these names into types, so they must differ from those of schemas. */
export function parameterName(name: string): string {
  return `${pascalCase(name.toLowerCase().replaceAll('-', '_'))}Param`
}

/** The components that do not depend on the model, by name. */
export const parameters: { readonly [name: string]: JsonSchema } = Object.fromEntries(
  Object.entries(declared).map(([name, parameter]) => [parameterName(name), parameter]),
)

export function sharedParameter(name: string): Reference {
  return referTo('parameters', parameterName(name))
}

export const idParameter = sharedParameter('id')

type HeaderName = 'If-Match' | 'If-None-Match' | 'Idempotency-Key'

export function headerParameters(...names: HeaderName[]): Reference[] {
  return names.map(sharedParameter)
}

function includeParameters(document: Document, collection: Collection): readonly Reference[] {
  const relations = [...collection.relations.values()].filter(relation =>
    canFollow(document.model, collection, relation),
  )
  if (relations.length === 0) return []
  const list = relations.map(({ name }) => `\`${name}\``).join(', ')
  const preferredName = `${pascalCase(collection.singular)}IncludeParam`
  return [
    // Without an example: the reference's samples would all send it.
    document.parameters.refer(`include of ${collection.name}`, preferredName, () =>
      queryParameter('include', `${includeDescription} Relations: ${list}.`, text),
    ),
  ]
}

/** The parameters of an operation that returns one item: `fields`, `include` and headers. */
export function itemParameters(
  document: Document,
  collection: Collection,
  ...names: HeaderName[]
): readonly Reference[] {
  return [
    sharedParameter('fields'),
    ...includeParameters(document, collection),
    ...names.map(sharedParameter),
  ]
}

function isSearchable(collection: Collection): boolean {
  return collection.searchable.some(field => visibleFields(collection).includes(field))
}

function sortParameter(document: Document, collection: Collection): Reference {
  const sortable = namedFields(collection).filter(field => field.type.sortable)
  const list = sortable.map(field => `\`${field.name}\``).join(', ')
  const rank = isSearchable(collection)
    ? ` With \`q\`, \`-q\` alone sorts by rank, the best match first.`
    : ''
  const description = `The fields to sort by, separated by commas; \`-\` before a field sorts in descending order. Sortable: ${list}.${rank}`
  const preferredName = `${pascalCase(collection.singular)}SortParam`
  return document.parameters.refer(collection, preferredName, () => ({
    ...queryParameter('sort', description, text),
    example: '-created_at',
  }))
}

/** `q`, if the collection has searchable fields. */
export function searchParameters(document: Document, collection: Collection): readonly Reference[] {
  if (!isSearchable(collection)) return []
  const description = `The words to search for, at most ${maxSearchTerms}. All of them must occur.`
  const schema = { ...text, maxLength: maxSearchCharacters }
  return [document.parameters.refer('q', parameterName('q'), () => queryParameter('q', description, schema))]
}

/** In a collection with a field of that name, `total` is its filter. */
function totalName(collection: Collection): readonly string[] {
  return namedFields(collection).some(({ name }) => name === 'total') ? [] : ['total']
}

/** Every parameter of a list except filters, which the introduction describes. */
export function listParameters(document: Document, collection: Collection): JsonValue {
  return [
    ...['page', 'per_page', 'cursor', 'fields'].map(sharedParameter),
    ...includeParameters(document, collection),
    ...totalName(collection).map(sharedParameter),
    sortParameter(document, collection),
    ...searchParameters(document, collection),
    ...filterParameters(document, collection),
    sharedParameter('If-None-Match'),
  ]
}
