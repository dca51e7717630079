/** The rows of a sorted list, from a position on. */
import { isIndexed } from '../../../model/indexes.ts'
import type { Collection } from '../../../model/model.ts'
import type { GuardedSort } from '../../plan/guarded-conditions.ts'
import { visibleSql, whereClause } from './condition.ts'
import { afterPosition } from './keyset.ts'
import { orderBy } from './order-by.ts'
import type { RowAlias } from './row-alias.ts'
import { join, type Operand, type Sql, sql } from './writer.ts'

export interface SortedRows {
  readonly collection: Collection
  readonly conditions: readonly Sql[]
  readonly sort: readonly GuardedSort[]
  /** One value per sort key. */
  readonly after: readonly Operand[] | undefined
  /** The maximum number of rows. */
  readonly limit: Sql
  /** The number of rows to skip. */
  readonly offset: Operand | undefined
}

/** Selects `columns` of `row`, followed by sort keys if a union needs them. `names`: the names of the columns, in order. */
export function sortedSql(rows: SortedRows, row: RowAlias, columns: Sql, names: readonly string[]): Sql {
  const { collection, conditions, sort } = rows
  const [first] = sort
  const divided = first !== undefined && isIndexed(collection, first.field.field.name)
  const ranges = rows.after === undefined ? [] : afterPosition(sort, rows.after, row.sorted(), divided)
  if (ranges.length > 1) return unionSql(rows, ranges, row, columns, names)
  const conditionsSql = whereClause([...conditions, ...ranges])
  return sql`SELECT ${columns} FROM ${row.from()}${conditionsSql}${orderByFields(sort, row.sorted())}${limitSql(rows)}`
}

/** Each range is read along an index. */
function unionSql(
  rows: SortedRows,
  ranges: readonly Sql[],
  row: RowAlias,
  columns: Sql,
  names: readonly string[],
): Sql {
  const { conditions, sort, limit, offset } = rows
  const keys = sort.map(({ field }) => field.field.name).filter(name => !names.includes(name))
  const selected = join([columns, ...keys.map(key => row.column(key))], ', ')
  const parts = ranges.map(
    range => sql`SELECT ${selected} FROM ${row.from()}${whereClause([...conditions, range])}`,
  )
  const orderAndLimit = sql`${orderByColumns(sort, [...names, ...keys], row)}${limitSql(rows)}`
  if (!row.dialect.limitsParts) return sql`${join(parts, ' UNION ALL ')}${orderAndLimit}`
  const totalLimit = offset === undefined ? limit : sql`${limit} + CAST(${offset} AS bigint)`
  const limited = parts.map(part => sql`(${part}${orderByFields(sort, row)} LIMIT ${totalLimit})`)
  return sql`${join(limited, ' UNION ALL ')}${orderAndLimit}`
}

function limitSql({ limit, offset }: SortedRows): Sql {
  return sql` LIMIT ${limit}${offset === undefined ? [] : sql` OFFSET ${offset}`}`
}

/** ` ORDER BY …`, null being the smallest value. */
function orderByFields(sort: readonly GuardedSort[], row: RowAlias): Sql {
  return orderBy(sort, row, ({ field }) => visibleSql(field, row))
}

/** The same for a union, which is ordered by column numbers. */
function orderByColumns(sort: readonly GuardedSort[], names: readonly string[], row: RowAlias): Sql {
  return orderBy(sort, row, ({ field }) => [String(names.indexOf(field.field.name) + 1)])
}
