/** Whether there is room for one item more that refers to another. */
import { ApiError } from '../../errors.ts'
import type { Collection } from '../../model/model.ts'
import type { GuardedCreate, GuardedMost } from '../../plan/guarded.ts'
import { name, type Sql, slot, sql } from '../sql/writer.ts'
import type { SqlValue } from '../values.ts'

/** Slot 0: what is referred to. */
export function countSql(collection: Collection, { assignment }: GuardedMost): Sql {
  return sql`SELECT count(*) FROM ${name(collection.name)} WHERE ${name(assignment.field.name)} = ${slot(0)}`
}

/** Throws CONFLICT where there are as many as there may be. */
export function requireRoom({ count, refusal }: GuardedMost, found: unknown): void {
  if (Number(found) >= count) throw new ApiError('CONFLICT', refusal)
}

/** The value of a create's bound among all that it sets. */
export function boundValue({ set, most }: GuardedCreate, values: readonly SqlValue[]): SqlValue {
  return values[set.findIndex(({ field }) => field === most?.assignment.field)] ?? null
}
