/** What a client hears whose commit has neither succeeded nor surely failed. */
import { ApiError } from '../errors.ts'

const MESSAGE =
  'This change may have been stored: the database failed before it could confirm it. Read what is there before you send it again.'

/** The error of a write of which nobody knows whether it is stored. The reply has no `Retry-After`. */
export function unconfirmed(cause: unknown): ApiError {
  return new ApiError('UNAVAILABLE', MESSAGE, { isUnconfirmed: true, cause })
}
