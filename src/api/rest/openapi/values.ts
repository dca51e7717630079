/** Schemas of values in the OpenAPI document, written so that client generators find a type for each. */
import { presentTypes } from '../../../model/fields/json.ts'
import type { JsonSchema, JsonValue } from '../../../model/fields/type.ts'
import { mapSchemas } from '../../../model/json-schema/compile.ts'
import { notNull } from '../../../model/schemas.ts'

const INT32 = 2 ** 31

/** The `format` of a number, derived from its bounds: without it, generators may use 32 bits. */
function numberFormat({ type, minimum, maximum }: JsonSchema): JsonSchema {
  const types = [type].flat()
  if (types.includes('number')) return { format: 'double' }
  if (!types.includes('integer') || typeof minimum !== 'number' || typeof maximum !== 'number') return {}
  return { format: minimum >= -INT32 && maximum < INT32 ? 'int32' : 'int64' }
}

/** Arrays of any values need `items`: openapi-python-client drops schemas with an array without it. */
function itemsOf({ type, items, prefixItems }: JsonSchema): JsonSchema {
  const isOpen = [type].flat().includes('array') && items === undefined && prefixItems === undefined
  return isOpen ? { items: {} } : {}
}

/** Objects with any members need `additionalProperties`: otherwise openapi-typescript takes them for empty objects. */
function membersOf({ type, properties, patternProperties, additionalProperties }: JsonSchema): JsonSchema {
  const isOpen = [type].flat().includes('object') && additionalProperties === undefined
  return isOpen && properties === undefined && patternProperties === undefined
    ? { additionalProperties: true }
    : {}
}

function withDetails(schema: JsonSchema): JsonSchema {
  return { ...schema, ...numberFormat(schema), ...itemsOf(schema), ...membersOf(schema) }
}

/** One schema for each type, since oapi-codegen does not accept a list of types; undefined for a single type. */
function splitTypes({ type, ...keywords }: JsonSchema): JsonSchema | undefined {
  const types = [type].flat().filter(name => name !== 'null')
  if (types.length < 2 || keywords.anyOf !== undefined) return undefined
  // The values of an enumeration have types of their own.
  if (keywords.enum !== undefined) return keywords
  if (types.length === presentTypes.length) return { ...keywords, ...notNull }
  const typeNames = [type].flat() as JsonValue[]
  return { anyOf: typeNames.map(name => withDetails({ type: name, ...(name === 'null' ? {} : keywords) })) }
}

function shown(schema: JsonSchema): JsonSchema {
  return splitTypes(schema) ?? withDetails(schema)
}

/** The schema, and all schemas in it, as the document shows them. */
export function openapiSchema(schema: JsonSchema): JsonSchema {
  return mapSchemas(schema, shown)
}

function isEnumeration({ enum: values }: JsonSchema): boolean {
  return Array.isArray(values) && values.every((value: JsonValue) => typeof value === 'string')
}

/**
 * As `openapiSchema`, with a reference in place of every enumeration of texts. `refer` stores the enumeration and returns the
 * reference; `path`: the keywords and names that lead to it.
 */
export function openapiSchemaWithEnumerations(
  schema: JsonSchema,
  refer: (enumeration: JsonSchema, path: readonly string[]) => JsonSchema,
): JsonSchema {
  return mapSchemas(schema, (part, path) =>
    isEnumeration(part) ? refer({ ...part, type: 'string' }, path) : shown(part),
  )
}
