import {
  boundFaults,
  declared,
  defaultOf,
  type FieldDeclaration,
  type FieldOptions,
  finiteNumber,
} from './declared.ts'
import { asIs, type Encoding, loggedAs, loggedValue } from './encoding.ts'
import type { FieldType } from './field-type.ts'
import { orderedOperators } from './textual.ts'
import type { JsonSchema, JsonValue } from './type.ts'

interface NumberOptions extends FieldOptions {
  readonly default?: number
  readonly min?: number
  readonly max?: number
}

/** A JSON number (RFC 8259, 6). */
const grammar = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/
const maxTextLength = 400

function requireFinite(value: JsonValue): number {
  if (!Number.isFinite(value)) throw new RangeError('The value must be a finite number.')
  return Number(value) + 0
}

function finiteFromText(text: string): number | undefined {
  if (text.length > maxTextLength || !grammar.test(text)) return undefined
  const value = Number(text)
  return Number.isFinite(value) ? value + 0 : undefined
}

/** SQLite writes a whole REAL as `1.0`; REST, GraphQL and PostgreSQL write `1`. */
function sqliteJson(column: string): string {
  return `CASE WHEN ${column} = CAST(${column} AS INTEGER) THEN CAST(${column} AS INTEGER) ELSE ${column} END`
}

/** Writes numbers as SQLite does: whole ones below 2^63 without an exponent, exponents with a fraction. */
function postgresJson(column: string): string {
  const whole = `${column} = trunc(${column}) AND abs(${column}) < 9223372036854775807`
  const exponent = `regexp_replace(${column}::text, '^(-?[0-9])e', '\\1.0e')`
  return `CASE WHEN ${whole} THEN ${column}::bigint::text ELSE ${exponent} END`
}

/** 2^-64: multiplication by a power of two is exact. */
const scale = '5.421010862427522e-20'
const largestScaled = '9.745314011399998e+288'
const large = '1e150'

/**
 * Scales large values down before it adds them, so that the sum cannot overflow. Small values are not scaled, because they
 * could underflow: PostgreSQL refuses both. Null where the sum exceeds double precision.
 */
function scaledSum(column: string, double: (literal: string) => string): string {
  const isLarge = `abs(${column}) >= ${double(large)}`
  const small = `sum(${column}) FILTER (WHERE NOT ${isLarge})`
  const scaled = `sum(${column} * ${double(scale)}) FILTER (WHERE ${isLarge})`
  const scaledTotal = `(${scaled} + CASE WHEN abs(${small}) > 1 THEN ${small} * ${double(scale)} ELSE 0 END)`
  return `CASE WHEN ${scaled} IS NULL THEN ${small} WHEN abs(${scaledTotal}) <= ${double(largestScaled)} THEN ${scaledTotal} / ${double(scale)} END`
}

export const realEncoding: Encoding = {
  name: 'number',
  maxBytes: 25,
  encode: asIs,
  decode: Number,
  isSortKey: Number.isFinite,
  widens: ['number'],
  sqlite: {
    type: 'REAL',
    least: '-9e999',
    json: sqliteJson,
    logged: loggedValue,
    constant: String,
    sum: column => scaledSum(column, factor => factor),
  },
  postgres: {
    type: 'double precision',
    json: postgresJson,
    logged: loggedAs('double precision'),
    constant: String,
    sum: column => scaledSum(column, factor => `${factor}::double precision`),
    // Makes NaN and Infinity fail, which JSON cannot write.
    from: (column, { type }) =>
      type === 'boolean' ? `${column}::int` : `translate(${column}::text, 'nN', '??')`,
  },
}

function numberType(schema: JsonSchema): FieldType {
  return {
    name: 'number',
    encoding: realEncoding,
    graphql: { type: 'Float' },
    operators: orderedOperators,
    sortable: true,
    summable: true,
    schema,
    filterSchema: { type: 'number' },
    canonical: requireFinite,
    fromText: finiteFromText,
  }
}

/** A finite number of double precision (IEEE 754). */
export function number<const O extends NumberOptions>(options?: O): FieldDeclaration<number, O> {
  const { min, max } = options ?? {}
  const schema = {
    type: 'number',
    ...(min === undefined ? {} : { minimum: min }),
    ...(max === undefined ? {} : { maximum: max }),
  }
  return declared({
    type: numberType(schema),
    options,
    checks: { default: defaultOf(), min: finiteNumber, max: finiteNumber },
    faults: boundFaults(min, max),
  })
}
