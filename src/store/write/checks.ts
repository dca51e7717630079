/** What must hold for a write, beyond what the guard could decide without the database. */
import { ApiError } from '../../errors.ts'
import { entityTag } from '../../plan/answer.ts'
import type { Check, GuardedPlan, ReferenceCheck } from '../../plan/guarded.ts'
import type { Connection, ResultRow } from '../connection.ts'
import { sqlite } from '../sql/sqlite.ts'
import { referencesSql } from '../sql/write.ts'
import { noSlots, type SqlValue } from '../values.ts'

/** Throws FORBIDDEN when a check's column, from `at` on, is not true. */
export function requireChecks(checks: readonly Check[], row: ResultRow, at: number): void {
  const failed = checks.filter((_, index) => row[at + index] !== 1)
  if (failed.length === 0) return
  if (failed.some(check => check.field === undefined)) throw new ApiError('FORBIDDEN')
  const names = failed.map(check => `"${check.field?.name}"`).join(', ')
  throw new ApiError('FORBIDDEN', `You may not set ${names} of this item.`)
}

/** Throws PRECONDITION_FAILED unless `wanted`, `*` or a list of entity tags, names the representation's. */
export function requireMatch(wanted: unknown, representation: SqlValue | undefined): void {
  if (wanted === '*') return
  const tag = entityTag(String(representation))
  if (!Array.isArray(wanted) || !wanted.includes(tag)) throw new ApiError('PRECONDITION_FAILED')
}

/** Throws VALIDATION_FAILED on every reference to a row that is missing or hidden. */
export type ReferenceRun = (plan: GuardedPlan) => void

export function referenceRun(references: readonly ReferenceCheck[], connection: Connection): ReferenceRun {
  if (references.length === 0) return () => {}
  const statement = connection.prepare(referencesSql(references, sqlite))
  return ({ args, principal }) => {
    const row = statement.get({ args, userId: principal.userId, slots: noSlots }) ?? []
    const details = references
      .filter((_, index) => row[index] !== 1)
      .map(({ field, target }) => ({
        field: field.name,
        code: 'not_found',
        message: `There is no such item in ${target.name}.`,
      }))
    if (details.length > 0) throw new ApiError('VALIDATION_FAILED', undefined, { details })
  }
}
