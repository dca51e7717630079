/** What a disabled account is refused with: only by whoever has shown a valid credential of it. */
import { ApiError } from '../errors.ts'

const fact = 'The account is disabled.'

/** For a credential that would be accepted if the account were enabled. */
export function disabledCredential(): ApiError {
  return new ApiError(
    'UNAUTHORIZED',
    `${fact} Its credentials are accepted again when an administrator enables it.`,
  )
}

/** For a person who has proven who they are. `name`: of the service. */
export function disabledSignIn(name: string): ApiError {
  return new ApiError('FORBIDDEN', `This account is disabled. Write to whoever runs ${name}.`)
}
