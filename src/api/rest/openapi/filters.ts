/** Filters in the OpenAPI document: one object for each collection, whose members become query parameters. */
import { isDeepStrictEqual } from 'node:util'
import { maxRelationsDeep } from '../../../engine/plan/plan.ts'
import { takesText } from '../../../engine/plan/text-match.ts'
import { dependsOnRow } from '../../../model/check/check.ts'
import { pascalCase } from '../../../model/check/names.ts'
import type { FilterOperator, JsonSchema } from '../../../model/fields/type.ts'
import type { Collection, Field } from '../../../model/model.ts'
import { visibleComputed, visibleFields } from '../operations.ts'
import { maxAlternatives, writeFilterName } from '../query/filter-name.ts'
import { type Reference, referTo, schemaReference } from './components.ts'
import type { Document } from './names.ts'
import { openapiSchema } from './values.ts'

const text = { type: 'string' }
const filledText = { ...text, minLength: 1 }

/**
 * Each member of the object becomes a parameter: `{"title[contains]": "a"}` is sent as `title[contains]=a`. Not `deepObject`,
 * which openapi-python-client does not support.
 */
const asParameters = { in: 'query', style: 'form', explode: true }

const wholeNumber = openapiSchema({
  type: 'integer',
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
})

/** The schema, with a reference for whole numbers, which most conditions use. */
function shortened(schema: JsonSchema): JsonSchema {
  return isDeepStrictEqual(schema, wholeNumber) ? schemaReference('WholeNumber') : schema
}

function comparedSchema(document: Document, collection: Collection, field: Field): JsonSchema {
  const { schema, filterSchema } = field.type
  const valueSchema =
    filterSchema === schema ? document.valueSchema(collection, field) : openapiSchema(filterSchema)
  return shortened(valueSchema)
}

function conditionSchema(operator: FilterOperator, value: JsonSchema): JsonSchema {
  if (operator === 'null') return { type: 'boolean' }
  // Not an array: clients differ in how they send one within an object.
  if (operator === 'in') return filledText
  return takesText(operator) ? text : value
}

/** The operators of a field, without `null` if the field always has a value. */
function operatorsOf({ optional, access, type }: Field): readonly FilterOperator[] {
  const alwaysHasValue = !optional && !dependsOnRow(access.read)
  return alwaysHasValue ? type.operators.filter(operator => operator !== 'null') : type.operators
}

/** The conditions on one field, by parameter name. */
function conditions(document: Document, collection: Collection, field: Field): [string, JsonSchema][] {
  const value = comparedSchema(document, collection, field)
  const isDeprecated = (field.deprecated ?? collection.deprecated) !== undefined
  return operatorsOf(field).map((operator): [string, JsonSchema] => {
    const name = writeFilterName({ alternative: undefined, isNegated: false, field: field.name, operator })
    const schema = conditionSchema(operator, value)
    // Some generators ignore keywords next to a reference, others refuse them.
    return [name, isDeprecated && schema['$ref'] === undefined ? { ...schema, deprecated: true } : schema]
  })
}

/** The fields by which lists are filtered and sorted. */
export function namedFields(collection: Collection): readonly Field[] {
  return [...visibleFields(collection), ...visibleComputed(collection)]
}

/** E.g. `PostFilter`. */
function filterSchema(document: Document, collection: Collection): Reference {
  return document.schemas.refer(
    `filter of ${collection.name}`,
    `${pascalCase(collection.singular)}Filter`,
    () => ({
      type: 'object',
      properties: Object.fromEntries(
        namedFields(collection).flatMap(field => conditions(document, collection, field)),
      ),
      additionalProperties: false,
    }),
  )
}

export const filterSchemas: { readonly [name: string]: JsonSchema } = {
  WholeNumber: wholeNumber,
  Filters: {
    type: 'object',
    description: 'Values by parameter name.',
    additionalProperties: text,
  },
}

const anyFilterParameter: JsonSchema = {
  name: 'filter',
  ...asParameters,
  description:
    'The filters of the list. Each is sent as a separate parameter, always with brackets: `id[gt]`, `author.name[eq]`, `not[id]`.',
  schema: schemaReference('Filters'),
}

/** The components that do not depend on the model, by name. */
export const openFilterParameters: { readonly [name: string]: JsonSchema } = {
  MoreFiltersParam: {
    name: 'more_filters',
    ...asParameters,
    description: `Further conditions, each sent as a separate parameter: across up to ${maxRelationsDeep} relations (\`author.name[contains]\`), negated (\`not[status]\`), and alternatives (\`or[1][status]\` to \`or[${maxAlternatives}]…\`).`,
    schema: schemaReference('Filters'),
  },
  AnyFiltersParam: anyFilterParameter,
}

/** For operations that accept a list's filters besides their own parameters. */
export const anyFilters: Reference = referTo('parameters', 'AnyFiltersParam')

/**
 * The filters of events. Inline, not a reference: for an operation that also has array parameters, hey-api generates the
 * serialization of each parameter, and reads that of this one only from an inline schema.
 */
export const eventFilters: JsonSchema = {
  ...anyFilterParameter,
  schema: { type: 'object', additionalProperties: text },
}

/** For lists of the collection. */
export function filterParameters(document: Document, collection: Collection): readonly Reference[] {
  const preferredName = `${pascalCase(`${collection.singular}_filter`)}Param`
  const collectionFilter = document.parameters.refer(`filter of ${collection.name}`, preferredName, () => ({
    name: 'filter',
    ...asParameters,
    description: 'Conditions, all of which must hold. Each is sent as a separate parameter.',
    schema: filterSchema(document, collection),
  }))
  return [collectionFilter, referTo('parameters', 'MoreFiltersParam')]
}
