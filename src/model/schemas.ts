/** The JSON Schemas (2020-12) of items and bodies: what OpenAPI shows, and what bodies are checked by. */
import { dependsOnRow } from './check.ts'
import type { JsonSchema, JsonValue } from './fields/type.ts'
import type { Collection, Field } from './model.ts'

/** Which body: that of a create, of a PUT, or of a PATCH. */
export type BodyMode = 'create' | 'replace' | 'merge'

/** Keywords that say something about null too, so that a further type does not let it in. */
const aboutNull = ['$ref', 'const', 'anyOf', 'oneOf', 'allOf', 'not', 'if']

const nothing: JsonSchema = { type: 'null' }

/** Any value but null. */
export const notNull: JsonSchema = { not: nothing }

function nullable(schema: JsonSchema): JsonSchema {
  const { anyOf, not, ...others } = schema
  if (not === nothing && Object.keys(others).length === 0 && anyOf === undefined) return {}
  if (Array.isArray(anyOf) && Object.keys(schema).length === 1) return { anyOf: [...anyOf, nothing] }
  if (aboutNull.some(keyword => keyword in schema)) return { anyOf: [schema, nothing] }
  const types = [schema.type].flat() as JsonValue[]
  const { enum: values } = schema
  return {
    ...schema,
    type: [...types, 'null'],
    ...(Array.isArray(values) ? { enum: [...values, null] } : {}),
  }
}

/** The value that a field which is left out of a body gets. A PATCH, and a PUT by some, leaves it as it is. */
function defaultIn(field: Field, mode: BodyMode): JsonSchema {
  if (field.default?.kind !== 'value') return {}
  const given = mode === 'create' || (mode === 'replace' && field.access.write.kind === 'anyone')
  return given ? { default: field.default.value } : {}
}

/** In words what `readOnly` and `writeOnly` say: generators make optional, or leave out, what those mark. */
function describe({ description, readOnly, writeOnly }: Field): string {
  return [description, readOnly && 'Read-only.', writeOnly && 'Never given out.'].filter(Boolean).join(' ')
}

function annotations(field: Field): JsonSchema {
  const description = describe(field)
  return { ...(description !== '' && { description }), ...(field.deprecated && { deprecated: true }) }
}

/** Whether a body of this mode may hold the field. */
export function isWritable(field: Field, mode: BodyMode): boolean {
  return !field.readOnly && !field.internal && (mode === 'create' || !field.immutable)
}

/**
 * Whether a body of this mode must hold the field. Of a field that not everyone may write, only the
 * guard knows whether a replacement must.
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

/** Whether a value that fulfils the schema may be an object; where in doubt, it may. */
function mayBeObject({ type, enum: values, const: value, anyOf, oneOf }: JsonSchema): boolean {
  const among = (schemas: JsonValue | undefined) =>
    !Array.isArray(schemas) || schemas.some(schema => mayBeObject(schema))
  if (type !== undefined && ![type].flat().includes('object')) return false
  if (Array.isArray(values) && !values.some(one => typeof one === 'object')) return false
  if (value !== undefined && typeof value !== 'object') return false
  return among(anyOf) && among(oneOf)
}

/** Whether an object in a PATCH is merged into what is stored (RFC 7396): only the result must fit. */
export function mergesObjects({ type }: Field): boolean {
  return type.encoding === 'json' && mayBeObject(type.schema)
}

/** The schema of a field's values: that of its type, or how a document shows it. */
type SchemaOf = (field: Field) => JsonSchema

/** A field's value in a PATCH: where objects are merged, any object as well. */
function mergeSchema(field: Field, schema: JsonSchema): JsonSchema {
  const { type, ...keywords } = field.type.schema
  if (!mergesObjects(field)) return schema
  if (Object.keys(keywords).length === 0) return schema
  const whole: JsonSchema = { type: 'object', additionalProperties: true }
  return type === 'object' ? whole : { anyOf: [schema, whole] }
}

const schemaOfType: SchemaOf = ({ type }) => type.schema

/** The schema of a body of this mode; a field that is not in it is refused. */
export function bodySchema(
  collection: Collection,
  mode: BodyMode,
  schemaOf: SchemaOf = schemaOfType,
): JsonSchema {
  const fields = [...collection.fields.values()].filter(field => isWritable(field, mode))
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

/** The schema of a whole item as it is given out. A field that not everyone may read may be left out. */
export function itemSchema(collection: Collection, schemaOf: SchemaOf = schemaOfType): JsonSchema {
  const fields = [...collection.fields.values()].filter(field => !field.writeOnly && !field.internal)
  const mayBeNull = (field: Field) => field.optional || dependsOnRow(field.access.read)
  return {
    type: 'object',
    properties: propertiesOf(fields, field =>
      mayBeNull(field) ? nullable(schemaOf(field)) : schemaOf(field),
    ),
    ...required(fields.filter(field => field.access.read.kind === 'anyone')),
  }
}
