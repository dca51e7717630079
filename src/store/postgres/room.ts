/** Whether there is room for one item more that refers to another, beside other transactions that write. */
import type { GuardedCreate, GuardedWrite } from '../../plan/guarded.ts'
import { name, slot, sql } from '../sql/writer.ts'
import type { SqlValue } from '../values.ts'
import { assigned } from '../write/assign.ts'
import { boundValue, countSql, requireRoom } from '../write/room.ts'
import { slotted, statementOf } from './statement.ts'
import { first, type Scope } from './transaction.ts'

type RoomRun = (values: readonly SqlValue[], scope: Scope) => Promise<void>

/**
 * Locks the item that is referred to, so that what is counted after it stays. Such locks do not hinder references,
 * whose checks take weaker ones (https://www.postgresql.org/docs/15/explicit-locking.html, 13.3.2).
 */
export function roomRun(shape: GuardedCreate): RoomRun | undefined {
  const { collection, most } = shape
  if (most === undefined) return undefined
  const lock = statementOf(sql`SELECT 1 FROM ${name(most.target)} WHERE "id" = ${slot(0)} FOR NO KEY UPDATE`)
  const count = statementOf(countSql(collection, most))
  return async (values, scope) => {
    const inputs = slotted([boundValue(shape, values)])
    // A statement of its own sees what was committed while the lock was waited for.
    const [, found] = await Promise.all([scope.rows(lock, inputs), scope.rows(count, inputs)])
    requireRoom(most, first(found)[0])
  }
}

/** Jobs with the same key are done one after the other, and lock rows in the order of keys. */
export function itemKey(collection: string, id: unknown): string {
  return `${collection}/${String(id).padStart(16, '0')}`
}

/** That of the item which a create with a bound locks. */
export function roomKey({ most }: GuardedCreate, plan: GuardedWrite): string | undefined {
  return most && itemKey(most.target, assigned(most.assignment, plan, ''))
}
