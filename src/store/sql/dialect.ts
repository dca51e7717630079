/** What differs between databases in the SQL of reads and writes. */
import type { Cell, Encoding } from '../../model/fields/encoding.ts'
import type { FieldType } from '../../model/fields/field-type.ts'
import type { Field } from '../../model/model.ts'
import type { Bind, Conversion, Sql } from './writer.ts'

/** A field, or what is written like one. */
interface Encoded {
  readonly type: Pick<FieldType, 'encoding'>
}

export interface Dialect {
  /** Of numbered placeholders. */
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
  /** A text that the plan names, as a JSON expression. */
  constant(text: string): Sql
  /** An aggregate: how many rows there are, as a JSON expression. */
  readonly count: Sql
  /** An aggregate: the sum of a field's column in double precision; null where there is none within it. */
  exactSum(column: Sql, field: Field): Sql
  /** An aggregate: the least or the greatest value of a field's column. */
  extreme(which: 'min' | 'max', column: Sql, field: Field): Sql
  /** The value of a field's column from the JSON text of an event. */
  logged(event: Bind, field: Field): Sql
  /** A JSON expression as the text that is sent. */
  text(json: Sql): Sql
  isIn(column: Sql, list: Bind): Sql
  /** What `isIn` takes for a list. */
  list(items: readonly (Cell | null)[]): string
  /** What `search` and `searchedIn` take for the text that is searched for. */
  readonly searchTerms: Conversion
  /** How many rows there are at most. */
  limit(rows: Bind): Sql
  /**
   * `windows` with the rows of `row`'s table in each, found by their ids alone, as FROM and the condition that goes
   * with it. `range`: a condition on the row's id.
   */
  sampled(windows: Sql, row: SampledRow, range: Sql): { readonly from: Sql; readonly condition: Sql }
  /** Whether the outputs of rows that OFFSET skips are made too. */
  readonly makesSkipped: boolean
  /**
   * Whether a sorted union reads each of its parts along an index only where the part has an order and a limit of its own.
   * Elsewhere, the database gives the parts the order of the union, and reads them as far as its limit asks.
   */
  readonly limitsParts: boolean
  /** Whether an index leads to the rows beyond a position by a comparison of rows, and not by its first value alone. */
  readonly comparesRows: boolean
  contains(column: Sql, part: Sql): Sql
  /** That the text matches a pattern made by `caselessPattern`. */
  matches(column: Sql, pattern: Bind): Sql
  /** A text as the pattern of those that contain it in any letter case. */
  readonly caselessPattern: Conversion
  /** The column's value, for a comparison that no index is looked up for. */
  withoutIndex(column: Sql): Sql
  /** The value as one of this encoding. */
  cast(value: Sql, encoding: Encoding): Sql
  /** A number of double precision, to 15 significant digits: what databases add in another order differs beyond. */
  rounded(value: Sql): Sql
  /** The day of the week, 1 (Monday) to 7, of a day as `YYYY-MM-DD`. */
  weekday(day: Sql): Sql
  /** Null-safe equality of values of a field. */
  same(left: Sql, right: Sql, field: Field): Sql
  /** Whether an index leads to what is the `same` as a value that may be null. */
  readonly seeksNull: boolean
  /** The time of the request, shifted, as a field of the encoding holds it. Stable within a statement, so that indexes serve it. */
  now(shiftMs: number, as: Encoding): Sql
  /** The truth of a member of a JSON text. */
  jsonTruth(text: Sql, member: string): Sql
  /** The text of a member of a JSON text. */
  jsonText(text: Sql, member: string): Sql
  /** What follows a sort key so that null is the smallest value. */
  nulls(descending: boolean): Sql
  /** What a collection's rows are read from as they are stored, whatever the caller may read. */
  stored(collection: string): string
  /**
   * A condition that every row fulfils, over its id. It ends a statement that takes too long on the event loop.
   * Undefined where no statement runs there.
   */
  readonly budgetCheck?: ((id: Sql) => Sql) | undefined
  /** A query for the ids of the rows of `table` that are searched for. */
  search(table: string, searched: Searched): Sql
  /**
   * That all the words occur in one field of the row that has this id, which is at least `lowest`. `index`: the alias
   * of the row's search index, where the statement reads it.
   */
  searchedIn(table: string, field: Field, words: Bind, row: SearchedRow): Sql
  /** A join whose first table is read first, in its order, where the database does not know better. */
  readonly leading: Sql
  /** Undefined where policies lock the rows: an index of words is of no use to a statement that they restrain. */
  readonly searchIndex: SearchIndexSql | undefined
}

export interface Searched {
  /** All the words occur in these: one word in one, another in another. */
  readonly fields: readonly Field[]
  readonly words: Bind
  /** Whether the fields are all that the index has. */
  readonly isWhole: boolean
}

/** A row of which samples are taken: see `Row`. */
export interface SampledRow {
  /** What it is read from. */
  from(): Sql
  /** It read from a query instead. */
  of(query: Sql): Sql
  columns(): Sql
}

export interface SearchedRow {
  readonly id: Sql
  readonly lowest: Sql
  readonly index: Sql | undefined
}

/** The search index of a collection as a table that statements begin with. */
export interface SearchIndexSql {
  /** Its column that holds the ids of rows. */
  readonly id: string
  /** That a row of the index, which the statement may call `alias`, is searched for. */
  matches(alias: Sql | undefined, table: string, searched: Searched): Sql
}

/** The parent of a collection's table, which shows all its rows to rules: see `schema/row-security.ts`. */
export function storedTable(collection: string): string {
  return `_all_${collection}`
}

/** The ends of the names of FTS5's own tables, which begin with that of the search table (https://sqlite.org/fts5.html). */
const shadow = /_(?:data|idx|content|docsize|config)$/

/** The table that holds the search words of a collection, and is none of those that hold another's. */
export function searchTable(collection: string): string {
  return `_search_${collection}${shadow.test(collection) ? '_' : ''}`
}
