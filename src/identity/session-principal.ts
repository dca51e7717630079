/** A browser's session as a credential. */
import { type Principal, user } from '../base/principal.ts'
import type { UserRow } from './accounts/users.ts'

/**
 * The principal of the account pages, and of API requests with a session's cookie: the user, limited by no scope. What it
 * creates, such as API keys, outlives the session. `signedInAt`: see `Principal`; omitted on the pages, which require a recent
 * sign-in themselves.
 */
export function sessionPrincipal({ id, role }: Pick<UserRow, 'id' | 'role'>, signedInAt?: number): Principal {
  const principal = user(id, role, 'all')
  return signedInAt === undefined ? principal : { ...principal, signedInAt }
}
