/** The statements of reads. */
import type { GuardedItem, GuardedList } from '../../plan/guarded.ts'
import { conditionSql, paced, reached, visible, where } from './condition.ts'
import type { Dialect } from './dialect.ts'
import { after } from './keyset.ts'
import { Row } from './row.ts'
import { objectSql, orderBy } from './select.ts'
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
  const row = new Row(dialect, list.collection.name)
  const text = dialect.text(objectSql(list.select, row))
  const columns = join([text, ...(slice.keys ? keysSql(list, row) : [])], ', ')
  const skips = slice.offset !== undefined && dialect.makesSkipped
  if (isById(list) && !skips) return sql`SELECT ${columns} FROM ${row.from()}${slicedSql(list, slice, row)}`
  // Were the texts made in the inner query, they would be made for every row that is sorted.
  const inner = new Row(dialect, list.collection.name)
  const sliced = slicedSql(list, slice, inner)
  return sql`SELECT ${columns} FROM ${row.of(sql`SELECT ${row.columns()} FROM ${row.from()}${sliced}`)}`
}

/** Whether the rows come in the order of their ids, which needs no sorting. */
export function isById({ sort }: GuardedList): boolean {
  return sort.length === 1 && sort[0]?.field.field.name === 'id'
}

/** Only the sort keys, one column each: to find a position. */
export function positionSql(list: GuardedList, slice: Slice, dialect: Dialect): Sql {
  const row = new Row(dialect, list.collection.name)
  return sql`SELECT ${join(keysSql(list, row), ', ')} FROM ${row.from()}${slicedSql(list, slice, row)}`
}

/** One column: how many rows there are. */
export function countSql(list: GuardedList, dialect: Dialect): Sql {
  const row = new Row(dialect, list.collection.name)
  return sql`SELECT count(*) FROM ${row.from()}${where(conditionsOf(list, row))}`
}

/** A row when the parent is there and visible. */
export function parentSql(within: NonNullable<GuardedList['within']>, dialect: Dialect): Sql {
  const row = new Row(dialect, within.collection.name)
  const conditions = [sql`${row.column('id')} = ${arg(within.id, 'number')}`, conditionSql(within.rows, row)]
  return sql`SELECT 1 FROM ${row.from()}${where(conditions)}`
}

function keysSql({ sort }: GuardedList, row: Row): Sql[] {
  return sort.map(({ field }) => visible(field, row))
}

function slicedSql(list: GuardedList, slice: Slice, row: Row): Sql {
  const position = slice.after === undefined ? [] : [after(list.sort, slice.after, row)]
  const conditions = where([...conditionsOf(list, row), ...position])
  const offset = slice.offset === undefined ? [] : sql` OFFSET ${slice.offset}`
  return sql`${conditions}${orderBy(list.sort, row)} LIMIT ${slice.limit}${offset}`
}

function conditionsOf({ within, rows }: GuardedList, row: Row): Sql[] {
  const inside = within === undefined ? [] : [reached(within.path, row, [arg(within.id, 'number')])]
  return [paced(row), ...inside, conditionSql(rows, row)]
}
