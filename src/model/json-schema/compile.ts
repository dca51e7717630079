/** Compiles and checks JSON Schemas (2020-12), with the same options everywhere. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { JsonSchema, JsonValue } from '../fields/type.ts'
import { formats } from './formats.ts'

function compiler(allErrors: boolean): Ajv2020 {
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
  const known = compilers.get(allErrors)
  if (known) return known
  const made = compiler(allErrors)
  compilers.set(allErrors, made)
  return made
}

/** A validator that stops at the first error, or with `allErrors` finds all. Throws for an invalid schema. */
export function compile(schema: JsonSchema, allErrors = false): ValidateFunction {
  return compilerFor(allErrors).compile(schema)
}

/** References and anchors. They would break, since a field's schema becomes part of a larger document. */
const unmovable = new Set(['$id', '$anchor', '$dynamicAnchor', '$ref', '$dynamicRef', '$defs', '$schema'])

/** Keywords whose values map arbitrary names to schemas. */
const named = new Set(['properties', 'patternProperties', 'dependentSchemas'])
/** Keywords whose values contain no schemas. */
const plain = new Set(['enum', 'const', 'default', 'examples', 'required', 'dependentRequired'])

/** A schema and its subschemas. */
function schemasIn(value: unknown, found = new Set<object>()): ReadonlySet<object> {
  if (typeof value !== 'object' || value === null || found.has(value)) return found
  found.add(value)
  for (const [key, part] of Object.entries(value)) {
    if (plain.has(key)) continue
    for (const schema of named.has(key) ? Object.values(part ?? {}) : [part]) schemasIn(schema, found)
  }
  return found
}

/** Replaces a schema. `path`: the keywords and names that lead to it from the root. */
type Change = (schema: JsonSchema, path: readonly string[]) => JsonSchema

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A copy of the schema in which `change` has replaced it and its subschemas, innermost first. */
export function mapSchemas(schema: JsonSchema, change: Change, path: readonly string[] = []): JsonSchema {
  const inside = (value: JsonValue, name: string) =>
    isSchema(value) ? mapSchemas(value, change, [...path, name]) : value
  const entries = Object.entries(schema).map(([key, part]): [string, JsonValue] => {
    if (plain.has(key)) return [key, part]
    if (Array.isArray(part)) return [key, part.map((one, index) => inside(one, `${key}${index + 1}`))]
    if (!named.has(key) || !isSchema(part)) return [key, inside(part, key)]
    return [key, Object.fromEntries(Object.entries(part).map(([name, one]) => [name, inside(one, name)]))]
  })
  return change(Object.fromEntries(entries), path)
}

/** Whether a pattern would run over texts of unlimited length. */
function hasOpenPattern({ pattern, maxLength }: { pattern?: unknown; maxLength?: unknown }): boolean {
  return typeof pattern === 'string' && maxLength === undefined
}

/** Whether patterns would run over names of unlimited length. */
function hasOpenNames(schema: {
  patternProperties?: unknown
  propertyNames?: { maxLength?: unknown }
}): boolean {
  return schema.patternProperties !== undefined && schema.propertyNames?.maxLength === undefined
}

/** The fault of a declared schema, if there is one. */
export function schemaFault(schema: unknown): string | undefined {
  if (!isSchema(schema)) {
    return "Write a JSON Schema as an object, e.g. `{ type: 'array', items: { type: 'string' } }`."
  }
  const schemas = [...schemasIn(schema)]
  const found = schemas.flatMap(one => Object.keys(one)).find(key => unmovable.has(key))
  if (found !== undefined) return `\`${found}\` cannot be used here. Write the schema out in one piece.`
  if (schemas.some(hasOpenPattern)) {
    return 'A `pattern` may take long over a long text. Write `maxLength` beside it, e.g. `maxLength: 1000`.'
  }
  if (schemas.some(hasOpenNames)) {
    return (
      'The patterns of `patternProperties` may take long over a long name. ' +
      'Write `propertyNames` beside them, e.g. `propertyNames: { maxLength: 100 }`.'
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
