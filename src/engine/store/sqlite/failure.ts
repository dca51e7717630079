/** SQLite's result codes as errors that a client may see (https://sqlite.org/rescode.html). */
import { ApiError, databaseFault } from '../../../base/errors.ts'
import { uniqueValueError } from '../write/checks.ts'
import { unknownReferenceError } from '../write/removal/cascade-set.ts'

const BUSY = 5
const READONLY = 8
const CANTOPEN = 14
const CONSTRAINT = 19
const FOREIGN_KEY = 787
const UNIQUE = 2067
const PRIMARY_KEY = 1555
const ROW_ID = 2579

/** Primary result codes of failures that are transient, or that an operator can fix: the request itself is valid. */
const unavailableCodes = new Set([
  BUSY,
  6, // LOCKED
  7, // NOMEM
  READONLY,
  10, // IOERR
  11, // CORRUPT
  13, // FULL
  CANTOPEN,
])

/** Any failure as an `ApiError`. */
export function failureOf(cause: unknown): ApiError {
  if (cause instanceof ApiError) return cause
  const code = resultCode(cause)
  if (code === UNIQUE || code === PRIMARY_KEY || code === ROW_ID)
    return uniqueValueError(uniqueFields(cause), cause)
  if (code === FOREIGN_KEY) return unknownReferenceError(cause)
  if (code !== undefined && unavailableCodes.has(code & 0xff)) {
    return databaseFault(cause)
  }
  return new ApiError('INTERNAL_ERROR', undefined, { cause })
}

/** Result codes of a COMMIT that failed before its last frame was written to the log, or that was rolled back. */
const undoneCodes = new Set([
  BUSY,
  6, // LOCKED
  13, // FULL
  19, // CONSTRAINT
])

/**
 * Whether a COMMIT that failed in this way certainly left nothing that could be applied later. After a failed sync, or if the
 * WAL index could not grow, the log contains the whole transaction with valid checksums.
 */
export function isCertainlyUndone(cause: unknown): boolean {
  const code = resultCode(cause)
  return code !== undefined && undoneCodes.has(code & 0xff)
}

/** Whether another connection has the lock (https://sqlite.org/rescode.html#busy). */
export function isBusy(cause: unknown): boolean {
  return ((resultCode(cause) ?? 0) & 0xff) === BUSY
}

/** The reason why changes cannot be stored, for the operator. */
export function storageTrouble(cause: unknown): string {
  const code = resultCode(cause)
  const reason = reasons.get(code === undefined ? 0 : code & 0xff) ?? 'the disk fails'
  return `Changes cannot be stored: ${reason}.`
}

const reasons: ReadonlyMap<number, string> = new Map([
  [BUSY, 'another process has held the write lock of the database for seconds'],
  [READONLY, 'the database is read-only'],
  [11, 'the database is damaged'],
  [13, 'the disk is full'],
])

/** Whether a sync of the log or of the database file failed (https://sqlite.org/rescode.html#ioerr_fsync). */
export function isSyncFailure(cause: unknown): boolean {
  return resultCode(cause) === 1034
}

/** Whether the file, or one next to it, cannot be written or created (SQLITE_READONLY, SQLITE_CANTOPEN). */
export function isUnwritable(cause: unknown): boolean {
  const code = (resultCode(cause) ?? 0) & 0xff
  return code === READONLY || code === CANTOPEN
}

export function isForeignKeyFailure(cause: unknown): boolean {
  return resultCode(cause) === FOREIGN_KEY
}

export function isConstraintFailure(cause: unknown): boolean {
  const code = resultCode(cause)
  return code !== undefined && (code & 0xff) === CONSTRAINT
}

function resultCode(cause: unknown): number | undefined {
  if (!(cause instanceof Error) || !('errcode' in cause)) return undefined
  return typeof cause.errcode === 'number' ? cause.errcode : undefined
}

/** `UNIQUE constraint failed: posts.slug, posts.author_id` names the fields. */
function uniqueFields(cause: unknown): readonly string[] {
  const [, list = ''] = /constraint failed: (.*)$/.exec(String(cause)) ?? []
  return list.split(', ').map(column => column.slice(column.indexOf('.') + 1))
}
