/** Aggregates in the OpenAPI document: one schema and one set of parameters for all collections. */
import type { JsonSchema } from '../../model/fields/type.ts'
import type { Collection, ManyToMany, ToMany } from '../../model/model.ts'
import { maxFigures, maxGroupKeys } from '../query/aggregate.ts'
import { lastPage, maxPerPage } from '../query/list.ts'
import { referTo } from './components.ts'
import { anyFilters } from './filters.ts'
import { type Document, words } from './names.ts'
import { base, type Described } from './operation.ts'
import { parameterName, queryParameter, searchParameters, sharedParameter } from './parameters.ts'
import { json, readResponses } from './responses.ts'
import type { Access } from './security.ts'
import { shownSchema } from './values.ts'

const text = { type: 'string', minLength: 1 }

function figure(name: string, what: string): JsonSchema {
  return queryParameter(name, `Fields, separated by commas, at most ${maxFigures}: ${what}`, text)
}

const declared: { readonly [name: string]: JsonSchema } = {
  group_by: {
    ...queryParameter(
      'group_by',
      `Up to ${maxGroupKeys} fields, separated by commas; of a date or time also \`:year\`, \`:month\`, \`:day\` and \`:hour\`, in UTC. Without it, all items are one group.`,
      text,
    ),
    example: 'created_at:month',
  },
  count: queryParameter('count', 'The number of items; also where no other figure is asked for.', {
    type: 'boolean',
  }),
  sum: figure('sum', 'their sums. Whole and other numbers have one.'),
  avg: figure('avg', 'their averages. Whole and other numbers have one.'),
  min: figure('min', 'their least values.'),
  max: figure('max', 'their greatest values.'),
  group_sort: {
    ...queryParameter(
      'sort',
      'Keys of the groups, `count`, or figures as `sum.points`, separated by commas; `-` before one turns it round. Equal groups come in the order of their keys.',
      text,
    ),
    example: '-count',
  },
  group_page: queryParameter(
    'page',
    'The page.',
    shownSchema({ type: 'integer', minimum: 1, maximum: lastPage }),
  ),
  groups_per_page: queryParameter(
    'per_page',
    `Groups on a page; ${maxPerPage} where it is left out.`,
    shownSchema({ type: 'integer', minimum: 1, maximum: maxPerPage }),
  ),
}

/** The components that do not depend on the model, by name. */
export const aggregateParameters: { readonly [name: string]: JsonSchema } = Object.fromEntries(
  Object.entries(declared).map(([name, parameter]) => [parameterName(name), parameter]),
)

const figures = referTo('schemas', 'AggregateFigures')
const ends = { type: 'object', additionalProperties: true }

export const aggregateSchemas: { readonly [name: string]: JsonSchema } = {
  AggregateFigures: {
    type: 'object',
    description: 'By field. Null: no item has a value.',
    additionalProperties: { type: ['number', 'null'], format: 'double' },
  },
  AggregateGroup: shownSchema({
    type: 'object',
    description: 'A group: its keys as `group_by` names them, and its figures by field.',
    properties: {
      count: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      ...{ sum: figures, avg: figures, min: ends, max: ends },
    },
    additionalProperties: true,
  }),
  AggregateMeta: shownSchema({
    type: 'object',
    required: ['page', 'per_page', 'has_more'],
    properties: {
      page: { type: 'integer', minimum: 1, maximum: lastPage },
      per_page: { type: 'integer', minimum: 1, maximum: maxPerPage },
      has_more: { type: 'boolean', description: 'Whether groups follow.' },
    },
  }),
  AggregateList: {
    type: 'object',
    required: ['data', 'meta'],
    properties: {
      data: { type: 'array', maxItems: maxPerPage, items: referTo('schemas', 'AggregateGroup') },
      meta: referTo('schemas', 'AggregateMeta'),
    },
  },
}

export const aggregateResponses: { readonly [name: string]: JsonSchema } = {
  AggregateListResponse: json('A page of groups.', referTo('schemas', 'AggregateList'), 'ETag', 'Link'),
}

/** `GET …/aggregate`. With `relation`: over the items that one item reaches by that relation. */
export function aggregateOperation(
  document: Document,
  accesses: readonly [Access, ...Access[]],
  collection: Collection,
  relation?: ToMany | ManyToMany,
): JsonSchema {
  const name = relation?.name ?? collection.name
  const described: Described = {
    id: relation ? `aggregate_${name}_of_${collection.singular}` : `aggregate_${name}`,
    summary: `Aggregate ${words(name)}${relation ? ` of ${words(collection.singular)}` : ''}`,
    accesses,
  }
  return {
    ...base(document, described),
    parameters: [
      ...Object.keys(declared).map(sharedParameter),
      ...searchParameters(document, accesses[0].collection),
      anyFilters,
      sharedParameter('If-None-Match'),
    ],
    responses: readResponses(referTo('responses', 'AggregateListResponse')),
  }
}
