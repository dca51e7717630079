/** The parameters of the OpenAPI document. */
import type { FilterOperator, JsonSchema, JsonValue } from '../../model/fields/type.ts'
import type { Collection, Field } from '../../model/model.ts'
import { maxCounted, totalModes } from '../../plan/plan.ts'
import { takesText } from '../../plan/text-match.ts'
import { maxSearchCharacters, maxSearchTerms } from '../../plan/text-search.ts'
import { canFollow, visibleComputed, visibleFields } from '../operations.ts'
import { maxListedValues } from '../query/filter.ts'
import { defaultPerPage, lastPage, maxPerPage } from '../query/list.ts'
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

function query(name: string, description: string, schema: JsonSchema): JsonSchema {
  return { name, in: 'query', description, schema }
}

/** Not empty. */
const text = { type: 'string', minLength: 1 }

export const parameters: { readonly [name: string]: JsonSchema } = {
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
  page: query(
    'page',
    'The page; the first where neither this nor `cursor` is there. Not with `cursor`.',
    shownSchema({ type: 'integer', minimum: 1, maximum: lastPage }),
  ),
  per_page: query(
    'per_page',
    'Items on a page.',
    shownSchema({ type: 'integer', minimum: 1, maximum: maxPerPage, default: defaultPerPage }),
  ),
  cursor: {
    ...query('cursor', '`next_cursor` of the page before; empty for the first page.', { type: 'string' }),
    allowEmptyValue: true,
  },
  total: query(
    'total',
    `What \`meta.total\` says: \`exact\` counts all that match, which is what is done without this parameter; \`estimate\` counts up to ${maxCounted} and estimates beyond, with \`total_is_estimate\`; \`none\` counts nothing and leaves \`total\` out. With \`cursor\` only \`none\`.`,
    // Without a default, as `page`.
    { type: 'string', enum: totalModes },
  ),
  fields: query('fields', names.fields, text),
  include: query('include', names.include, text),
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

function reference(name: string): JsonSchema {
  return { $ref: `#/components/parameters/${name}` }
}

type HeaderName = 'If-Match' | 'If-None-Match' | 'Idempotency-Key'

export function headerParameters(...names: HeaderName[]): JsonSchema[] {
  return names.map(reference)
}

/** `fields`, `include`, and the headers. */
export function itemParameters(...names: HeaderName[]): JsonValue {
  return [reference('fields'), reference('include'), ...headerParameters(...names)]
}

/** A field of a collection, as a document shows it. */
interface Filtered {
  readonly document: Document
  readonly collection: Collection
  readonly field: Field
}

function comparedSchema({ document, collection, field }: Filtered): JsonSchema {
  const { schema, filterSchema } = field.type
  return filterSchema === schema ? document.valueSchema(collection, field) : shownSchema(filterSchema)
}

function filterSchema(filtered: Filtered, operator: FilterOperator): JsonSchema {
  if (operator === 'null') return { type: 'boolean' }
  if (takesText(operator)) return text
  const schema = comparedSchema(filtered)
  if (operator === 'in') return { type: 'array', items: schema, minItems: 1, maxItems: maxListedValues }
  return schema.type === 'string' && Object.keys(schema).length === 1 ? text : schema
}

const words: Record<FilterOperator, string> = {
  eq: 'equal to',
  ne: 'not equal to',
  gt: 'greater than',
  gte: 'at least',
  lt: 'less than',
  lte: 'at most',
  in: 'one of, separated by commas',
  contains: 'containing the text',
  icontains: 'containing the text in any letter case',
  starts_with: 'beginning with the text',
  null: 'without (true) or with (false) a value',
}

/** `named`: the field, after the relation that leads to it if it is a field of related items. */
function filter(filtered: Filtered, operator: FilterOperator, named = filtered.field.name): JsonSchema {
  const { field, collection } = filtered
  const name = operator === 'eq' ? named : `${named}[${operator}]`
  const deprecated = field.deprecated ?? (named === field.name ? undefined : collection.deprecated)
  return {
    ...query(name, `${named} ${words[operator]}`, filterSchema(filtered, operator)),
    ...(operator === 'in' && { style: 'form', explode: false }),
    ...(deprecated && { deprecated: true }),
  }
}

/** Of a list. The introduction describes further ones, other operators and longer paths. */
const maxRelatedParameters = 100

/** Client generators make this of a parameter's name: `author.id` and `author_id` would be the same. */
const identifierOf = (name: string): string => name.replaceAll(/[^a-z0-9]/g, '')

/** Filters by equality along one relation, up to `maxRelatedParameters`. */
function relatedFilters(document: Document, collection: Collection): readonly JsonSchema[] {
  const taken = new Set(namedFields(collection).map(({ name }) => identifierOf(name)))
  const found: JsonSchema[] = []
  for (const relation of collection.relations.values()) {
    const target = document.model.collections.get(relation.target)
    if (!target || !canFollow(document.model, collection, relation)) continue
    for (const field of visibleFields(target)) {
      const name = `${relation.name}.${field.name}`
      if (!field.type.operators.includes('eq') || taken.has(identifierOf(name))) continue
      if (found.length === maxRelatedParameters) return found
      taken.add(identifierOf(name))
      found.push(filter({ document, collection: target, field }, 'eq', name))
    }
  }
  return found
}

/** The fields by which lists are filtered and sorted. */
function namedFields(collection: Collection): readonly Field[] {
  return [...visibleFields(collection), ...visibleComputed(collection)]
}

function isSearchable(collection: Collection): boolean {
  return collection.searchable.some(field => visibleFields(collection).includes(field))
}

function sortParameter(collection: Collection): JsonSchema {
  const sortable = namedFields(collection).filter(field => field.type.sortable)
  const list = sortable.map(field => `\`${field.name}\``).join(', ')
  const rank = isSearchable(collection) ? ` With \`q\`, \`-q\` alone: by rank, the best first.` : ''
  return {
    ...query(
      'sort',
      `Fields to sort by, separated by commas; \`-\` before one turns it round. Of ${list}.${rank}`,
      text,
    ),
    example: '-created_at',
  }
}

/** `q`, where something can be searched. */
export function searchParameter(collection: Collection): readonly JsonSchema[] {
  if (!isSearchable(collection)) return []
  const schema = { ...text, maxLength: maxSearchCharacters }
  return [query('q', `Words that must all occur; at most ${maxSearchTerms}.`, schema)]
}

/** In a collection with a field of that name, `total` is its filter. */
function totalName(collection: Collection): readonly string[] {
  return namedFields(collection).some(({ name }) => name === 'total') ? [] : ['total']
}

/** Every parameter of a list; of the filters along relations, those along one. */
export function listParameters(document: Document, collection: Collection): JsonValue {
  return [
    ...['page', 'per_page', 'cursor', 'fields', 'include', ...totalName(collection)].map(reference),
    sortParameter(collection),
    ...searchParameter(collection),
    ...namedFields(collection).flatMap(field =>
      field.type.operators.map(operator => filter({ document, collection, field }, operator)),
    ),
    ...relatedFilters(document, collection),
    reference('If-None-Match'),
  ]
}
