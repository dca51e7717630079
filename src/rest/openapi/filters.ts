/** Filters in the OpenAPI document: one parameter per field, and one schema of conditions per type of value. */
import { pascalCase } from '../../model/check/names.ts'
import type { FilterOperator, JsonSchema } from '../../model/fields/type.ts'
import type { Collection, Field } from '../../model/model.ts'
import { takesText } from '../../plan/text-match.ts'
import { visibleComputed, visibleFields } from '../operations.ts'
import { maxListedValues } from '../query/filter.ts'
import type { Reference } from './components.ts'
import type { Document } from './names.ts'
import { shownSchema } from './values.ts'

/** Not empty. */
const text = { type: 'string', minLength: 1 }

/** Those that their name does not explain. */
const words: Partial<Record<FilterOperator, string>> = {
  in: `One of up to ${maxListedValues} values, separated by commas.`,
  contains: 'Contains the text.',
  icontains: 'Contains the text in any letter case.',
  starts_with: 'Begins with the text.',
  null: 'Has no value (true), or has one (false).',
}

function withoutEmpty(schema: JsonSchema): JsonSchema {
  return schema.type === 'string' && Object.keys(schema).length === 1 ? text : schema
}

function conditionSchema(operator: FilterOperator, value: JsonSchema): JsonSchema {
  const description = words[operator]
  const described: JsonSchema = description === undefined ? {} : { description }
  if (operator === 'null') return { type: 'boolean', ...described }
  // Not an array: clients differ in how they send one within an object.
  if (operator === 'in') return { ...text, ...described, 'x-items': value }
  return takesText(operator) ? { ...text, ...described } : value
}

function typeName({ $ref, format, type }: JsonSchema): string {
  if (typeof $ref === 'string') return $ref.slice($ref.lastIndexOf('/') + 1)
  if (type !== 'string') return pascalCase(String(type ?? 'null'))
  return format === 'date-time' ? 'DateTime' : pascalCase(String(format ?? type).replaceAll('-', '_'))
}

/** E.g. `DateTimeConditions`. */
function conditions(document: Document, operators: readonly FilterOperator[], value: JsonSchema): Reference {
  const key = `conditions ${JSON.stringify([operators, value])}`
  return document.schemas.refer(key, `${typeName(value)}Conditions`, () => ({
    type: 'object',
    description: 'All must hold.',
    minProperties: 1,
    properties: Object.fromEntries(operators.map(one => [one, conditionSchema(one, value)])),
    additionalProperties: false,
  }))
}

/** A value, or conditions, e.g. `DateTimeFilter`. */
function filter(document: Document, operators: readonly FilterOperator[], value: JsonSchema): Reference {
  const object = conditions(document, operators, value)
  if (!operators.includes('eq')) return object
  return document.schemas.refer(`filter ${object.$ref}`, `${typeName(value)}Filter`, () => ({
    anyOf: [value, object],
    // oapi-codegen cannot write a union into a query.
    'x-go-type': typeName(object),
  }))
}

function comparedSchema(document: Document, collection: Collection, field: Field): JsonSchema {
  const { schema, filterSchema } = field.type
  const shown = filterSchema === schema ? document.valueSchema(collection, field) : shownSchema(filterSchema)
  return withoutEmpty(shown)
}

function filterParameter(document: Document, collection: Collection, field: Field): Reference {
  const { name, deprecated = collection.deprecated } = field
  const wished = `${pascalCase(`${collection.singular}_${name}`)}Param`
  return document.parameters.refer(field, wished, () => ({
    name,
    in: 'query',
    style: 'deepObject',
    explode: true,
    schema: filter(document, field.type.operators, comparedSchema(document, collection, field)),
    ...(deprecated && { deprecated: true }),
  }))
}

/** The fields by which lists are filtered and sorted. */
export function namedFields(collection: Collection): readonly Field[] {
  return [...visibleFields(collection), ...visibleComputed(collection)]
}

/** Of every field that can be filtered by. */
export function filterParameters(document: Document, collection: Collection): readonly Reference[] {
  return namedFields(collection)
    .filter(field => field.type.operators.length > 0)
    .map(field => filterParameter(document, collection, field))
}
