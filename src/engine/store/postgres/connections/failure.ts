/** Failures of PostgreSQL as errors that a client may see (https://www.postgresql.org/docs/15/errcodes-appendix.html). */
import { ApiError, databaseFault } from '../../../../base/errors.ts'
import { uniqueValueError } from '../../write/checks.ts'
import { ROW_SECURITY } from '../row-security/policies.ts'

/** The connection was lost, or never made. The statements may have run. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
}

/** The connection was closed before anything was sent: the statements have not run. */
export class NotSent extends ConnectionLost {}

/** No connection could be made. `isAnswered`: the server refused it. */
export class Unreachable extends ConnectionLost {
  readonly isAnswered: boolean

  constructor(cause: unknown) {
    super('The database cannot be reached.', { cause })
    this.isAnswered = cause instanceof Error && 'severity' in cause
  }
}

/** The database has not answered in time, perhaps because it is unreachable. */
export class AnswerTimeout extends ConnectionLost {}

/** The statement was not run, because one before it in the same transaction failed. */
export class TransactionFailed extends Error {
  override readonly name = 'TransactionFailed'
}

const UNIQUE = '23505'
const FOREIGN_KEY = '23503'
const TOO_LARGE = '54000'
const PRIVILEGE = '42501'
const LOCK_TIMEOUT = '55P03'

/** Classes and codes that are temporary, or that an operator can fix: the request itself was valid. */
const unavailable = /^(08|40|53|55P03|57|58|25006|XX001|XX002)/
/** Those that are about one statement: a conflict, a lock, or a time limit. */
const ofOneStatement = /^(40|55P03|57014)/

/** Any failure as an `ApiError`. */
export function failureOf(cause: unknown): ApiError {
  if (cause instanceof ApiError) return cause
  const code = sqlState(cause)
  if (code === UNIQUE) return uniqueValueError(keyFields(cause), cause)
  if (code === TOO_LARGE) return textTooLongError(cause)
  if (code === PRIVILEGE && isPolicy(cause)) return new ApiError('FORBIDDEN', undefined, { cause })
  if (code === undefined ? isLost(cause) : unavailable.test(code)) {
    return ofOneStatement.test(code ?? '')
      ? new ApiError('UNAVAILABLE', undefined, { cause })
      : databaseFault(cause)
  }
  return new ApiError('INTERNAL_ERROR', undefined, { cause })
}

/** The reason why changes cannot be stored, for the operator. */
export function storageTrouble(error: unknown): string {
  const reason = causesOf(error).flatMap(cause => reasons.get(sqlState(cause) ?? '') ?? [])[0]
  const fallback = causesOf(error).some(isLost)
    ? 'the database cannot be reached'
    : 'the database rejects them'
  return `Changes cannot be stored: ${reason ?? fallback}.`
}

/** The error, its cause, and so on. */
function causesOf(error: unknown): readonly unknown[] {
  return error instanceof Error && error.cause !== undefined ? [error, ...causesOf(error.cause)] : [error]
}

const reasons: ReadonlyMap<string, string> = new Map([
  ['25006', 'the database is read-only'],
  ['42501', 'the database user lacks the privilege'],
  ['53100', 'the disk of the database is full'],
  ['53300', 'the database has no connection left (`max_connections`)'],
  ['57P03', 'the database is starting or stopping'],
])

export function isLost(cause: unknown): boolean {
  return cause instanceof ConnectionLost || cause instanceof TransactionFailed
}

export function isForeignKeyFailure(cause: unknown): boolean {
  return sqlState(cause) === FOREIGN_KEY
}

/** A deadlock or a serialisation failure: the same transaction may succeed if it is tried again. */
export function isTransient(cause: unknown): boolean {
  const code = sqlState(cause)
  return code === '40001' || code === '40P01'
}

/**
 * Whether the server ends the connection: it stops or has crashed, an administrator or a time limit ends the session, or
 * the database is dropped. The severity shows this too, but in the server's language.
 */
export function isTermination(cause: unknown): boolean {
  return /^(57P01|57P02|57P04|57P05|25P03)$/.test(sqlState(cause) ?? '')
}

/** Whether the statement has waited for a lock for as long as `lock_timeout` allows. */
export function isLockTimeout(cause: unknown): boolean {
  return sqlState(cause) === LOCK_TIMEOUT
}

/** The tables of a prepared statement have changed, or a proxy has dropped the statement. */
export function isStatementOutdated(cause: unknown): boolean {
  const code = sqlState(cause)
  return code === '0A000' || code === '26000' || code === '42P05'
}

/** Whether a privilege is missing that the database's operator may grant. */
export function isMissingPrivilege(cause: unknown): boolean {
  return sqlState(cause) === PRIVILEGE
}

/** Whether a row security policy, or the trigger that replaces one, refused a row. False for a missing privilege. */
function isPolicy(cause: unknown): boolean {
  const { routine, constraint } = cause as { readonly routine?: unknown; readonly constraint?: unknown }
  return routine === 'ExecWithCheckOptions' || constraint === ROW_SECURITY
}

/**
 * The names in `Key (slug, author_id)=(a, 1) already exists.`, whose form is the same in every language. PostgreSQL omits the
 * key if row security applies; then the names come from the constraint's own name, unless that was shortened.
 */
export function keyFields(cause: unknown): readonly string[] {
  const detail = cause instanceof Error && 'detail' in cause ? String(cause.detail) : ''
  const end = detail.indexOf(')=(')
  if (end === -1) return constraintFields(cause as Constrained)
  const list = detail.slice(detail.indexOf('(') + 1, end)
  return list.split(', ').map(name => name.replaceAll('"', ''))
}

interface Constrained {
  readonly table?: unknown
  readonly constraint?: unknown
}

/** `posts__slug__author_id__unique` or `author_id__fkey`: names of fields have no double underscore. */
function constraintFields({ table, constraint }: Constrained): readonly string[] {
  const [, names = ''] = /^(.*)__(?:unique|fkey)$/.exec(String(constraint)) ?? []
  const prefix = `${String(table)}__`
  const fieldNames = names.startsWith(prefix) ? names.slice(prefix.length) : names
  return fieldNames === '' ? [] : fieldNames.split('__')
}

/** If the message names the index, that name contains the names of the table and the fields. */
function textTooLongError(cause: unknown): ApiError {
  const [, names = ''] = /"([^"]+)__(?:index|unique)"/.exec(String(cause)) ?? []
  const message = 'A text is too long for an index of the database, which holds about 2,700 bytes of each.'
  const details = names
    .split('__')
    .slice(1)
    .map(field => ({ field, code: 'too_long', message }))
  return new ApiError('VALIDATION_FAILED', message, { details, cause })
}

function sqlState(cause: unknown): string | undefined {
  if (!(cause instanceof Error) || !('code' in cause) || !('severity' in cause)) return undefined
  return typeof cause.code === 'string' ? cause.code : undefined
}
