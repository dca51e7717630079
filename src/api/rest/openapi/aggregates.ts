/** Aggregates in the OpenAPI document: one schema and one set of parameters for all collections. */

import { measureFault } from '../../../engine/plan/guard/guard.ts'
import { fieldMeasures, lastPage, maxGroupKeys } from '../../../engine/plan/plan.ts'
import type { JsonSchema } from '../../../model/fields/type.ts'
import type { Collection, ManyToMany, ToMany } from '../../../model/model.ts'
import { maxMeasures } from '../query/aggregate.ts'
import { maxPerPage } from '../query/list-parameters.ts'
import { referTo, schemaReference } from './components.ts'
import { anyFilters, namedFields } from './filters.ts'
import { type Document, words } from './names.ts'
import { type Described, exportedBase } from './operation.ts'
import { parameterName, queryParameter, searchParameters, sharedParameter } from './parameters.ts'
import { json, readResponses } from './responses.ts'
import type { Access } from './security.ts'
import { openapiSchema } from './values.ts'

const text = { type: 'string', minLength: 1 }

function measureParameter(name: string, description: string): JsonSchema {
  return queryParameter(name, `${description}, of up to ${maxMeasures} fields, separated by commas.`, text)
}

const declared: { readonly [name: string]: JsonSchema } = {
  group_by: {
    ...queryParameter(
      'group_by',
      `The fields to group by, separated by commas, at most ${maxGroupKeys}; also those of items to which to-one relations lead, as in \`author.name\`. After a date or time, \`:year\`, \`:quarter\`, \`:month\`, \`:week\` (ISO 8601), \`:day\` or, of a time, \`:hour\` groups by that part, in the time zone \`tz\`. Without it, all items form one group.`,
      text,
    ),
    example: 'created_at:month',
  },
  tz: {
    ...queryParameter('tz', 'The time zone of the parts of times: an IANA name. The default is UTC.', text),
    example: 'Europe/Berlin',
  },
  count: queryParameter(
    'count',
    'Whether to return the number of items. It is also returned if no other aggregate is requested.',
    { type: 'boolean' },
  ),
  sum: measureParameter('sum', 'Sums of numbers'),
  avg: measureParameter('avg', 'Averages of numbers'),
  min: measureParameter('min', 'The least values'),
  max: measureParameter('max', 'The greatest values'),
  group_sort: {
    ...queryParameter(
      'sort',
      'What to sort the groups by, separated by commas: group keys, `count`, or aggregates such as `sum.points`; `-` before one sorts in descending order. Ties are sorted by the group keys.',
      text,
    ),
    example: '-count',
  },
  group_page: queryParameter(
    'page',
    'The number of the page.',
    openapiSchema({ type: 'integer', minimum: 1, maximum: lastPage }),
  ),
  groups_per_page: queryParameter(
    'per_page',
    `The number of groups per page, ${maxPerPage} by default.`,
    openapiSchema({ type: 'integer', minimum: 1, maximum: maxPerPage }),
  ),
}

/** The components that do not depend on the model, by name. */
export const aggregateParameters: { readonly [name: string]: JsonSchema } = Object.fromEntries(
  Object.entries(declared).map(([name, parameter]) => [parameterName(name), parameter]),
)

const values = schemaReference('AggregateValues')
const extremes = { type: 'object', additionalProperties: true }

export const aggregateSchemas: { readonly [name: string]: JsonSchema } = {
  AggregateValues: {
    type: 'object',
    description: 'By field. Null if no item has a value.',
    additionalProperties: { type: ['number', 'null'], format: 'double' },
  },
  AggregateGroup: openapiSchema({
    type: 'object',
    description: 'A group: its keys, named as in `group_by`, and its aggregates by field.',
    properties: {
      count: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      ...{ sum: values, avg: values, min: extremes, max: extremes },
    },
    additionalProperties: true,
  }),
  AggregateMeta: openapiSchema({
    type: 'object',
    required: ['page', 'per_page', 'has_more'],
    properties: {
      page: { type: 'integer', minimum: 1, maximum: lastPage },
      per_page: { type: 'integer', minimum: 1, maximum: maxPerPage },
      has_more: { type: 'boolean', description: 'Whether there are more groups.' },
    },
  }),
  AggregateList: {
    type: 'object',
    required: ['data', 'meta'],
    properties: {
      data: { type: 'array', maxItems: maxPerPage, items: schemaReference('AggregateGroup') },
      meta: schemaReference('AggregateMeta'),
    },
  },
}

export const aggregateResponses: { readonly [name: string]: JsonSchema } = {
  AggregateListResponse: json('A page of groups.', schemaReference('AggregateList'), 'ETag', 'Link'),
}

/** False for a measure that no field of the collection has. */
function isUsable(collection: Collection, parameter: string): boolean {
  const measure = fieldMeasures.find(candidate => candidate === parameter)
  return measure === undefined || namedFields(collection).some(field => !measureFault(field, measure))
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
    ...exportedBase(document, described),
    parameters: [
      ...Object.keys(declared)
        .filter(parameter => isUsable(accesses[0].collection, parameter))
        .map(sharedParameter),
      ...searchParameters(document, accesses[0].collection),
      anyFilters,
      sharedParameter('If-None-Match'),
    ],
    responses: readResponses(referTo('responses', 'AggregateListResponse')),
  }
}
