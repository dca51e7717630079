/** References that a write sets: whether they lead to rows that are there and may be seen. */
import type { ApiError } from '../../errors.ts'
import type { Field } from '../../model/model.ts'
import type { GuardedAssignment, GuardedPlan, ReferenceCheck } from '../../plan/guarded.ts'
import { sqlite } from '../sql/sqlite.ts'
import { referencesSql } from '../sql/write.ts'
import { name, slot, sql } from '../sql/writer.ts'
import { noSlots, type SqlValue } from '../values.ts'
import { noFields, notThere } from '../write/checks.ts'
import type { Connection } from './connection.ts'
import { failureOf, isForeignKeyFailure } from './failure.ts'

/** Throws VALIDATION_FAILED on every reference to a row that is missing or hidden, but for unchanged ones. */
type ReferenceRun = (plan: GuardedPlan, unchanged?: ReadonlySet<Field>) => void

export function referenceRun(references: readonly ReferenceCheck[], connection: Connection): ReferenceRun {
  if (references.length === 0) return () => {}
  const statement = connection.prepare(referencesSql(references, sqlite))
  return ({ args, principal }, unchanged = noFields) => {
    if (references.every(({ field }) => unchanged.has(field))) return
    const row = statement.get({ args, userId: principal.userId, slots: noSlots }) ?? []
    const missing = references.filter(({ field }, index) => row[index] !== 1 && !unchanged.has(field))
    if (missing.length > 0) throw notThere(missing.map(({ field }) => field))
  }
}

/**
 * The error for a change that SQLite refused. A foreign key that failed names no column, so the
 * references are looked up: those that no check covers are what Portico set by itself.
 */
export function refused(
  cause: unknown,
  set: readonly GuardedAssignment[],
  values: readonly SqlValue[],
  connection: Connection,
): ApiError {
  if (!isForeignKeyFailure(cause)) return failureOf(cause)
  const missing = set.filter(({ field }, index) => {
    const value = values[index]
    if (!field.reference || value === null || value === undefined) return false
    const look = connection.prepare(
      sql`SELECT 1 FROM ${name(field.reference.target)} WHERE "id" = ${slot(0)}`,
    )
    return look.get({ args: [], userId: null, slots: [value] }) === undefined
  })
  return notThere(
    missing.map(({ field }) => field),
    cause,
  )
}
