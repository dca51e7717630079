/** The JSON Schemas (2020-12) of items and bodies, for validation and for the OpenAPI document. */
import { dependsOnRow } from './check/check.ts'
import type { JsonSchema, JsonValue } from './fields/type.ts'
import type { Collection, Field } from './model.ts'

/** The body of a POST, a PUT or a PATCH. */
export type BodyMode = 'create' | 'replace' | 'merge'

/** Keywords that also constrain null, so that adding `null` to `type` does not allow it. */
const nullSensitiveKeywords = ['$ref', 'const', 'anyOf', 'oneOf', 'allOf', 'not', 'if']

const nullSchema: JsonSchema = { type: 'null' }

/** Any value but null. */
export const notNull: JsonSchema = { not: nullSchema }

function nullable(schema: JsonSchema): JsonSchema {
  const { anyOf, not, ...others } = schema
  if (not === nullSchema && Object.keys(others).length === 0 && anyOf === undefined) return {}
  if (Array.isArray(anyOf) && Object.keys(schema).length === 1) return { anyOf: [...anyOf, nullSchema] }
  if (nullSensitiveKeywords.some(keyword => keyword in schema)) return { anyOf: [schema, nullSchema] }
  const types = [schema.type].flat() as JsonValue[]
  const { enum: values } = schema
  return {
    ...schema,
    type: [...types, 'null'],
    ...(Array.isArray(values) ? { enum: [...values, null] } : {}),
  }
}

/** The `default` keyword. A PATCH keeps the stored value, as does a PUT by callers who cannot write the field. */
function defaultIn(field: Field, mode: BodyMode): JsonSchema {
  if (field.default?.kind !== 'value') return {}
  const isApplied = mode === 'create' || (mode === 'replace' && field.access.write.kind === 'anyone')
  return isApplied ? { default: field.default.value } : {}
}

/** Expresses `readOnly` and `writeOnly` in words: generators drop properties with these keywords, or make them optional. */
function describe({ description, readOnly, writeOnly }: Field): string {
  return [description, readOnly && 'Read-only.', writeOnly && 'Never returned.'].filter(Boolean).join(' ')
}

function annotations(field: Field): JsonSchema {
  const description = describe(field)
  return { ...(description !== '' && { description }), ...(field.deprecated && { deprecated: true }) }
}

/** Whether a body of this mode may contain the field. */
export function isWritable(field: Field, mode: BodyMode): boolean {
  return !field.readOnly && !field.internal && (mode === 'create' || !field.immutable)
}

/** Whether somebody may send the field in a body of this mode. Only such fields are in the OpenAPI document. */
export function isOffered(field: Field, mode: BodyMode): boolean {
  return isWritable(field, mode) && field.access.write.kind !== 'nobody'
}

/**
 * Whether a body of this mode must contain the field. If not everyone may write the field, only the guard knows whether
 * a PUT must.
 */
function isRequired(field: Field, mode: BodyMode): boolean {
  if (mode === 'replace' && field.access.write.kind !== 'anyone') return false
  return mode !== 'merge' && isWritable(field, mode) && !field.optional && field.default === undefined
}

function propertiesOf(fields: readonly Field[], schemaOf: (field: Field) => JsonSchema): JsonSchema {
  return Object.fromEntries(fields.map(field => [field.name, { ...schemaOf(field), ...annotations(field) }]))
}

function required(fields: readonly Field[]): JsonSchema {
  return fields.length === 0 ? {} : { required: fields.map(field => field.name) }
}

/** Whether an object may be valid against the schema. True in case of doubt. */
function mayBeObject({ type, enum: values, const: value, anyOf, oneOf }: JsonSchema): boolean {
  const someMayBeObject = (schemas: JsonValue | undefined) =>
    !Array.isArray(schemas) || schemas.some(schema => mayBeObject(schema))
  if (type !== undefined && ![type].flat().includes('object')) return false
  if (Array.isArray(values) && !values.some(member => typeof member === 'object')) return false
  if (value !== undefined && typeof value !== 'object') return false
  return someMayBeObject(anyOf) && someMayBeObject(oneOf)
}

/** Whether a PATCH merges an object into the stored one (RFC 7396). Then only the result is validated. */
export function mergesObjects({ type }: Field): boolean {
  return type.isDocument === true && mayBeObject(type.schema)
}

/** OpenAPI replaces parts of a type's schema by references. */
type SchemaOf = (field: Field) => JsonSchema

/** A field in a PATCH. Any object is valid where objects are merged. */
function mergeSchema(field: Field, schema: JsonSchema): JsonSchema {
  const { type, ...keywords } = field.type.schema
  if (!mergesObjects(field)) return schema
  if (Object.keys(keywords).length === 0) return schema
  const anyObject: JsonSchema = { type: 'object', additionalProperties: true }
  return type === 'object' ? anyObject : { anyOf: [schema, anyObject] }
}

const schemaOfType: SchemaOf = ({ type }) => type.schema

/** The schema of a field's value in an answer. */
export const answerSchemaOf: SchemaOf = ({ type }) => type.answerSchema ?? type.schema

/** The schema of a body of this mode. Other fields are refused. */
export function bodySchema(collection: Collection, mode: BodyMode): JsonSchema {
  return schemaOfBody(collection, mode, isWritable, schemaOfType)
}

/** The schema of a body in the OpenAPI document: without the fields that no caller can write. */
export function openapiBodySchema(collection: Collection, mode: BodyMode, schemaOf: SchemaOf): JsonSchema {
  return schemaOfBody(collection, mode, isOffered, schemaOf)
}

function schemaOfBody(
  collection: Collection,
  mode: BodyMode,
  contains: (field: Field, mode: BodyMode) => boolean,
  schemaOf: SchemaOf,
): JsonSchema {
  const fields = [...collection.fields.values()].filter(field => contains(field, mode))
  return {
    type: 'object',
    properties: propertiesOf(fields, field => {
      const schema = mode === 'merge' ? mergeSchema(field, schemaOf(field)) : schemaOf(field)
      return { ...(field.optional ? nullable(schema) : schema), ...defaultIn(field, mode) }
    }),
    ...required(fields.filter(field => isRequired(field, mode))),
    additionalProperties: false,
  }
}

/** The schema of a field in a response. `schema`: the schema of a value that is not null. */
export function propertySchema(field: Field, schema: JsonSchema): JsonSchema {
  return field.optional || dependsOnRow(field.access.read) ? nullable(schema) : schema
}

/** The schema of an item in a response. Fields that not everyone may read are not required. */
export function itemSchema(collection: Collection, schemaOf: SchemaOf = answerSchemaOf): JsonSchema {
  const fields = [...collection.fields.values()].filter(field => !field.writeOnly && !field.internal)
  return {
    type: 'object',
    properties: propertiesOf(fields, field => propertySchema(field, schemaOf(field))),
    ...required(fields.filter(field => field.access.read.kind === 'anyone')),
  }
}
