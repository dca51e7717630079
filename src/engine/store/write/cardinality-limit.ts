/** Limits on the number of items, of a collection or for each value of a field: checked after a write has changed its row. */
import { ApiError } from '../../../base/errors.ts'
import { compareCodeUnits } from '../../../base/unicode.ts'
import { wholeEncoding } from '../../../model/fields/integer.ts'
import type { Collection } from '../../../model/model.ts'
import type { GuardedLimit } from '../../plan/guarded.ts'
import { conditionSql, isTrue, whereClause } from '../sql/condition.ts'
import { RowAlias } from '../sql/row-alias.ts'
import { name, type Sql, slot, sql, textLiteral } from '../sql/writer.ts'
import { type ResultRows, type SqlValue, slotInputs } from '../values.ts'
import type { WriteDatabase } from './database.ts'
import type { QuerySteps, StepQueries } from './steps.ts'

export interface CardinalityLimits<S> {
  /** Outputs of the stored row, before a write: for each limit the group in which the row counts, or null. */
  groups(row: RowAlias): readonly Sql[]
  /**
   * Throws CONFLICT if the write made the row with this id count, and the limit is exceeded. `before`: its `groups`; omitted
   * for a new row.
   */
  require(id: number, before?: readonly (SqlValue | undefined)[]): QuerySteps<S, void>
}

interface LimitStatements<S> {
  readonly limit: GuardedLimit
  /** Locks the row whose field is the limit. Undefined: the limit is constant. */
  readonly keepBound: S | undefined
  /** Returns a row if the row with this id counts, and did not in the group of the second slot. Locks the group. */
  readonly enter: S
  /** The number of rows that count in its group, up to one above the limit; and the field that holds the limit. */
  readonly count: S
}

/**
 * The lock is held until the commit: of two transactions that add to a group, the second counts the rows of the first, since
 * each statement sees all commits before its own start
 * (https://www.postgresql.org/docs/15/transaction-iso.html, 13.2.1). Undefined if nothing is limited.
 */
export function cardinalityLimits<S>(
  collection: Collection,
  limits: readonly GuardedLimit[],
  database: WriteDatabase<S>,
): CardinalityLimits<S> | undefined {
  if (limits.length === 0) return undefined
  const all = inLockOrder(limits).map(limit => statementsOf(collection, limit, database))
  return {
    groups: row => all.map(({ limit }) => groupSql(limit, row)),
    *require(id, before = []) {
      const entering = all.filter(({ limit }, index) => limit.per !== undefined || isNull(before[index]))
      const queries: StepQueries<S> = entering.flatMap<StepQueries<S>[number]>(statements => {
        const inputs = slotInputs([id, before[all.indexOf(statements)] ?? null])
        const { keepBound, enter, count } = statements
        // A transaction that has changed the row, which this one then waits for, may add to the group next.
        return [
          keepBound && { statement: keepBound, inputs },
          { statement: enter, inputs },
          { statement: count, inputs },
        ]
      })
      if (queries.length > 0) requireWithinLimits(entering, yield queries)
    },
  }
}

function isNull(value: SqlValue | undefined): boolean {
  return value === undefined || value === null
}

function requireWithinLimits<S>(
  entering: readonly LimitStatements<S>[],
  answers: readonly ResultRows[],
): void {
  for (const [index, { limit }] of entering.entries()) {
    const [enteredRows, countRows] = answers.slice(3 * index + 1)
    if (enteredRows?.length === 0) continue
    const [count, bound = null] = countRows?.[0] ?? []
    const most = typeof limit.count === 'number' ? limit.count : bound
    if (most !== null && Number(count) > Number(most)) throw new ApiError('CONFLICT', limit.refusal)
  }
}

/** All transactions lock the groups of one row in the same order. */
function inLockOrder(limits: readonly GuardedLimit[]): readonly GuardedLimit[] {
  return limits.toSorted((left, right) => compareCodeUnits(left.per?.name ?? '', right.per?.name ?? ''))
}

function statementsOf<S>(
  collection: Collection,
  limit: GuardedLimit,
  { dialect, prepare, locks, locksGroup }: WriteDatabase<S>,
): LimitStatements<S> {
  const { per, count } = limit
  const row = new RowAlias(dialect, collection.name)
  const lock = locksGroup?.(
    textLiteral(`${collection.name} ${per?.name ?? ''} `),
    per && row.column(per.name),
  )
  const countedRow = new RowAlias(dialect, collection.name)
  const enteringRow = countedRow.another(collection.name)
  // Evaluated once: where the row does not count, nothing else is read.
  const isEntering = sql`EXISTS (SELECT 1 FROM ${enteringRow.from()}${whereClause(enteringConditions(limit, enteringRow))})`
  const value = sql`(SELECT ${name(per?.name ?? 'id')} FROM ${name(collection.name)} WHERE "id" = ${slot(0)})`
  const boundQuery = typeof count === 'number' ? undefined : boundSql(count, value)
  const bound = boundQuery && sql`(${boundQuery})`
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
    limit,
    keepBound: boundQuery && locks && prepare(sql`${boundQuery}${locks.keep}`),
    enter: prepare(
      sql`SELECT ${lock ?? sql`1`} FROM ${row.from()}${whereClause(enteringConditions(limit, row))}`,
    ),
    count: prepare(
      sql`SELECT count(*), ${bound ?? sql`NULL`} FROM (SELECT 1 FROM ${countedRow.from()}${conditions} LIMIT ${maxCounted}) AS "counted"`,
    ),
  }
}

/** The field that holds the limit. `id`: of its item. */
function boundSql({ collection, field }: Exclude<GuardedLimit['count'], number>, id: Sql): Sql {
  return sql`SELECT ${name(field.name)} FROM ${name(collection.name)} WHERE "id" = ${id}`
}

/** Whether the row of the first slot counts, and did not in the group of the second. */
function enteringConditions({ per, where: condition }: GuardedLimit, row: RowAlias): readonly Sql[] {
  const conditions = [sql`${row.column('id')} = ${slot(0)}`, conditionSql(condition, row)]
  if (per === undefined) return conditions
  const group = row.column(per.name)
  return [...conditions, sql`${group} IS NOT NULL`, sql`NOT (${row.dialect.same(group, [slot(1)], per)})`]
}

/** The value of `per` in the rows that count; without `per` a constant. */
function groupSql({ per, where: condition }: GuardedLimit, row: RowAlias): Sql {
  const group = per === undefined ? sql`1` : row.column(per.name)
  return sql`CASE WHEN ${conditionSql(condition, row)} THEN ${group} END`
}
