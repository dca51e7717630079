/** What differs between databases in the SQL of reads and writes. */
import type { DateGroup } from '../../../model/fields/date-parts.ts'
import type { Encoding, StoredValue } from '../../../model/fields/encoding.ts'
import type { FieldType } from '../../../model/fields/field-type.ts'
import type { Field } from '../../../model/model.ts'
import type { Bind, Conversion, Sql } from './writer.ts'

/** A field, or anything else with an encoding. */
export interface Encoded {
  readonly type: Pick<FieldType, 'encoding'> & Partial<Pick<FieldType, 'schema'>>
}

export interface Dialect {
  /** The sign that begins numbered placeholders. */
  readonly sign: '?' | '$'
  /** A JSON object of keys and JSON expressions. */
  object(entries: readonly (readonly [key: string, value: Sql])[]): Sql
  /** A JSON array of JSON expressions. */
  tuple(items: readonly Sql[]): Sql
  /** An aggregate: the JSON array of an expression over all rows. */
  array(item: Sql): Sql
  /** A field's column as a JSON expression. */
  json(column: Sql, field: Encoded): Sql
  /** A text as a JSON expression. */
  string(text: Sql): Sql
  /**
   * A long value of an answer as a JSON expression that counts its bytes, and aborts the statement if the answer would be too
   * large. `value`: the stored one. Omitted: long values are not counted while the statement runs.
   */
  readonly counted?: ((value: Sql, json: Sql) => Sql) | undefined
  /** The size of a long value that `counted` leaves out because it is short. */
  readonly uncountedBytes?: (value: Sql) => Sql
  /** `json` as an expression that counts `bytes`, as `counted` does. Omitted: objects are not counted while the statement runs. */
  readonly countedAs?: ((bytes: Sql, json: Sql) => Sql) | undefined
  /**
   * The text of an answer; an empty text, which is no JSON, if its size is over `Inputs.answerBound`. Omitted: `counted` bounds
   * the answer.
   */
  readonly boundedText?: ((text: Sql, size: Sql) => Sql) | undefined
  /** A text that the plan names, as a JSON expression. */
  constant(text: string): Sql
  /** An aggregate: the number of rows, as a JSON expression. */
  readonly count: Sql
  /** An aggregate: the sum of a field's column in double precision; null if it exceeds double precision. */
  exactSum(column: Sql, field: Field): Sql
  /** An aggregate: the least or the greatest value of a field's column. */
  extreme(which: 'min' | 'max', column: Sql, field: Field): Sql
  /** The value of a field's column from the JSON text of an event. */
  logged(event: Bind, field: Field): Sql
  /** A JSON expression as the text of the response. */
  text(json: Sql): Sql
  isIn(column: Sql, list: Bind): Sql
  /** A list in the form that `isIn` takes. */
  list(items: readonly (StoredValue | null)[]): string
  /** Converts the text of a search into the form that `search` and `fieldMatches` take. */
  readonly searchTerms: Conversion
  /** The expression of a LIMIT clause. */
  limit(rows: Bind): Sql
  /**
   * Joins `windows` with the rows of `row`'s table in each window, found by their ids alone: FROM, and the condition that
   * completes it. `range`: a condition on the row's id.
   */
  sampled(windows: Sql, row: SampledRow, range: Sql): { readonly from: Sql; readonly condition: Sql }
  /** Whether the database also computes the outputs of rows that OFFSET skips. */
  readonly computesSkippedRows: boolean
  /**
   * Whether each part of a sorted union needs an ORDER BY and a LIMIT of its own to be read along an index. If not, the
   * database applies the order of the union to its parts, and stops at the limit of the union.
   */
  readonly limitsParts: boolean
  /** Whether a comparison of row values uses all columns of an index, and not only the first. */
  readonly comparesRows: boolean
  contains(column: Sql, substring: Sql): Sql
  /** Whether the text matches a pattern that `caselessPattern` created. */
  matches(column: Sql, pattern: Bind): Sql
  /** Converts a text into a pattern of the texts that contain it in any letter case. */
  readonly caselessPattern: Conversion
  /** The column's value, for a comparison that must not use an index. */
  withoutIndex(column: Sql): Sql
  /** The value, cast to the type of the encoding. */
  cast(value: Sql, encoding: Encoding): Sql
  /** A double rounded to 15 significant digits: the order of addition affects the digits after them. */
  rounded(value: Sql): Sql
  /** The day of the week, 1 (Monday) to 7, of a day as `YYYY-MM-DD`. */
  weekday(day: Sql): Sql
  /** The part of a stored date or time. `zone`: the argument with the time zone; undefined: UTC. */
  dateGroup(value: Sql, part: DateGroup, zone: number | undefined): Sql
  /** Null-safe equality of values of a field. */
  same(left: Sql, right: Sql, field: Field): Sql
  /** Whether `same` uses an index if the value may be null. */
  readonly seeksNull: boolean
  /** The time of the request, shifted, in the form of the encoding. Stable within a statement, so that indexes can be used. */
  now(shiftMs: number, as: Encoding): Sql
  /** The truth of a member of a JSON text. */
  jsonTruth(text: Sql, member: string): Sql
  /** The text of a member of a JSON text. */
  jsonText(text: Sql, member: string): Sql
  /** The suffix of a sort key that makes null the smallest value. */
  nulls(descending: boolean): Sql
  /** The table with all stored rows of a collection, regardless of what the caller may read. */
  stored(collection: string): string
  /**
   * A condition on the row's id that every row fulfils. It aborts a statement that takes too long on the event loop.
   * Undefined for a database whose statements run elsewhere.
   */
  readonly budgetCheck?: ((id: Sql) => Sql) | undefined
  /** A query for the ids of the rows of `table` that match a search. */
  search(table: string, searched: SearchQuery): Sql
  /**
   * Whether all the terms occur in one field of the row with this id, which is at least `lowest`. `index`: the alias of
   * the search index, if the statement reads it.
   */
  fieldMatches(table: string, field: Field, terms: Bind, row: SearchRow): Sql
  /**
   * Joins a table to one that should be read first. PostgreSQL's planner decides for itself. `table`: the FROM item with its
   * alias.
   */
  secondTable(table: Sql, alias: Sql, condition: Sql): Sql
  /** Undefined under row security: PostgreSQL does not use the search index for statements that policies restrict. */
  readonly searchIndex: SearchIndexSql | undefined
}

export interface SearchQuery {
  /** Every word occurs in at least one of these fields. */
  readonly fields: readonly Field[]
  readonly terms: Sql
  /** Whether these are all fields of the search index. */
  readonly isWhole: boolean
}

/** The row of a sampled table: see `RowAlias`. */
export interface SampledRow {
  /** Its FROM item. */
  from(): Sql
  /** A query as its FROM item. */
  of(query: Sql): Sql
  columns(): Sql
}

export interface SearchRow {
  readonly id: Sql
  readonly lowest: Sql
  readonly index: Sql | undefined
}

/** The search index of a collection, as the first table of a statement. */
export interface SearchIndexSql {
  /** The column with the ids of the rows. */
  readonly id: string
  /** Whether a row of the index matches. `alias`: the alias of the index, if it has one. */
  matches(alias: Sql | undefined, table: string, searched: SearchQuery): Sql
}

/** The parent of a collection's table, in which rules see all rows: see `postgres/row-security/`. */
export function storedTable(collection: string): string {
  return `_all_${collection}`
}

/** The suffixes that FTS5 appends to the search table's name for its own tables (https://sqlite.org/fts5.html). */
const shadow = /_(?:data|idx|content|docsize|config)$/

/** The search table of a collection. Its name differs from those of FTS5's own tables for other collections. */
export function searchTable(collection: string): string {
  return `_search_${collection}${shadow.test(collection) ? '_' : ''}`
}
