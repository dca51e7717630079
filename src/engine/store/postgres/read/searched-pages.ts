/**
 * Pages of search results in the order of their ids, with an exact total. Two ways lead to a page. The search index finds
 * all matches, and a sort the first of them: fast if there are few. A walk along the ids finds the first matches: fast if
 * there are many. The statement takes the total, or counts it where it is unknown. It walks past few rows in comparison with
 * the matches, and then uses the index if the page is not full: so it needs no estimate. Its values are hidden from the
 * planner, which therefore plans it once, and not for each execution. See decisions/search.md.
 */
import { implies } from '../../../../base/predicate.ts'
import { isIndexed } from '../../../../model/indexes.ts'
import type { Collection } from '../../../../model/model.ts'
import type { GuardedList } from '../../../plan/guarded.ts'
import type { Condition } from '../../../plan/guarded-conditions.ts'
import { isTrue, whereClause } from '../../sql/condition.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { orderBy } from '../../sql/order-by.ts'
import { postgres } from '../../sql/postgres.ts'
import { conditionsOf, type Slice, slicedSql } from '../../sql/read.ts'
import { RowAlias } from '../../sql/row-alias.ts'
import { partsOf, searchOf, searchSource } from '../../sql/search.ts'
import { isById, objectSql } from '../../sql/select.ts'
import { sortedSql } from '../../sql/sorted.ts'
import { arg, type Conversion, type Operand, type Sql, sql } from '../../sql/writer.ts'

/**
 * The maximum number of rows to walk past. The planner assumes a tenth of the table for a limit that it does not know. With
 * this bound it walks along the index, however large the table is.
 */
const maxWalkedRows = 10_000

/** How many matches the index must find to allow for one row of the walk, which reads its words: long texts take long. */
const matchesPerWalkedRow = 8

/** Like `searchTerms`, for an operand that the planner does not know: see `statementOf`. */
const hiddenTerms: Conversion = { ...postgres.searchTerms, name: 'hidden words' }

/** Whether `searchedPageSql` reads the list's pages: no other index could lead to them. */
export function isSearchedPage(list: GuardedList, { searchIndex }: Dialect): boolean {
  const { collection, rows, within, window } = list
  if (window.kind !== 'page' || window.total !== 'exact' || within !== undefined) return false
  const search = searchOf(rows)
  if (searchIndex === undefined || search === undefined || !isById(list)) return false
  const mayUseIndex = (leaf: Condition) => mayLeadTo(leaf, collection)
  return !partsOf(rows).some(part => part !== search && implies(part, mayUseIndex))
}

/** Whether an index may lead to the rows for which the condition holds. */
function mayLeadTo(condition: Condition, collection: Collection): boolean {
  switch (condition.kind) {
    case 'compare':
    case 'isNull':
    case 'nullness':
      return isIndexed(collection, condition.field.field.name)
    case 'related':
    case 'search':
      return true
    default:
      return false
  }
}

/** The rows of `listSql`, each followed by the list's total. For an empty page one row, whose text is null. */
export function searchedPageSql(list: GuardedList, slice: Slice, limiting: Dialect): Sql {
  const dialect = { ...limiting, secondTable: lookUp }
  const { after, offset, limit, keys } = slice
  const hiddenSlice = { after: after?.map(hidden), offset: offset && hidden(offset), limit, keys }
  const total = sql`SELECT coalesce(${hidden({ from: 'total' })}, (${countSql(list, dialect)})) AS "n"`
  const walk = walkSql(list, hiddenSlice, dialect)
  const page = pageSql(list, hiddenSlice, dialect)
  const rows = sql`WITH _total AS MATERIALIZED (${total}), _walk AS MATERIALIZED (${walk}) SELECT _page.*, _total."n" FROM _total LEFT JOIN (${page}) AS _page ON TRUE`
  const id: Sql = keys ? ['_rows."id", '] : []
  const order = orderBy(list.sort, new RowAlias(dialect, ''), () => ['_rows."id"'])
  // It begins with SELECT, not WITH: see `Statement.changes`.
  return sql`SELECT _rows."text", ${id}_rows."n" FROM (${rows}) AS _rows${order}`
}

/** A whole number that the planner does not know. */
function hidden(value: Operand): Sql {
  return sql`(SELECT ${value}::bigint)`
}

/** Joins by looking up each row. The planner would read the whole table, since it does not know how few rows match. */
function lookUp(table: Sql, alias: Sql, condition: Sql): Sql {
  return sql` CROSS JOIN LATERAL (SELECT * FROM ${table} WHERE ${condition} OFFSET 0) AS ${alias}`
}

function countSql(list: GuardedList, dialect: Dialect): Sql {
  const row = searchedRow(list, dialect)
  const conditions = whereClause(conditionsOf(list, row))
  return sql`SELECT count(*) FROM ${row.from()}${conditions}`
}

/** The ids of the page's rows, if there are enough of them among the next rows of the search index. */
function walkSql(list: GuardedList, slice: Slice, dialect: Dialect): Sql {
  const limit = sql`(SELECT "n" / ${[String(matchesPerWalkedRow)]} FROM _total)`
  const next = nextSql(list, searchedRow(list, dialect), slice.after, [String(maxWalkedRows)])
  const bounded = nextSql(list, searchedRow(list, dialect, next), undefined, limit)
  return idsSql(list, { ...slice, after: undefined }, searchedRow(list, dialect, bounded))
}

/** The next rows of the search index in the order of the list, whether they match or not. */
function nextSql({ collection, sort }: GuardedList, row: RowAlias, after: Slice['after'], limit: Sql): Sql {
  const part = { collection, conditions: [], sort, after, limit, offset: undefined }
  return sortedSql(part, row, ['*'], [])
}

/** The text and the id of each row of the page. */
function pageSql(list: GuardedList, slice: Slice, dialect: Dialect): Sql {
  const found = sql`(SELECT count(*) FROM _walk)`
  const matching = searchedRow(list, dialect)
  // OFFSET 0 keeps the planner from walking.
  const matches = sql`SELECT ${idOf(matching)} FROM ${matching.from()} WHERE ${matching.source?.matches ?? isTrue} AND ${found} < ${slice.limit} OFFSET 0`
  const sorted = idsSql(list, slice, searchedRow(list, dialect, matches, isTrue))
  const ids = sql`SELECT "id" FROM _walk WHERE ${found} = ${slice.limit} UNION ALL (${sorted})`
  const row = searchedRow(list, dialect, ids)
  const columns = sql`${dialect.text(objectSql(list.select, row))} AS "text", ${idOf(row)}`
  return sql`SELECT ${columns} FROM ${row.from()}`
}

function idsSql(list: GuardedList, slice: Slice, row: RowAlias): Sql {
  return slicedSql(list, slice, row, idOf(row), ['id'])
}

function idOf(row: RowAlias): Sql {
  return row.sorted().column('id')
}

/** A row whose source is the search index, or a query in its place. `matches`: the condition that is left to apply. */
function searchedRow(list: GuardedList, dialect: Dialect, query?: Sql, matches?: Sql): RowAlias {
  const row = new RowAlias(dialect, list.collection.name)
  const search = searchOf(list.rows)
  const source =
    search && searchSource(row, search, param => sql`(SELECT ${arg(param, hiddenTerms)}::text[])`)
  if (source === undefined) throw new TypeError('the list is not searched')
  const from = query === undefined ? source.from : sql`(${query}) AS ${source.index}`
  row.source = { ...source, from, matches: matches ?? source.matches }
  return row
}
