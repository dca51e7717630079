/** Compiles and checks JSON Schemas (2020-12), with the same options everywhere. */

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { isObject } from '../../base/json.ts'
import type { JsonSchema, JsonValue } from '../fields/type.ts'
import { formats } from './formats.ts'

function createCompiler(allErrors: boolean): Ajv2020 {
  // The first validation by the meta-schema takes 40 ms: only `schemaFault` validates.
  const ajv = new Ajv2020({ allErrors, allowUnionTypes: true, validateSchema: false, logger: false })
  addFormats.default(ajv)
  for (const [name, format] of formats) ajv.addFormat(name, format.has)
  // Ajv's own implementation compares every pair of items.
  ajv.removeKeyword('uniqueItems')
  return ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    before: 'const',
    compile: (unique: boolean) => (items: readonly JsonValue[]) => !unique || areDifferent(items),
  })
}

function areDifferent(items: readonly JsonValue[]): boolean {
  const seen = new Set<string>()
  for (const item of items) seen.add(keyOf(item))
  return seen.size === items.length
}

/** The same text for equal values (JSON Schema 2020-12 core, 4.2.2): the order of members is ignored. */
function keyOf(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(keyOf)}]`
  const members = Object.keys(value).sort()
  return `{${members.map(name => `${JSON.stringify(name)}:${keyOf(Reflect.get(value, name))}`)}}`
}

const compilers = new Map<boolean, Ajv2020>()

function compilerFor(allErrors: boolean): Ajv2020 {
  const existing = compilers.get(allErrors)
  if (existing) return existing
  const created = createCompiler(allErrors)
  compilers.set(allErrors, created)
  return created
}

/** A validator that stops at the first error, or with `allErrors` finds all. Throws for an invalid schema. */
export function compile(schema: JsonSchema, allErrors = false): ValidateFunction {
  return compilerFor(allErrors).compile(schema)
}

/** References and anchors, which would break because a field's schema becomes part of a larger document. */
const unmovable = new Set(['$id', '$anchor', '$dynamicAnchor', '$ref', '$dynamicRef', '$defs', '$schema'])

/** Keywords whose values map arbitrary names to schemas. */
const schemasByName = new Set(['properties', 'patternProperties', 'dependentSchemas'])
/** Keywords whose values contain no schemas. */
const withoutSchemas = new Set(['enum', 'const', 'default', 'examples', 'required', 'dependentRequired'])

/** A schema and its subschemas. */
function schemasIn(value: unknown, schemas = new Set<object>()): ReadonlySet<object> {
  if (typeof value !== 'object' || value === null || schemas.has(value)) return schemas
  schemas.add(value)
  for (const [key, part] of Object.entries(value)) {
    if (withoutSchemas.has(key)) continue
    for (const schema of schemasByName.has(key) ? Object.values(part ?? {}) : [part])
      schemasIn(schema, schemas)
  }
  return schemas
}

/** Replaces a schema. `path`: the keywords and names that lead to it from the root. */
type ReplaceSchema = (schema: JsonSchema, path: readonly string[]) => JsonSchema

/** A copy of the schema in which `change` has replaced it and its subschemas, innermost first. */
export function mapSchemas(
  schema: JsonSchema,
  change: ReplaceSchema,
  path: readonly string[] = [],
): JsonSchema {
  const mapped = (value: JsonValue, name: string) =>
    isObject(value) ? mapSchemas(value, change, [...path, name]) : value
  const entries = Object.entries(schema).map(([key, part]): [string, JsonValue] => {
    if (withoutSchemas.has(key)) return [key, part]
    if (Array.isArray(part)) return [key, part.map((schema, index) => mapped(schema, `${key}${index + 1}`))]
    if (!schemasByName.has(key) || !isObject(part)) return [key, mapped(part, key)]
    return [
      key,
      Object.fromEntries(Object.entries(part).map(([name, schema]) => [name, mapped(schema, name)])),
    ]
  })
  return change(Object.fromEntries(entries), path)
}

/** Whether a pattern is matched against texts of unlimited length. */
function hasUnboundedPattern({ pattern, maxLength }: { pattern?: unknown; maxLength?: unknown }): boolean {
  return typeof pattern === 'string' && maxLength === undefined
}

/** Whether patterns are matched against names of unlimited length. */
function hasUnboundedNames(schema: {
  patternProperties?: unknown
  propertyNames?: { maxLength?: unknown }
}): boolean {
  return schema.patternProperties !== undefined && schema.propertyNames?.maxLength === undefined
}

/** The fault of a declared schema, if there is one. */
export function schemaFault(schema: unknown): string | undefined {
  if (!isObject(schema)) {
    return "Write a JSON Schema as an object, e.g. `{ type: 'array', items: { type: 'string' } }`."
  }
  const schemas = [...schemasIn(schema)]
  const keyword = schemas.flatMap(subschema => Object.keys(subschema)).find(key => unmovable.has(key))
  if (keyword !== undefined) return `\`${keyword}\` cannot be used here. Write the whole schema in one place.`
  if (schemas.some(hasUnboundedPattern)) {
    return 'Matching a `pattern` against a long text may take long. Write `maxLength` next to it, e.g. `maxLength: 1000`.'
  }
  if (schemas.some(hasUnboundedNames)) {
    return (
      'Matching the patterns of `patternProperties` against a long name may take long. ' +
      'Write `propertyNames` next to them, e.g. `propertyNames: { maxLength: 100 }`.'
    )
  }
  const type: unknown = Reflect.get(schema, 'type')
  if (type === 'null' || (Array.isArray(type) && type.includes('null'))) {
    return 'Null stands for a missing value. Leave it out of `type` and write `optional: true`.'
  }
  const ajv = compilerFor(false)
  try {
    if (!ajv.validateSchema(schema)) return `This is not a valid JSON Schema (2020-12): ${ajv.errorsText()}.`
    compile(schema as JsonSchema)
    return undefined
  } catch (error) {
    return `This is not a valid JSON Schema (2020-12): ${(error as Error).message}.`
  }
}
