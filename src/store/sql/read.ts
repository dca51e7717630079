/** The statements of reads. */
import type { GuardedItem, GuardedList } from '../../plan/guarded.ts'
import { conditionSql, reached, visible, where } from './condition.ts'
import type { Dialect } from './dialect.ts'
import { after } from './keyset.ts'
import { Row } from './row.ts'
import { type Found, isRanked, type RankedPart, rankedFirst, searchedFirst } from './search.ts'
import { isById, objectSql, orderBy } from './select.ts'
import { arg, type Bind, join, type Sql, sql } from './writer.ts'

/** One column: the item's text. */
export function itemSql({ collection, id, rows, select }: GuardedItem, dialect: Dialect): Sql {
  const row = new Row(dialect, collection.name)
  const text = dialect.text(objectSql(select, row))
  const conditions = [sql`${row.column('id')} = ${arg(id, 'number')}`, conditionSql(rows, row)]
  return sql`SELECT ${text} FROM ${row.from()}${where(conditions)}`
}

/** Which rows of a list are asked for: those after a position, by number. */
export interface Slice {
  readonly after: readonly Bind[] | undefined
  readonly limit: Sql
  readonly offset: Bind | undefined
  /** Whether the sort keys follow the item's text, one column each. */
  readonly keys: boolean
}

/** One line per item: its text, then its sort keys where the slice asks for them. */
export function listSql(list: GuardedList, slice: Slice, dialect: Dialect): Sql {
  const skips = slice.offset !== undefined && dialect.makesSkipped
  const isFlat = isById(list) && !skips
  const row = isFlat ? rowOf(list, slice, dialect) : new Row(dialect, list.collection.name)
  const text = dialect.text(objectSql(list.select, row))
  const columns = join([text, ...(slice.keys ? keysSql(list, row) : [])], ', ')
  if (isFlat) {
    const sliced = slicedSql(list, slice, row)
    return sql`SELECT ${columns} FROM ${row.from()}${sliced}`
  }
  // Were the texts made in the inner query, they would be made for every row that is sorted.
  const inner = rowOf(list, slice, dialect)
  const sliced = slicedSql(list, slice, inner)
  return sql`SELECT ${columns} FROM ${row.of(sql`SELECT ${inner.columns(row)} FROM ${inner.from()}${sliced}`)}`
}

/** Only the sort keys, one column each: to find a position. */
export function positionSql(list: GuardedList, slice: Slice, dialect: Dialect): Sql {
  const row = rowOf(list, slice, dialect)
  const keys = join(keysSql(list, row), ', ')
  const sliced = slicedSql(list, slice, row)
  return sql`SELECT ${keys} FROM ${row.from()}${sliced}`
}

/** One column: how many rows there are. */
export function countSql(list: GuardedList, dialect: Dialect): Sql {
  const row = new Row(dialect, list.collection.name)
  searchedFirst(row, foundBy(list))
  const conditions = where(conditionsOf(list, row))
  return sql`SELECT count(*) FROM ${row.from()}${conditions}`
}

/** A row when the parent is there and visible. */
export function parentSql(within: NonNullable<GuardedList['within']>, dialect: Dialect): Sql {
  const row = new Row(dialect, within.collection.name)
  const conditions = [sql`${row.column('id')} = ${arg(within.id, 'number')}`, conditionSql(within.rows, row)]
  return sql`SELECT 1 FROM ${row.from()}${where(conditions)}`
}

/** A row of the list, found by the search where that gives the list's order. */
function rowOf(list: GuardedList, slice: Slice, dialect: Dialect): Row {
  const row = new Row(dialect, list.collection.name)
  if (isById(list)) searchedFirst(row, foundBy(list))
  if (isRanked(list.sort)) rankedFirst(row, foundBy(list), rankedPart(list, slice))
  return row
}

function foundBy({ collection, rows, within }: GuardedList): Found {
  return { collection, rows, isWhole: within === undefined }
}

function rankedPart(list: GuardedList, { after, limit, offset }: Slice): RankedPart {
  const matching = (row: Row) => conditionsOf(list, row)
  const bounded = offset === undefined ? limit : sql`${limit} + CAST(${offset} AS bigint)`
  return { sort: list.sort, matching, after, limit: bounded }
}

function keysSql({ sort }: GuardedList, row: Row): Sql[] {
  return sort.map(({ field }) => visible(field, row.sorted()))
}

function slicedSql(list: GuardedList, slice: Slice, row: Row): Sql {
  const position = slice.after === undefined ? [] : [after(list.sort, slice.after, row.sorted())]
  const conditions = where([...conditionsOf(list, row), ...position])
  const offset = slice.offset === undefined ? [] : sql` OFFSET ${slice.offset}`
  return sql`${conditions}${orderBy(list.sort, row.sorted())} LIMIT ${slice.limit}${offset}`
}

function conditionsOf({ within, rows }: GuardedList, row: Row): Sql[] {
  const inside = within === undefined ? [] : [reached(within.path, row, [arg(within.id, 'number')])]
  return [...inside, conditionSql(rows, row)]
}
