/** What every field type answers about itself. One file a type; shared code never asks which it is. */

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }

/** A JSON Schema (2020-12) object. */
export type JsonSchema = { readonly [key: string]: JsonValue }

export type FilterOperator = 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'contains' | 'null'

/**
 * How a stored value is written into JSON, and a JSON value into a column:
 * `text` and `number` as they are, `boolean` from 0 and 1 where the database has no booleans,
 * `json` as the document itself, `datetime` and `date` as ISO 8601 text.
 */
export type Encoding = 'text' | 'number' | 'boolean' | 'json' | 'datetime' | 'date'

export interface FieldType {
  /** The builder's name, e.g. `integer`. */
  readonly name: string
  readonly encoding: Encoding
  readonly column: { readonly sqlite: 'TEXT' | 'INTEGER' | 'REAL'; readonly postgres: string }
  /** The GraphQL scalar, or enum base, that stands for it. */
  readonly graphql: string
  readonly operators: readonly FilterOperator[]
  /** Whether lists may be sorted by it. */
  readonly sortable: boolean
  /** The schema that a non-null value fulfils; decides what a body may hold. */
  readonly schema: JsonSchema
  /**
   * The canonical form of a value that fulfils `schema`, e.g. a datetime in UTC.
   * Throws a `RangeError` with a sentence for the client when the value has none.
   */
  canonical(value: JsonValue): JsonValue
  /** The schema of what a filter may compare with: more than `schema`, where a bound or a part is asked for. */
  readonly filterSchema: JsonSchema
  /** The canonical value that a query parameter's text stands for; undefined when it stands for none. */
  fromText(text: string): JsonValue | undefined
}
