/** Limits of a collection, on all its items or on those with one value of a field: checked after a write has changed its row. */
import { compareCodeUnits } from '../../../base/unicode.ts'
import type { Collection, Field } from '../../../model/model.ts'
import type { GuardedBound, GuardedLimit } from '../../plan/guarded.ts'
import { affectsLimit } from '../../plan/limits.ts'
import { conditionSql } from '../sql/condition.ts'
import type { RowAlias } from '../sql/row-alias.ts'
import { type Sql, slot, sql } from '../sql/writer.ts'
import { type Inputs, type SqlValue, slotInputs } from '../values.ts'
import { countCheck } from './count-limit.ts'
import type { WriteDatabase } from './database.ts'
import { groupLock, type LimitCheck } from './limited-group.ts'
import { overlapCheck } from './overlap-limit.ts'
import type { QuerySteps } from './steps.ts'

export interface Limits<S> {
  /** Outputs of the stored row, before a write: for each limit the group in which the row counts, or null. */
  groups(row: RowAlias): readonly Sql[]
  /**
   * Throws if the write made the row with this id count, and it exceeds a limit. `caller`: the inputs of the caller's
   * statements. `changed`: the fields that changed, and `before`: the row's `groups`; both omitted for a new row.
   */
  require(
    id: number,
    caller: Inputs,
    changed?: readonly Field[],
    before?: readonly (SqlValue | undefined)[],
  ): QuerySteps<S, void>
}

/**
 * The lock of a group is held until the commit: of two transactions that add to it, the second sees the rows of the first,
 * since each statement sees all commits before its own start
 * (https://www.postgresql.org/docs/15/transaction-iso.html, 13.2.1). Undefined if nothing is limited.
 */
export function limitsOn<S>(
  collection: Collection,
  limits: readonly GuardedLimit[],
  database: WriteDatabase<S>,
): Limits<S> | undefined {
  if (limits.length === 0) return undefined
  const all = inLockOrder(limits).map(limit => ({ limit, check: checkOf(collection, limit, database) }))
  return {
    groups: row => all.map(({ limit }) => groupSql(limit, row)),
    *require(id, caller, changed, before = []) {
      const set = changed?.map(field => ({ field }))
      const entered = all.flatMap(({ limit, check }, index) => {
        if (set !== undefined && !affectsLimit(limit, set)) return []
        const group = before[index] ?? null
        const mayEnter = limit.per !== undefined || group === null
        return mayEnter || check.concernsAllChanges ? [{ check, inputs: slotInputs([id, group]) }] : []
      })
      const queries = entered.map(({ check, inputs }) =>
        check.statements.map(statement => statement && { statement, inputs }),
      )
      if (queries.length === 0) return
      const answers = yield queries.flat()
      for (const [index, { check }] of entered.entries()) {
        const first = queries.slice(0, index).flat().length
        yield* check.require(answers.slice(first, first + check.statements.length), caller, changed)
      }
    },
  }
}

function checkOf<S>(collection: Collection, limit: GuardedLimit, database: WriteDatabase<S>): LimitCheck<S> {
  if (limit.kind === 'count') return countCheck(collection, limit, database)
  if (limit.kind === 'overlap') return overlapCheck(collection, limit, database)
  return boundCheck(limit, database)
}

/** Locks the group whose limit changes: a transaction that adds to the group commits before or sees the new limit. */
function boundCheck<S>({ limited, by }: GuardedBound, database: WriteDatabase<S>): LimitCheck<S> {
  const lock = groupLock(limited, by, sql`CAST(${slot(0)} AS bigint)`, database)
  const statement = database.locksGroup && database.prepare(sql`SELECT ${lock}`)
  return { concernsAllChanges: true, statements: [statement], *require() {} }
}

/** All transactions lock the groups of one row in the same order. */
function inLockOrder(limits: readonly GuardedLimit[]): readonly GuardedLimit[] {
  return limits.toSorted((left, right) => compareCodeUnits(left.per?.name ?? '', right.per?.name ?? ''))
}

/** The value of `per` in the rows that count; without `per` a constant. */
function groupSql({ per, where: condition }: GuardedLimit, row: RowAlias): Sql {
  const group = per === undefined ? sql`1` : row.column(per.name)
  return sql`CASE WHEN ${conditionSql(condition, row)} THEN ${group} END`
}
