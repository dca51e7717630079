import {
  boundFaults,
  declared,
  defaultOf,
  type FieldDeclaration,
  type FieldOptions,
  wholeNumber,
} from './declared.ts'
import { asIs, type Encoding, loggedAs, loggedValue } from './encoding.ts'
import type { FieldType, GraphqlLeaf } from './field-type.ts'
import { orderedOperators } from './textual.ts'
import type { JsonValue } from './type.ts'

interface IntegerOptions extends FieldOptions {
  readonly default?: number
  readonly min?: number
  readonly max?: number
}

const grammar = /^(?:0|-?[1-9][0-9]{0,15})$/

function requireWhole(value: JsonValue): number {
  if (!Number.isSafeInteger(value))
    throw new RangeError('The value must be a whole number within ±(2^53 − 1).')
  return Number(value) + 0
}

function wholeFromText(text: string): number | undefined {
  if (!grammar.test(text)) return undefined
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : undefined
}

/** It has the name of other numbers, with which rules may compare it. */
export const wholeEncoding: Encoding = {
  name: 'number',
  maxBytes: 20,
  encode: asIs,
  decode: Number,
  isSortKey: Number.isSafeInteger,
  widens: [],
  isWhole: true,
  sqlite: {
    type: 'INTEGER',
    least: '-9e999',
    json: column => column,
    logged: loggedValue,
    constant: String,
    sum: sqliteSum,
    from: fromOther,
  },
  postgres: {
    type: 'bigint',
    json: column => column,
    logged: loggedAs('bigint'),
    constant: String,
    // PostgreSQL's sum is of type numeric, so it is exact until the cast rounds it, once.
    sum: column => `sum(${column})::double precision`,
    from: (column, { type }) => {
      if (type === 'boolean') return `${column}::int`
      return type === 'double precision' ? `trunc(${column})` : `${column}::text`
    },
  },
}

/**
 * Added up in two halves, since `sum()` fails beyond 2^63. Both are exact, so their sum is rounded once, to the value that
 * PostgreSQL returns.
 */
function sqliteSum(column: string): string {
  return `(CAST(sum(${column} >> 26) AS REAL) * 67108864.0 + sum(${column} & 67108863))`
}

/** An INTEGER column of a STRICT table refuses a text that ends in `?`. */
function fromOther(column: string, { type }: { readonly type: string }): string {
  if (type === 'TEXT')
    return `CASE WHEN trim(${column}) GLOB '*[^-+0-9]*' THEN ${column} || '?' ELSE ${column} END`
  if (type === 'INTEGER') return column
  return `CASE WHEN abs(${column}) < 9223372036854775807 THEN CAST(${column} AS INTEGER) ELSE ${column} END`
}

const int32Bound = 2 ** 31

/** GraphQL's Int has 32 bits (GraphQL 3.5.1). Float is exact for larger numbers. */
function integerType(name: string, min: number, max: number, graphql?: GraphqlLeaf): FieldType {
  return {
    name,
    encoding: wholeEncoding,
    graphql: graphql ?? { type: min >= -int32Bound && max < int32Bound ? 'Int' : 'Float' },
    operators: orderedOperators,
    sortable: true,
    // Ids are not quantities.
    ...(graphql === undefined && { summable: true as const }),
    schema: { type: 'integer', minimum: min, maximum: max },
    filterSchema: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
    canonical: requireWhole,
    fromText: wholeFromText,
  }
}

const idGrammar = /^[1-9][0-9]{0,15}$/

/** The id in a GraphQL `ID`. 0, which no item has, if it is not an id. */
export function idOf(value: unknown): number {
  const text = String(value)
  const id = idGrammar.test(text) ? Number(text) : 0
  return Number.isSafeInteger(id) ? id : 0
}

/** The type of ids and of references. */
export function idType(name: string): FieldType {
  return integerType(name, 1, Number.MAX_SAFE_INTEGER, { type: 'ID', form: 'string', fromInput: idOf })
}

/** A whole number within ±(2^53 − 1). */
export function integer<const O extends IntegerOptions>(options?: O): FieldDeclaration<number, O> {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = options ?? {}
  return declared({
    type: integerType('integer', min, max),
    options,
    checks: { default: defaultOf(), min: wholeNumber, max: wholeNumber },
    faults: boundFaults(min, max),
  })
}
