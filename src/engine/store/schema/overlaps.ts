/** Finds stored items against a `noOverlap`. */
import type { Model } from '../../../model/model.ts'
import type { GuardedOverlap } from '../../plan/guarded.ts'
import { fieldsOfLimit, limitsOf } from '../../plan/limits.ts'
import { conditionSql, whereClause } from '../sql/condition.ts'
import type { Dialect } from '../sql/dialect.ts'
import { RowAlias } from '../sql/row-alias.ts'
import { compile, empty, name, type Sql, sql } from '../sql/writer.ts'
import { noInputs, parameterValue, type SqlValue } from '../values.ts'
import type { DataCheck, TableChecks } from './data-checks.ts'
import { ident } from './quoted.ts'
import { type Column, overlapText } from './tables.ts'

export type OverlapCheck = Extract<DataCheck, { readonly kind: 'overlap' }>

interface OverlapQuery {
  readonly text: string
  readonly values: readonly SqlValue[]
}

/** The columns that the check reads, each with the one that it was before. */
export function columnsRead(
  model: Model,
  { to }: TableChecks,
  { limit, columns }: OverlapCheck,
): OverlapCheck['columns'] {
  const guarded = limitOf(model, to, limit)
  const names = guarded && new Set(['id', ...fieldsOfLimit(guarded)])
  return columns.filter(([, { name: column }]) => names?.has(column))
}

/**
 * Queries for `invalidRowsIn`: items whose interval does not end after its start, and then items whose interval overlaps with
 * that of the item with the next start: if any two overlap, two neighbours do. `newValueOf`: the new value of a column.
 */
export function overlapQueries(
  model: Model,
  table: TableChecks,
  check: OverlapCheck,
  dialect: Dialect,
  newValueOf: (oldColumn: Column | undefined, newColumn: Column) => string,
): readonly OverlapQuery[] {
  const limit = limitOf(model, table.to, check.limit)
  if (limit === undefined) return []
  const values = columnsRead(model, table, check).map(
    ([oldColumn, newColumn]) => `${newValueOf(oldColumn, newColumn)} AS ${ident(newColumn.name)}`,
  )
  const source: Sql = [`SELECT ${values.join(', ')} FROM ${ident(table.from)}`]
  return [reversedSql, overlappingSql].map(sqlOf => {
    const { text, binds } = compile(sqlOf(limit, source, new RowAlias(dialect, table.to)), dialect.sign)
    return { text, values: binds.map(bind => parameterValue(bind, noInputs)) }
  })
}

function limitOf(model: Model, table: string, text: string): GuardedOverlap | undefined {
  const collection = model.collections.get(table)
  if (collection === undefined) return undefined
  const index = collection.limits.findIndex(limit => limit.kind === 'overlap' && overlapText(limit) === text)
  const limit = limitsOf(model, collection)[index]
  return limit?.kind === 'overlap' ? limit : undefined
}

function countingRows({ per, where }: GuardedOverlap, row: RowAlias): readonly Sql[] {
  return [conditionSql(where, row), ...(per === undefined ? [] : [sql`${row.column(per.name)} IS NOT NULL`])]
}

function reversedSql(limit: GuardedOverlap, source: Sql, row: RowAlias): Sql {
  const isReversed = sql`NOT (${row.column(limit.start.name)} < ${row.column(limit.end.name)})`
  const conditions = whereClause([...countingRows(limit, row), isReversed])
  return sql`SELECT count(*) AS "n", min(${row.column('id')}) AS "id" FROM ${row.of(source)}${conditions}`
}

function overlappingSql(limit: GuardedOverlap, source: Sql, row: RowAlias): Sql {
  const { start, end, per } = limit
  const [id, from, to] = [row.column('id'), row.column(start.name), row.column(end.name)]
  const group = per === undefined ? empty : sql`PARTITION BY ${row.column(per.name)} `
  const window = sql`(${group}ORDER BY ${from}${row.dialect.nulls(false)}, ${id})`
  const neighbours = sql`SELECT ${id} AS "other", ${from} AS "from", lag(${id}) OVER ${window} AS "id", lag(${to}) OVER ${window} AS "to" FROM ${row.of(source)}${whereClause(countingRows(limit, row))}`
  return sql`SELECT count(*) OVER () AS "n", "id", "other" FROM (${neighbours}) AS ${name('pairs')} WHERE "id" IS NOT NULL AND ("to" IS NULL OR "from" IS NULL OR "to" > "from") ORDER BY "id" LIMIT 1`
}
