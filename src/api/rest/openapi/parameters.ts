/** The parameters of the OpenAPI document. */

import { maxSearchCharacters, maxSearchTerms } from '../../../engine/plan/text-search.ts'
import { pascalCase } from '../../../model/check/names.ts'
import type { JsonSchema, JsonValue } from '../../../model/fields/type.ts'
import type { Collection } from '../../../model/model.ts'
import { canFollow, visibleFields } from '../operations.ts'
import { listParameters, text } from '../query/list-parameters.ts'
import { type Reference, referTo } from './components.ts'
import { filterParameters, namedFields } from './filters.ts'
import type { Document } from './names.ts'
import { openapiSchema } from './values.ts'

const includeDescription =
  'Relations to embed, separated by commas; `a.b` embeds the relation `b` of `a` too. A credential that is limited to ' +
  'scopes needs those that read the embedded items.'

export function queryParameter(name: string, description: string, schema: JsonSchema): JsonSchema {
  return { name, in: 'query', description, schema }
}

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
  ...Object.fromEntries(
    [...listParameters].flatMap(([name, { openapi }]) =>
      openapi ? [[name, { name, in: 'query', ...openapi, schema: openapiSchema(openapi.schema) }]] : [],
    ),
  ),
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

/** The parameters that every collection describes alike. `modes`: those that a field of their name turns into filters. */
function sharedParameters(collection: Collection, modes: boolean): readonly Reference[] {
  const isField = (name: string) => namedFields(collection).some(field => field.name === name)
  return [...listParameters].flatMap(([name, { decides, openapi }]) => {
    if (openapi === undefined || (decides === 'mode') !== modes) return []
    return modes && isField(name) ? [] : [sharedParameter(name)]
  })
}

/** Every parameter of a list except filters, which the introduction describes. */
export function parametersOfList(document: Document, collection: Collection): JsonValue {
  return [
    ...sharedParameters(collection, false),
    ...includeParameters(document, collection),
    ...sharedParameters(collection, true),
    sortParameter(document, collection),
    ...searchParameters(document, collection),
    ...filterParameters(document, collection),
    sharedParameter('If-None-Match'),
  ]
}
