/** Limits on the number of items. */
import { ApiError } from '../../../base/errors.ts'
import { wholeEncoding } from '../../../model/fields/integer.ts'
import type { Collection } from '../../../model/model.ts'
import type { GuardedCount } from '../../plan/guarded.ts'
import { conditionSql, isTrue, whereClause } from '../sql/condition.ts'
import { RowAlias } from '../sql/row-alias.ts'
import { name, type Sql, slot, sql } from '../sql/writer.ts'
import type { WriteDatabase } from './database.ts'
import { countingConditions, groupLock, type LimitCheck } from './limited-group.ts'

/**
 * The statements: the first one locks the group, and returns a row if the write's row enters it. The second one returns the
 * number of rows that count in the group, up to one above the limit, and the field that is the limit: see `GuardedBound`.
 */
export function countCheck<S>(
  collection: Collection,
  limit: GuardedCount,
  database: WriteDatabase<S>,
): LimitCheck<S> {
  const { dialect, prepare } = database
  const { per, count } = limit
  const row = new RowAlias(dialect, collection.name)
  const lock = groupLock(collection, per, per && row.column(per.name), database)
  const countedRow = new RowAlias(dialect, collection.name)
  const enteringRow = countedRow.another(collection.name)
  // Evaluated once: where the row does not count, nothing else is read.
  const isEntering = sql`EXISTS (SELECT 1 FROM ${enteringRow.from()}${whereClause(enteringConditions(limit, enteringRow))})`
  const value = sql`(SELECT ${name(per?.name ?? 'id')} FROM ${name(collection.name)} WHERE "id" = ${slot(0)})`
  const bound = typeof count === 'number' ? undefined : boundSql(count, value)
  const conditions = whereClause([
    isEntering,
    ...(per ? [sql`${countedRow.column(per.name)} = ${value}`] : []),
    bound ? sql`${bound} IS NOT NULL` : isTrue,
    conditionSql(limit.where, countedRow),
  ])
  const maxCounted =
    typeof count === 'number'
      ? dialect.limit({ from: 'constant', value: count + 1, as: wholeEncoding })
      : sql`CASE WHEN ${bound ?? []} > 0 THEN ${bound ?? []} ELSE 0 END + 1`
  return {
    concernsAllChanges: false,
    statements: [
      prepare(sql`SELECT ${lock} FROM ${row.from()}${whereClause(enteringConditions(limit, row))}`),
      prepare(
        sql`SELECT count(*), ${bound ?? sql`NULL`} FROM (SELECT 1 FROM ${countedRow.from()}${conditions} LIMIT ${maxCounted}) AS "counted"`,
      ),
    ],
    // biome-ignore lint/correctness/useYield: nothing further is asked.
    *require([enteredRows, countRows]) {
      if (enteredRows?.length === 0) return
      const [counted, fieldValue = null] = countRows?.[0] ?? []
      const max = typeof count === 'number' ? count : fieldValue
      if (max !== null && Number(counted) > Number(max)) throw new ApiError('CONFLICT', limit.refusal)
    },
  }
}

/** The field that holds the limit. `id`: of its item. */
function boundSql({ collection, field }: Exclude<GuardedCount['count'], number>, id: Sql): Sql {
  return sql`(SELECT ${name(field.name)} FROM ${name(collection.name)} WHERE "id" = ${id})`
}

/** Whether the row of the first slot counts, and did not in the group of the second. */
function enteringConditions(limit: GuardedCount, row: RowAlias): readonly Sql[] {
  const { per } = limit
  const counts = countingConditions(limit, row)
  if (per === undefined) return counts
  return [...counts, sql`NOT (${row.dialect.same(row.column(per.name), [slot(1)], per)})`]
}
