/** The refusals of a disabled account, shown only to clients that have sent a valid credential of it. */
import { ApiError } from '../errors.ts'

const fact = 'The account is disabled.'

/** For a credential that would be accepted if the account were enabled. */
export function disabledCredential(): ApiError {
  return new ApiError(
    'UNAUTHORIZED',
    `${fact} Its credentials are accepted again when an administrator enables it.`,
  )
}

/** For somebody who has authenticated. `name`: of the service. */
export function disabledSignIn(name: string): ApiError {
  return new ApiError('FORBIDDEN', `This account is disabled. Write to whoever runs ${name}.`)
}
