/** The refusals of a disabled account, which only clients with a valid credential of the account see. */
import { ApiError } from '../base/errors.ts'

const reason = 'The account is disabled.'

/** For a credential that would be accepted if the account were enabled. */
export function disabledCredential(): ApiError {
  return new ApiError(
    'UNAUTHORIZED',
    `${reason} Its credentials are accepted again when an administrator enables it.`,
  )
}

/** For somebody who has authenticated. `name`: the name of the service. */
export function disabledSignIn(name: string): ApiError {
  return new ApiError('FORBIDDEN', `This account is disabled. Contact the people who run ${name}.`)
}
