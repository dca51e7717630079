/** The statements of reads. */
import type { Index } from '../../../model/model.ts'
import { isColumn } from '../../plan/condition.ts'
import type { GuardedItem, GuardedList } from '../../plan/guarded.ts'
import type { Condition } from '../../plan/guarded-conditions.ts'
import {
  budgetCheck,
  conditionSql,
  isReachable,
  type RelatedForm,
  visibleSql,
  whereClause,
} from './condition.ts'
import type { Dialect } from './dialect.ts'
import { excludedFromIndexes } from './index-exclusion.ts'
import { RowAlias } from './row-alias.ts'
import {
  isRanked,
  type RankedPart,
  readRankingFirst,
  readSearchIndexFirst,
  type SearchedList,
} from './search.ts'
import { isById, objectSql } from './select.ts'
import { sortedSql } from './sorted.ts'
import { arg, join, type Operand, type Sql, sql } from './writer.ts'

/** One column: the item's text. */
export function itemSql({ collection, id, rows, select }: GuardedItem, dialect: Dialect): Sql {
  const row = new RowAlias(dialect, collection.name)
  const text = dialect.text(objectSql(select, row))
  const conditions = [sql`${row.column('id')} = ${arg(id)}`, conditionSql(rows, row)]
  return sql`SELECT ${text} FROM ${row.from()}${whereClause(conditions)}`
}

/** Which rows of a list are requested: from a position or an offset, up to a limit. */
export interface Slice {
  readonly after: readonly Operand[] | undefined
  readonly limit: Sql
  readonly offset: Operand | undefined
  /** Whether the sort keys are selected after the item's text, one column each. */
  readonly keys: boolean
  /** The form of conditions on related rows; by default `exists`. */
  readonly related?: RelatedForm
}

/** One row per item: its text, then its sort keys where the slice requests them. */
export function listSql(list: GuardedList, slice: Slice, dialect: Dialect): Sql {
  const skips = slice.offset !== undefined && dialect.computesSkippedRows
  const isFlat = isById(list) && !skips
  const row = isFlat ? rowOf(list, slice, dialect) : new RowAlias(dialect, list.collection.name)
  const text = dialect.text(objectSql(list.select, row))
  const columns = join([text, ...(slice.keys ? keysSql(list, row) : [])], ', ')
  if (isFlat) return slicedSql(list, slice, row, columns, [])
  // The inner query would build the texts for every row that it sorts.
  const inner = rowOf(list, slice, dialect)
  const sliced = slicedSql(list, slice, inner, inner.columns(row), row.usedColumns())
  return sql`SELECT ${columns} FROM ${row.of(sliced)}`
}

/** Only the sort keys, one column each: to find a position. */
export function positionSql(list: GuardedList, slice: Slice, dialect: Dialect): Sql {
  const row = rowOf(list, slice, dialect)
  const names = list.sort.map(({ field }) => field.field.name)
  return slicedSql(list, slice, row, join(keysSql(list, row), ', '), names)
}

/** One column: how many rows there are. */
export function countSql(list: GuardedList, dialect: Dialect, form?: RelatedForm): Sql {
  const row = new RowAlias(dialect, list.collection.name)
  readSearchIndexFirst(row, searchedList(list))
  const conditions = whereClause(conditionsOf(list, row, form))
  return sql`SELECT count(*) FROM ${row.from()}${conditions}`
}

/**
 * The rows of `listSql` that are among the first `walkedRows` rows of the unfiltered list. If it returns fewer rows than
 * requested, more may still follow.
 */
export function walkSql(list: GuardedList, slice: Slice, walkedRows: number, dialect: Dialect): Sql {
  const row = new RowAlias(dialect, list.collection.name)
  const text = dialect.text(objectSql(list.select, row))
  const columns = join([text, ...(slice.keys ? keysSql(list, row) : [])], ', ')
  const conditions = whereClause([conditionSql(list.rows, row, false, 'check')])
  const inner = new RowAlias(dialect, list.collection.name)
  const rows = sortedSql(
    {
      collection: list.collection,
      conditions: insideOf(list, inner),
      sort: list.sort,
      after: slice.after,
      limit: [String(walkedRows)],
      offset: undefined,
    },
    inner,
    row.columns(),
    row.usedColumns(),
  )
  const offset = slice.offset === undefined ? [] : sql` OFFSET ${slice.offset}`
  return sql`SELECT ${columns} FROM ${row.of(rows)}${conditions} LIMIT ${slice.limit}${offset}`
}

/** One row if the parent exists and is visible. */
export function parentSql(within: NonNullable<GuardedList['within']>, dialect: Dialect): Sql {
  const row = new RowAlias(dialect, within.collection.name)
  const conditions = [sql`${row.column('id')} = ${arg(within.id)}`, conditionSql(within.rows, row)]
  return sql`SELECT 1 FROM ${row.from()}${whereClause(conditions)}`
}

/** A row of the list, whose source is the search if that provides the list's order. */
function rowOf(list: GuardedList, slice: Slice, dialect: Dialect): RowAlias {
  const row = new RowAlias(dialect, list.collection.name)
  if (isById(list)) readSearchIndexFirst(row, searchedList(list))
  if (isRanked(list.sort)) readRankingFirst(row, searchedList(list), rankedPart(list, slice))
  return row
}

function searchedList({ collection, rows, within }: GuardedList): SearchedList {
  return { collection, rows, isWhole: within === undefined }
}

function rankedPart(list: GuardedList, { after, limit, offset }: Slice): RankedPart {
  const matching = (row: RowAlias) => conditionsOf(list, row)
  const totalLimit = offset === undefined ? limit : sql`${limit} + CAST(${offset} AS bigint)`
  return { sort: list.sort, matching, after, limit: totalLimit }
}

function keysSql({ sort }: GuardedList, row: RowAlias): Sql[] {
  return sort.map(({ field }) => visibleSql(field, row.sorted()))
}

/** The slice's rows of `row`. `names`: the names of the columns, in order. */
export function slicedSql(
  list: GuardedList,
  slice: Slice,
  row: RowAlias,
  columns: Sql,
  names: readonly string[],
): Sql {
  const { collection, sort } = list
  const { after, limit, offset, related } = slice
  row.excludedFromIndexes = excludedFromIndexes(list.rows, collection, sort)
  const conditions = conditionsOf(list, row, related)
  if (related === 'set') conditions.push(...indexHint(list, row))
  const rows = { collection, conditions, sort, after, limit, offset }
  return sortedSql(rows, row, columns, names)
}

/**
 * A condition that is always true. SQLite assumes that it excludes most rows, and therefore chooses the index on the
 * relation and the first sort key, in which it can stop early. Otherwise it would use the index on the relation alone and
 * sort all rows that it finds.
 */
function indexHint({ collection, rows, sort: [first] }: GuardedList, row: RowAlias): Sql[] {
  if (first === undefined || first.field.field.optional || !isColumn(first.field)) return []
  const key = first.field.field
  const links = (rows.kind === 'and' ? rows.parts : [rows]).flatMap(linkOf)
  const isIndexed = ({ keys }: Index) => links.includes(keys[0]?.field ?? '') && keys[1]?.field === key.name
  const hasIndex = key.name === 'created_at' || collection.indexes.some(isIndexed)
  if (links.length === 0 || !hasIndex) return []
  return [sql`${row.column(key.name)} >= ${[key.type.encoding.sqlite.least]}`]
}

function linkOf(condition: Condition): readonly string[] {
  if (condition.kind !== 'related' || condition.path.relation.kind !== 'one') return []
  return [condition.path.relation.field]
}

export function conditionsOf(
  list: Pick<GuardedList, 'rows' | 'within'>,
  row: RowAlias,
  form?: RelatedForm,
): Sql[] {
  return [budgetCheck(row), ...insideOf(list, row), conditionSql(list.rows, row, false, form)]
}

/** The condition that the row belongs to the parent, if there is one. */
function insideOf({ within }: Pick<GuardedList, 'within'>, row: RowAlias): Sql[] {
  return within === undefined ? [] : [isReachable(within.path, row, [arg(within.id)])]
}
