import {
  declared,
  defaultOf,
  type FieldDeclaration,
  type FieldOptions,
  type OptionFault,
} from './declared.ts'
import { schemaFault } from './schema.ts'
import { storableText } from './textual.ts'
import type { FieldType, JsonSchema, JsonValue } from './type.ts'

interface JsonOptions extends FieldOptions {
  readonly default?: JsonValue
  /** The JSON Schema (2020-12) that every value fulfils; without references. */
  readonly schema?: JsonSchema
}

const DEEPEST = 64

/** Null stands for a missing value, so it is not among them. */
export const presentTypes = ['object', 'array', 'string', 'number', 'boolean']

function checkStorable(value: JsonValue, depth: number): void {
  if (depth > DEEPEST) throw new RangeError(`The value is nested more than ${DEEPEST} levels deep.`)
  if (typeof value === 'string') storableText(value)
  else if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new RangeError('The value holds a number that is too large.')
  } else if (Array.isArray(value)) for (const item of value) checkStorable(item, depth + 1)
  else if (typeof value === 'object' && value !== null) checkMembers(value, depth)
}

function checkMembers(value: object, depth: number): void {
  // By keys: of an object with very many members, to list the entries takes several times as long.
  for (const key of Object.keys(value)) {
    storableText(key)
    checkStorable(Reflect.get(value, key), depth + 1)
  }
}

function documentOf(value: JsonValue): JsonValue {
  if (value === null) throw new RangeError('The value must not be null.')
  checkStorable(value, 1)
  return value
}

function fromText(): undefined {
  return undefined
}

/** The type of JSON values that fulfil a schema, which is taken as it is. */
export function jsonType(schema: JsonSchema): FieldType {
  return {
    name: 'json',
    encoding: 'json',
    column: { sqlite: 'TEXT', postgres: 'json' },
    graphql: 'JSON',
    operators: ['null'],
    sortable: false,
    schema: schema.type === undefined ? { ...schema, type: presentTypes } : schema,
    filterSchema: {},
    canonical: documentOf,
    fromText,
  }
}

function schemaFaults(schema: unknown): readonly OptionFault[] {
  const message = schema === undefined ? undefined : schemaFault(schema)
  return message === undefined ? [] : [{ option: 'schema', message }]
}

const anything = () => undefined

/** Any JSON value but null, or those that fulfil `schema`. It can be neither filtered nor sorted by. */
export function json<const O extends JsonOptions>(options?: O): FieldDeclaration<JsonValue, O> {
  const faults = schemaFaults(options?.schema)
  const schema = faults.length === 0 ? (options?.schema ?? {}) : {}
  return declared({
    type: jsonType(schema),
    options,
    checks: { default: defaultOf(), schema: anything },
    faults,
  })
}
