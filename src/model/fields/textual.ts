/** What the field types of texts share. */
import type { FieldOptions, OptionChecks, OptionFault } from './declared.ts'
import { boundFaults, defaultOf, flag, naturalNumber, pattern } from './declared.ts'
import { asIs, type Encoding, literal, loggedAs, loggedValue } from './encoding.ts'
import type { FieldType } from './field-type.ts'
import type { FilterOperator, JsonSchema, JsonValue } from './type.ts'

export interface TextualOptions extends FieldOptions {
  readonly default?: string
  /** The minimum number of characters (Unicode code points). */
  readonly min?: number
  /** The maximum number of characters (Unicode code points). */
  readonly max?: number
  /** The exact number of characters, instead of `min` and `max`. */
  readonly length?: number
  /** A regular expression with the `u` flag; anchor it with `^` and `$`. Texts longer than `max` are not matched against it. */
  readonly pattern?: string
  /** Whether `?q=` searches it. */
  readonly searchable?: boolean
}

export const textualChecks: OptionChecks = {
  default: defaultOf(),
  min: naturalNumber,
  max: naturalNumber,
  length: naturalNumber,
  pattern,
  searchable: flag,
}

export const orderedOperators: readonly FilterOperator[] = [
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'null',
]

/** Every operator of filters. */
export const textOperators: readonly FilterOperator[] = [
  ...orderedOperators,
  'contains',
  'icontains',
  'starts_with',
]

/** Returns the text. Throws a `RangeError` if a database cannot store it. */
export function storableText(value: JsonValue): string {
  if (typeof value !== 'string') throw new RangeError('The value must be text.')
  if (value.includes('\u0000')) throw new RangeError('The text holds U+0000, which cannot be stored.')
  if (!value.isWellFormed()) {
    throw new RangeError('The text holds half of a surrogate pair, which cannot be stored.')
  }
  return value
}

/** PostgreSQL can store neither U+0000 nor lone surrogates. */
export function isStorable(value: JsonValue): boolean {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
}

/** Both databases sort by bytes, so their orders are the same, and indexes serve them. */
export const textEncoding: Encoding = {
  name: 'text',
  encode: asIs,
  decode: String,
  isSortKey: isStorable,
  widens: ['datetime', 'date'],
  sqlite: {
    type: 'TEXT',
    least: "''",
    json: column => column,
    logged: loggedValue,
    constant: value => literal(String(value)),
    from: (column, previous) => (previous.type === 'REAL' ? `CAST(${previous.json} AS TEXT)` : column),
  },
  postgres: {
    type: 'text COLLATE "C"',
    json: column => `to_json(${column})`,
    logged: loggedAs('text'),
    constant: value => literal(String(value)),
    from: (column, previous) => {
      if (previous.type === 'boolean') return `${column}::int`
      return previous.type === 'double precision' ? `(${previous.json})` : `${column}::text`
    },
  },
}

/** `canonical` for texts of query parameters: undefined instead of a `RangeError`. */
export function textOr(canonical: (value: JsonValue) => JsonValue): (text: string) => JsonValue | undefined {
  return text => {
    try {
      return canonical(text)
    } catch (error) {
      if (error instanceof RangeError) return undefined
      throw error
    }
  }
}

/** The keywords for the length and pattern options. */
export function textSchema(options: TextualOptions | undefined, defaultMax?: number): JsonSchema {
  const { min, max, length, pattern: regexp } = options ?? {}
  const minLength = length ?? min
  const maxLength = length ?? max ?? defaultMax
  return {
    type: 'string',
    ...(minLength === undefined ? {} : { minLength }),
    ...(maxLength === undefined ? {} : { maxLength }),
    ...(regexp === undefined ? {} : { pattern: regexp }),
  }
}

/** The faults of contradictory lengths. */
export function lengthFaults(
  options: TextualOptions | undefined,
  defaultMax?: number,
): readonly OptionFault[] {
  const { min, max, length } = options ?? {}
  if (length !== undefined && (min !== undefined || max !== undefined)) {
    return [{ option: 'length', message: 'Write either `length`, or `min` and `max`.' }]
  }
  return boundFaults(min, max ?? defaultMax)
}

interface TextualType {
  readonly name: string
  readonly schema: JsonSchema
  readonly canonical?: (value: JsonValue) => JsonValue
  /** Default: `canonical`, or undefined where it throws. */
  readonly fromText?: (text: string) => JsonValue | undefined
}

/** A type whose values are stored, filtered and sorted as texts. */
export function textual({ name, schema, canonical = storableText, fromText }: TextualType): FieldType {
  return {
    name,
    encoding: textEncoding,
    graphql: { type: 'String' },
    operators: textOperators,
    sortable: true,
    schema,
    filterSchema: { type: 'string' },
    canonical,
    fromText: fromText ?? textOr(canonical),
  }
}
