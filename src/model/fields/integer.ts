import {
  boundFaults,
  declared,
  defaultOf,
  type FieldDeclaration,
  type FieldOptions,
  wholeNumber,
} from './declared.ts'
import { orderedOperators } from './textual.ts'
import type { FieldType, JsonValue } from './type.ts'

interface IntegerOptions extends FieldOptions {
  readonly default?: number
  readonly min?: number
  readonly max?: number
}

const grammar = /^(?:0|-?[1-9][0-9]{0,15})$/

function whole(value: JsonValue): number {
  if (!Number.isSafeInteger(value))
    throw new RangeError('The value must be a whole number within ±(2^53 − 1).')
  return Number(value) + 0
}

function wholeFromText(text: string): number | undefined {
  if (!grammar.test(text)) return undefined
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : undefined
}

const INT32 = 2 ** 31

/** A type of whole numbers within the bounds. GraphQL's Int has 32 bits (GraphQL 3.5.1): beyond, Float is exact. */
export function integerType(name: string, min: number, max: number, graphql?: string): FieldType {
  return {
    name,
    encoding: 'number',
    column: { sqlite: 'INTEGER', postgres: 'bigint' },
    graphql: graphql ?? (min >= -INT32 && max < INT32 ? 'Int' : 'Float'),
    operators: orderedOperators,
    sortable: true,
    schema: { type: 'integer', minimum: min, maximum: max },
    filterSchema: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
    canonical: whole,
    fromText: wholeFromText,
  }
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
