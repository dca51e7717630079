import {
  boundFaults,
  declared,
  defaultOf,
  type FieldDeclaration,
  type FieldOptions,
  finiteNumber,
} from './declared.ts'
import { orderedOperators } from './textual.ts'
import type { FieldType, JsonSchema, JsonValue } from './type.ts'

interface NumberOptions extends FieldOptions {
  readonly default?: number
  readonly min?: number
  readonly max?: number
}

/** A JSON number (RFC 8259, 6). */
const grammar = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/
const LONGEST = 400

function finite(value: JsonValue): number {
  if (!Number.isFinite(value)) throw new RangeError('The value must be a finite number.')
  return Number(value) + 0
}

function finiteFromText(text: string): number | undefined {
  if (text.length > LONGEST || !grammar.test(text)) return undefined
  const value = Number(text)
  return Number.isFinite(value) ? value + 0 : undefined
}

function numberType(schema: JsonSchema): FieldType {
  return {
    name: 'number',
    encoding: 'number',
    column: { sqlite: 'REAL', postgres: 'double precision' },
    graphql: 'Float',
    operators: orderedOperators,
    sortable: true,
    schema,
    filterSchema: { type: 'number' },
    canonical: finite,
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
