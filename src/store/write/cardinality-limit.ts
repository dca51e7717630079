/** Limits on how many items may refer to another one. */
import { ApiError } from '../../errors.ts'
import type { GuardedCreate } from '../../plan/guarded.ts'
import { name, slot, sql } from '../sql/writer.ts'
import { type SqlValue, slotted } from '../values.ts'
import type { WriteDatabase } from './database.ts'
import type { Ask, Asks, Rows } from './steps.ts'

export interface CardinalityLimit<S> {
  /** Locks the item that is referred to, then counts. `values`: of the create's assignments. */
  asks(values: readonly SqlValue[]): Asks<S>
  /** Throws CONFLICT where as many items refer to it as may. */
  require(answers: readonly Rows[]): void
}

/**
 * The lock keeps what is counted after it. It does not hinder references, whose checks take weaker ones
 * (https://www.postgresql.org/docs/15/explicit-locking.html, 13.3.2). The count is a statement of its own, which
 * sees what was committed while the lock was waited for.
 */
export function cardinalityLimit<S>(
  { collection, set, most: limit }: GuardedCreate,
  { prepare, locks }: WriteDatabase<S>,
): CardinalityLimit<S> | undefined {
  if (limit === undefined) return undefined
  const { field } = limit.assignment
  const at = set.findIndex(one => one.field === field)
  const lock =
    locks && prepare(sql`SELECT 1 FROM ${name(limit.target)} WHERE "id" = ${slot(0)}${locks.change}`)
  const count = prepare(
    sql`SELECT count(*) FROM ${name(collection.name)} WHERE ${name(field.name)} = ${slot(0)}`,
  )
  return {
    asks(values) {
      const inputs = slotted([values[at] ?? null])
      const locked: Ask<S> | undefined = lock && { statement: lock, inputs }
      return [locked, { statement: count, inputs }]
    },
    require(answers) {
      if (Number(answers[1]?.[0]?.[0]) >= limit.count) throw new ApiError('CONFLICT', limit.refusal)
    },
  }
}
