/** The checks of a write that need the database. The guard decides all others. */
import { isDeepStrictEqual } from 'node:util'
import { entityTag } from '../../../base/conditional.ts'
import { ApiError } from '../../../base/errors.ts'
import { isObject } from '../../../base/json.ts'
import type { JsonObject, JsonValue } from '../../../model/fields/type.ts'
import type { Field } from '../../../model/model.ts'
import type {
  Check,
  GuardedAssignment,
  GuardedCreate,
  GuardedDelete,
  GuardedUpdate,
} from '../../plan/guarded.ts'
import type { ResultRow, SqlValue } from '../values.ts'

export const noFields: ReadonlySet<Field> = new Set()

/** The write that is checked. */
type CheckedWrite = Pick<GuardedCreate | GuardedUpdate | GuardedDelete, 'kind' | 'collection'>

/**
 * Throws FORBIDDEN if the column of a check is not true. `firstColumn`: that of the first check. `unchanged`: fields that
 * keep their values, whose rules are not checked.
 */
export function requireChecks(
  checks: readonly Check[],
  row: ResultRow,
  firstColumn: number,
  { kind: operation, collection: { name: collection } }: CheckedWrite,
  unchanged = noFields,
): void {
  const failed = checks.filter(({ field }, index) => {
    return row[firstColumn + index] !== 1 && (field === undefined || !unchanged.has(field))
  })
  if (failed.length === 0) return
  if (failed.some(check => check.field === undefined))
    throw new ApiError('FORBIDDEN', undefined, { refused: { collection, operation } })
  const names = failed.map(check => `"${check.field?.name}"`).join(', ')
  const details = failed.map(({ field }) => ({
    field: field?.name ?? '',
    code: 'forbidden',
    message: 'You may not set this field of this item.',
  }))
  throw new ApiError('FORBIDDEN', `You may not set ${names} of this item.`, {
    details,
    refused: { collection, operation, fields: details.map(({ field }) => field) },
  })
}

/** Throws PRECONDITION_FAILED unless the representation matches. `ifMatch`: see `DeleteShape`. */
export function requireMatch(ifMatch: JsonValue | undefined, representation: SqlValue | undefined): void {
  if (!matches(ifMatch, String(representation))) throw new ApiError('PRECONDITION_FAILED')
}

function matches(ifMatch: JsonValue | undefined, representation: string): boolean {
  if (ifMatch === '*') return true
  if (Array.isArray(ifMatch)) return ifMatch.includes(entityTag(representation))
  const item: JsonObject = JSON.parse(representation)
  return (
    isObject(ifMatch) &&
    Object.entries(ifMatch).every(([name, value]) => isDeepStrictEqual(value, item[name]))
  )
}

/** The error for references to missing rows. */
export function missingReferenceError(fields: readonly Field[], cause?: unknown): ApiError {
  const details = fields.map(({ name, reference }) => ({
    field: name,
    code: 'not_found',
    message: `There is no such item in ${reference?.target}.`,
  }))
  return new ApiError('VALIDATION_FAILED', undefined, { details, cause })
}

/** The same, for assignments. A default is missing only if the caller's app was deleted after it was authenticated. */
export function missingAssignmentError(missing: readonly GuardedAssignment[], cause: unknown): ApiError {
  const isOwnApp = missing.some(
    ({ value }) => value.kind === 'default' && value.default.kind === 'currentApp',
  )
  if (isOwnApp) return new ApiError('UNAUTHORIZED', 'The app of the credential was deleted.', { cause })
  return missingReferenceError(
    missing.map(({ field }) => field),
    cause,
  )
}

/** The error for unique values that another item already has. */
export function uniqueValueError(fields: readonly string[], cause: unknown): ApiError {
  if (fields.length === 0) return new ApiError('CONFLICT', 'A value is already taken.', { cause })
  const message =
    fields.length === 1
      ? 'Another item already has this value.'
      : `Another item already has these values of ${fields.join(' and ')}.`
  const details = fields.map(field => ({ field, code: 'taken', message }))
  return new ApiError('CONFLICT', `A value is already taken: ${fields.join(', ')}.`, { details, cause })
}
