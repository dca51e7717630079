/** What must hold for a write, beyond what the guard could decide without the database. */
import { ApiError } from '../../errors.ts'
import type { Field } from '../../model/model.ts'
import { entityTag } from '../../plan/answer.ts'
import type { Check, GuardedAssignment, GuardedPlan, ReferenceCheck } from '../../plan/guarded.ts'
import type { Connection, ResultRow } from '../connection.ts'
import { failureOf, isForeignKeyFailure } from '../failure.ts'
import { sqlite } from '../sql/sqlite.ts'
import { referencesSql } from '../sql/write.ts'
import { name, slot, sql } from '../sql/writer.ts'
import { noSlots, type SqlValue } from '../values.ts'

const noFields: ReadonlySet<Field> = new Set()

/**
 * Throws FORBIDDEN when a check's column, from `at` on, is not true. The rules of fields that are set
 * to what they hold are not asked.
 */
export function requireChecks(
  checks: readonly Check[],
  row: ResultRow,
  at: number,
  unchanged = noFields,
): void {
  const failed = checks.filter(({ field }, index) => {
    return row[at + index] !== 1 && (field === undefined || !unchanged.has(field))
  })
  if (failed.length === 0) return
  if (failed.some(check => check.field === undefined)) throw new ApiError('FORBIDDEN')
  const names = failed.map(check => `"${check.field?.name}"`).join(', ')
  const details = failed.map(({ field }) => ({
    field: field?.name ?? '',
    code: 'forbidden',
    message: 'You may not set this field of this item.',
  }))
  throw new ApiError('FORBIDDEN', `You may not set ${names} of this item.`, { details })
}

/** Throws PRECONDITION_FAILED unless `wanted`, `*` or a list of entity tags, names the representation's. */
export function requireMatch(wanted: unknown, representation: SqlValue | undefined): void {
  if (wanted === '*') return
  const tag = entityTag(String(representation))
  if (!Array.isArray(wanted) || !wanted.includes(tag)) throw new ApiError('PRECONDITION_FAILED')
}

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

/** The error for references that lead nowhere. */
export function notThere(fields: readonly Field[], cause?: unknown): ApiError {
  const details = fields.map(({ name, reference }) => ({
    field: name,
    code: 'not_found',
    message: `There is no such item in ${reference?.target}.`,
  }))
  return new ApiError('VALIDATION_FAILED', undefined, { details, cause })
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
