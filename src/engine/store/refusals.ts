/** Errors that both stores report in the same words. */
import { ApiError, temporaryRefusal } from '../../base/errors.ts'

const unconfirmedMessage =
  'This change may have been stored: the database failed before it could confirm it. Read what is there before you send it again.'

/** The tables have changed under a running service. */
export function schemaMismatchError(): ApiError {
  return new ApiError('UNAVAILABLE', 'The tables of the database do not fit the model any more.')
}

export function tooManyChangesError(): ApiError {
  return temporaryRefusal('Too many changes are waiting to be stored.')
}

/** The error of a write that may or may not be stored. The reply has no `Retry-After`. */
export function unconfirmedWriteError(cause: unknown): ApiError {
  return new ApiError('UNAVAILABLE', unconfirmedMessage, {
    isUnconfirmed: true,
    isDatabaseFault: true,
    cause,
  })
}
