/** The one place where JSON Schemas (2020-12) are compiled, so that every room reads them alike. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { formats } from '../formats.ts'
import type { JsonSchema } from './type.ts'

function compiler(allErrors: boolean): Ajv2020 {
  // Checking a schema by the meta-schema costs 40 ms at the first one: only `schemaFault` does it.
  const ajv = new Ajv2020({ allErrors, allowUnionTypes: true, validateSchema: false, logger: false })
  addFormats.default(ajv)
  for (const [name, format] of formats) ajv.addFormat(name, format.has)
  return ajv
}

const compilers = new Map<boolean, Ajv2020>()

function compilerFor(allErrors: boolean): Ajv2020 {
  const known = compilers.get(allErrors)
  if (known) return known
  const made = compiler(allErrors)
  compilers.set(allErrors, made)
  return made
}

/** A validator that stops at the first fault, or with `allErrors` finds every one. Throws for a bad schema. */
export function compile(schema: JsonSchema, allErrors = false): ValidateFunction {
  return compilerFor(allErrors).compile(schema)
}

/** Keywords that lead elsewhere or name a place; a field's schema becomes part of a larger document. */
const unmovable = new Set(['$id', '$anchor', '$dynamicAnchor', '$ref', '$dynamicRef', '$defs', '$schema'])

const DEEPEST = 32

function keywordsIn(value: unknown, depth = 0): string[] {
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return []
  return Object.entries(value).flatMap(([key, part]) => [key, ...keywordsIn(part, depth + 1)])
}

/** Whether a pattern in a schema may meet texts of any length. */
function hasOpenPattern(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return false
  const { pattern, maxLength }: { pattern?: unknown; maxLength?: unknown } = value
  if (typeof pattern === 'string' && maxLength === undefined) return true
  return Object.values(value).some(part => hasOpenPattern(part, depth + 1))
}

/** What is wrong with a declared schema; undefined when nothing is. */
export function schemaFault(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    return "Write a JSON Schema as an object, e.g. `{ type: 'array', items: { type: 'string' } }`."
  }
  const found = keywordsIn(schema).find(key => unmovable.has(key))
  if (found !== undefined) return `\`${found}\` cannot be used here. Write the schema out in one piece.`
  if (hasOpenPattern(schema)) {
    return 'A `pattern` may take long over a long text. Write `maxLength` beside it, e.g. `maxLength: 1000`.'
  }
  const type: unknown = Reflect.get(schema, 'type')
  if (type === 'null' || (Array.isArray(type) && type.includes('null'))) {
    return 'Null stands for a missing value. Leave it out of `type` and write `optional: true`.'
  }
  const ajv = compilerFor(false)
  if (!ajv.validateSchema(schema)) return `This is no valid JSON Schema (2020-12): ${ajv.errorsText()}.`
  try {
    compile(schema as JsonSchema)
    return undefined
  } catch (error) {
    return `This is no valid JSON Schema (2020-12): ${(error as Error).message}.`
  }
}
