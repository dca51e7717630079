/** The parameters of the OpenAPI document. */
import { pascalCase } from '../../model/check/names.ts'
import type { JsonSchema, JsonValue } from '../../model/fields/type.ts'
import type { Collection } from '../../model/model.ts'
import { maxCounted } from '../../plan/plan.ts'
import { maxSearchCharacters, maxSearchTerms } from '../../plan/text-search.ts'
import { visibleFields } from '../operations.ts'
import { defaultPerPage, lastPage, maxPerPage } from '../query/list.ts'
import { type Reference, referTo } from './components.ts'
import { filterParameters, namedFields } from './filters.ts'
import type { Document } from './names.ts'
import { shownSchema } from './values.ts'

const names = {
  fields:
    'Only these fields, separated by commas: the items of the answer have these alone, whatever their schema requires. ' +
    '`*` stands for all that are not computed: `*,open_tasks` adds a computed field to them.',
  include:
    'Relations to expand in place, separated by commas; a dot goes one relation further. A credential that is ' +
    'limited to scopes needs those to read what they lead to.',
}

export function queryParameter(name: string, description: string, schema: JsonSchema): JsonSchema {
  return { name, in: 'query', description, schema }
}

/** Not empty. */
const text = { type: 'string', minLength: 1 }

const declared: { readonly [name: string]: JsonSchema } = {
  id: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The item.',
    schema: shownSchema({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    example: 1,
  },
  n: {
    name: 'n',
    in: 'path',
    required: true,
    description: 'The item within it.',
    schema: shownSchema({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    example: 1,
  },
  // Without a default: a client that sends defaults could never send `cursor`.
  page: queryParameter(
    'page',
    'The page; the first where neither this nor `cursor` is there. Not with `cursor`.',
    shownSchema({ type: 'integer', minimum: 1, maximum: lastPage }),
  ),
  per_page: queryParameter(
    'per_page',
    'Items on a page.',
    shownSchema({ type: 'integer', minimum: 1, maximum: maxPerPage, default: defaultPerPage }),
  ),
  cursor: {
    ...queryParameter('cursor', '`next_cursor` of the page before; empty for the first page.', {
      type: 'string',
    }),
    allowEmptyValue: true,
  },
  total: queryParameter(
    'total',
    `What \`meta.total\` says: \`exact\` counts all that match, which is what is done without this parameter; \`estimate\` counts up to ${maxCounted} and estimates beyond, with \`total_is_estimate\`; \`none\` counts nothing and leaves \`total\` out. With \`cursor\` only \`none\`.`,
    // Without a default, as `page`.
    referTo('schemas', 'TotalMode'),
  ),
  fields: queryParameter('fields', names.fields, text),
  include: queryParameter('include', names.include, text),
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    description: 'Entity tags; a 304 when one of them is current.',
    schema: { type: 'string' },
  },
  'If-Match': {
    name: 'If-Match',
    in: 'header',
    description: 'Entity tags of the plain item; a 412 when none of them is current.',
    schema: { type: 'string' },
  },
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A key of your choice, e.g. a UUID, by which the write is safe to retry for 24 hours: the same request with the same key is answered with the stored answer, and `Idempotent-Replayed: true`.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
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

/** `fields`, `include`, and the headers. */
export function itemParameters(...names: HeaderName[]): Reference[] {
  return ['fields', 'include', ...names].map(sharedParameter)
}

function isSearchable(collection: Collection): boolean {
  return collection.searchable.some(field => visibleFields(collection).includes(field))
}

function sortParameter(document: Document, collection: Collection): Reference {
  const sortable = namedFields(collection).filter(field => field.type.sortable)
  const list = sortable.map(field => `\`${field.name}\``).join(', ')
  const rank = isSearchable(collection) ? ` With \`q\`, \`-q\` alone: by rank, the best first.` : ''
  const description = `Fields to sort by, separated by commas; \`-\` before one turns it round. Of ${list}.${rank}`
  const wished = `${pascalCase(collection.singular)}SortParam`
  return document.parameters.refer(collection, wished, () => ({
    ...queryParameter('sort', description, text),
    example: '-created_at',
  }))
}

/** `q`, if the collection has searchable fields. */
export function searchParameters(document: Document, collection: Collection): readonly Reference[] {
  if (!isSearchable(collection)) return []
  const description = `Words that must all occur; at most ${maxSearchTerms}.`
  const schema = { ...text, maxLength: maxSearchCharacters }
  return [document.parameters.refer('q', parameterName('q'), () => queryParameter('q', description, schema))]
}

/** In a collection with a field of that name, `total` is its filter. */
function totalName(collection: Collection): readonly string[] {
  return namedFields(collection).some(({ name }) => name === 'total') ? [] : ['total']
}

/** Every parameter of a list except filters, which the introduction describes. */
export function listParameters(document: Document, collection: Collection): JsonValue {
  const paging = ['page', 'per_page', 'cursor', 'fields', 'include', ...totalName(collection)]
  return [
    ...paging.map(sharedParameter),
    sortParameter(document, collection),
    ...searchParameters(document, collection),
    ...filterParameters(document, collection),
    sharedParameter('If-None-Match'),
  ]
}
