import { schemaFault } from '../json-schema/compile.ts'
import {
  declared,
  defaultOf,
  type FieldDeclaration,
  type FieldOptions,
  type OptionFault,
} from './declared.ts'
import { type Encoding, literal } from './encoding.ts'
import type { FieldType, GraphqlScalar } from './field-type.ts'
import { storableText } from './textual.ts'
import type { JsonSchema, JsonValue } from './type.ts'

interface JsonOptions extends FieldOptions {
  readonly default?: JsonValue
  /** The JSON Schema (2020-12) of every value, without references. */
  readonly schema?: JsonSchema
}

const maxDepth = 64

/** All types but null, which stands for a missing value. */
export const presentTypes = ['object', 'array', 'string', 'number', 'boolean']

function checkStorable(value: JsonValue, depth: number): void {
  if (depth > maxDepth) throw new RangeError(`The value is nested more than ${maxDepth} levels deep.`)
  if (typeof value === 'string') storableText(value)
  else if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new RangeError('The value holds a number that is too large.')
  } else if (Array.isArray(value)) for (const item of value) checkStorable(item, depth + 1)
  else if (typeof value === 'object' && value !== null) checkMembers(value, depth)
}

function checkMembers(value: object, depth: number): void {
  // `Object.entries` takes several times as long for an object with very many members.
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

function parseCell(cell: string | number): JsonValue | undefined {
  try {
    return JSON.parse(String(cell))
  } catch {
    return undefined
  }
}

/** PostgreSQL's `json`, unlike `jsonb`, keeps the order of members, as SQLite's text does. */
export const documentEncoding: Encoding = {
  name: 'json',
  encode: value => JSON.stringify(value),
  decode: parseCell,
  isSortKey: () => false,
  widens: [],
  sqlite: {
    type: 'TEXT',
    least: "''",
    json: column => `json(${column})`,
    logged: (event, member) => `${event} -> ${member}`,
    constant: value => literal(JSON.stringify(value)),
    from: (column, previous) => {
      if (previous.type === 'REAL') return `CAST(${previous.json} AS TEXT)`
      // `json()` fails for a text that is not JSON.
      return previous.type === 'TEXT'
        ? `CASE WHEN json_valid(${column}) THEN ${column} ELSE json(${column}) END`
        : previous.json
    },
  },
  postgres: {
    type: 'json',
    json: column => column,
    logged: (event, member) => `${event}::json -> ${member}`,
    constant: value => `${literal(JSON.stringify(value))}::json`,
    // PostgreSQL has no equality for `json`.
    comparable: column => `${column}::text`,
    from: (column, previous) =>
      previous.type === 'double precision' ? `(${previous.json})` : `${column}::text`,
  },
}

const scalar: GraphqlScalar = {
  name: 'JSON',
  description: 'Any JSON value.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
}

/** `schema`: valid. */
export function jsonType(schema: JsonSchema): FieldType {
  return {
    name: 'json',
    encoding: documentEncoding,
    graphql: { type: scalar },
    isDocument: true,
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

const checkedElsewhere = () => undefined

/** Any JSON value but null, or those that `schema` allows. Lists can neither filter nor sort by it. */
export function json<const O extends JsonOptions>(options?: O): FieldDeclaration<JsonValue, O> {
  const faults = schemaFaults(options?.schema)
  const schema = faults.length === 0 ? (options?.schema ?? {}) : {}
  return declared({
    type: jsonType(schema),
    options,
    checks: { default: defaultOf(), schema: checkedElsewhere },
    faults,
  })
}
