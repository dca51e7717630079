/** Lists of search results: read from the search index first if that costs least, and ranked. */
import type { Collection } from '../../../model/model.ts'
import type { Condition, ConditionOfKind, GuardedSort } from '../../plan/guarded-conditions.ts'
import type { Param } from '../../plan/plan.ts'
import { fieldWeight, isByRank, maxRankedItems, rankKey, shortestLength, unranked } from '../../plan/rank.ts'
import { isTrue, whereClause } from './condition.ts'
import { searchTable } from './dialect.ts'
import { afterPosition } from './keyset.ts'
import { RowAlias, type RowSource } from './row-alias.ts'
import { arg, join, name, type Operand, type Sql, sql } from './writer.ts'

/** The rows of a list or of a count. */
export interface SearchedList {
  readonly collection: Collection
  readonly rows: Condition
  /** Whether the whole collection is searched, and not only the items of a parent. */
  readonly isWhole: boolean
}

/** The requested part of a list. */
export interface RankedPart {
  readonly sort: readonly GuardedSort[]
  /** All conditions of the list over a row. */
  readonly matching: (row: RowAlias) => readonly Sql[]
  readonly after: readonly Operand[] | undefined
  /** The number of rows, including skipped ones. */
  readonly limit: Sql
}

/** Whether a list is sorted by rank. */
export function isRanked(sort: readonly GuardedSort[]): boolean {
  return isByRank(sort.map(({ field, descending }) => ({ field: field.field.name, descending })))
}

/** The search condition of the rows; undefined if there is none, or nothing can match. */
export function searchOf(rows: Condition): ConditionOfKind<'search'> | undefined {
  return partsOf(rows).find(part => part.kind === 'search')
}

/** The conditions that all rows fulfil. */
export function partsOf(condition: Condition): readonly Condition[] {
  return condition.kind === 'and' ? condition.parts : [condition]
}

/**
 * Makes the search index the source of `row`: a list by id stops at its page, and a count without further conditions reads
 * only the index. Does nothing if another index yields few rows.
 */
export function readSearchIndexFirst(row: RowAlias, { rows, isWhole }: SearchedList): void {
  const search = searchOf(rows)
  if (!isWhole || search === undefined || partsOf(rows).some(matchesFew)) return
  row.source = searchSource(row, search, param => [arg(param, row.dialect.searchTerms)])
}

interface SearchSource extends RowSource {
  readonly index: Sql
}

/** The search index as the source of `row`; undefined if it cannot be. `terms`: the operand for the search terms. */
export function searchSource(
  { alias: target, dialect, table }: RowAlias,
  search: ConditionOfKind<'search'>,
  terms: (param: Param) => Sql,
): SearchSource | undefined {
  const { searchIndex } = dialect
  if (searchIndex === undefined) return
  const alias = name(`${target}_s`)
  return {
    from: sql`${name(searchTable(table))} AS ${alias}`,
    keys: new Map([['id', sql`${alias}.${name(searchIndex.id)}`]]),
    index: alias,
    search,
    matches: searchIndex.matches(alias, table, { ...search, terms: terms(search.param) }),
  }
}

function matchesFew(condition: Condition): boolean {
  if (condition.kind !== 'compare' || condition.operator !== 'eq') return false
  const { unique, reference } = condition.field.field
  return unique || reference !== undefined
}

/**
 * Makes a ranking query the source of `row`: see `rank.ts`. The query ranks and sorts the ids of the newest matches; older
 * matches follow in descending order of their ids.
 */
export function readRankingFirst(row: RowAlias, list: SearchedList, part: RankedPart): void {
  const search = searchOf(list.rows)
  const alias = name(`${row.alias}_r`)
  const query = search === undefined ? emptyRanking(row) : rankedSql(row, search, list, part)
  row.source = {
    from: sql`(${query}) AS ${alias}`,
    keys: new Map(['id', rankKey].map(key => [key, sql`${alias}.${name(key)}`] as const)),
    index: undefined,
    search,
    matches: isTrue,
  }
}

/** For a condition that is never true. */
function emptyRanking(row: RowAlias): Sql {
  const target = row.another(row.table)
  return sql`SELECT ${target.column('id')}, ${asBigint(['0'])} AS ${name(rankKey)} FROM ${target.from()} WHERE FALSE`
}

function rankedSql(
  row: RowAlias,
  search: ConditionOfKind<'search'>,
  list: SearchedList,
  { sort, matching, after: position, limit }: RankedPart,
): Sql {
  const lowest = name(`${row.alias}_l`)
  const from = sql`(SELECT "id" FROM ${lowest})`
  const union = new RowAlias(row.dialect, '', `${row.alias}_u`)
  const query = (
    columns: (target: RowAlias) => Sql,
    more: (id: Sql) => readonly Sql[],
    end: (id: Sql) => Sql,
  ) => {
    const target = row.another(row.table)
    readSearchIndexFirst(target, list)
    const id = target.sorted().column('id')
    const columnList = columns(target)
    const conditions = whereClause([...matching(target), ...more(id)])
    return sql`SELECT ${columnList} FROM ${target.from()}${conditions}${end(id)}`
  }
  const keys = (rank: Sql) => (target: RowAlias) =>
    sql`${target.sorted().column('id')} AS "id", ${asBigint(rank)} AS ${name(rankKey)}`
  const newest = query(
    target => target.sorted().column('id'),
    () => [],
    id => sql` ORDER BY ${id} DESC LIMIT 1 OFFSET ${[String(maxRankedItems - 1)]}`,
  )
  const ranked = query(
    target => keys(rankSql(target, search, from))(target),
    id => [sql`${id} >= ${from}`],
    () => [],
  )
  const others = query(
    keys([String(unranked)]),
    id => [
      sql`${from} > 0`,
      sql`${id} < ${from}`,
      ...(position === undefined
        ? []
        : [
            sql`(${asBigint([String(unranked)])}, ${id}) < (${join(
              position.map(value => sql`${value}`),
              ', ',
            )})`,
          ]),
    ],
    id => sql` ORDER BY ${id} DESC LIMIT ${limit}`,
  )
  const begin = position === undefined ? [] : afterPosition(sort, position, union, false)
  const order = sql`${union.column(rankKey)} DESC, ${union.column('id')} DESC`
  return sql`WITH ${lowest} AS MATERIALIZED (SELECT coalesce((${newest}), 0) AS "id") SELECT ${union.column('id')}, ${union.column(rankKey)} FROM ${union.of(sql`${ranked} UNION ALL SELECT * FROM (${others}) AS "others"`)}${whereClause(begin)} ORDER BY ${order} LIMIT ${limit}`
}

/** The sum over the fields in which all the terms occur. */
function rankSql(row: RowAlias, { fields, param }: ConditionOfKind<'search'>, lowest: Sql): Sql {
  const terms = arg(param, row.dialect.searchTerms)
  const ranks = fields.map(field => {
    const rank = sql`${[String(fieldWeight)]} / (${[String(shortestLength)]} + octet_length(${row.column(field.name)}))`
    if (fields.length === 1) return rank
    const id = row.sorted().column('id')
    const matchesField = row.dialect.fieldMatches(row.table, field, terms, {
      id,
      lowest,
      index: row.source?.index,
    })
    return sql`CASE WHEN ${matchesField} THEN ${rank} ELSE 0 END`
  })
  return join(ranks, ' + ')
}

function asBigint(value: Sql): Sql {
  return sql`CAST(${value} AS bigint)`
}
