/** What the field types that hold text share. */
import type { FieldOptions, OptionChecks, OptionFault } from './declared.ts'
import { boundFaults, count, defaultOf, flag, pattern } from './declared.ts'
import type { FieldType, FilterOperator, JsonSchema, JsonValue } from './type.ts'

export interface TextualOptions extends FieldOptions {
  readonly default?: string
  /** The fewest characters (Unicode code points). */
  readonly min?: number
  /** The most characters (Unicode code points). */
  readonly max?: number
  /** Exactly so many characters; instead of `min` and `max`. */
  readonly length?: number
  /** A regular expression, read with the `u` flag; anchor it with `^` and `$`. It meets no longer text than `max`. */
  readonly pattern?: string
  /** Whether `?q=` searches it. */
  readonly searchable?: boolean
}

export const textualChecks: OptionChecks = {
  default: defaultOf(),
  min: count,
  max: count,
  length: count,
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

const textOperators: readonly FilterOperator[] = [...orderedOperators, 'contains']

/**
 * Byte order on both databases: equal sorting, and an index that serves it.
 * Times are kept so too: no type of PostgreSQL's holds the year 0000.
 */
export const textColumn = { sqlite: 'TEXT', postgres: 'text COLLATE "C"' } as const

/** The text itself, when every database can keep it. Throws a `RangeError` otherwise. */
export function storableText(value: JsonValue): string {
  if (typeof value !== 'string') throw new RangeError('The value must be text.')
  if (value.includes('\u0000')) throw new RangeError('The text holds U+0000, which cannot be stored.')
  if (!value.isWellFormed()) {
    throw new RangeError('The text holds half of a surrogate pair, which cannot be stored.')
  }
  return value
}

/** `canonical`, as an answer to a query's text: undefined instead of an error. */
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

/** The length and pattern keywords that the options ask for. */
export function textSchema(options: TextualOptions | undefined, defaultMax?: number): JsonSchema {
  const { min, max, length, pattern: regexp } = options ?? {}
  const least = length ?? min
  const most = length ?? max ?? defaultMax
  return {
    type: 'string',
    ...(least === undefined ? {} : { minLength: least }),
    ...(most === undefined ? {} : { maxLength: most }),
    ...(regexp === undefined ? {} : { pattern: regexp }),
  }
}

/** The faults of lengths that contradict each other. */
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
  /** How a query's text is read; by default as `canonical` does. */
  readonly fromText?: (text: string) => JsonValue | undefined
}

/** A type that is stored, filtered and sorted as text. */
export function textual({ name, schema, canonical = storableText, fromText }: TextualType): FieldType {
  return {
    name,
    encoding: 'text',
    column: textColumn,
    graphql: 'String',
    operators: textOperators,
    sortable: true,
    schema,
    filterSchema: { type: 'string' },
    canonical,
    fromText: fromText ?? textOr(canonical),
  }
}
