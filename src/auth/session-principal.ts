/** A browser's session as a credential. */
import { type Principal, user } from '../principal.ts'
import type { UserRow } from './accounts/users.ts'

/**
 * Who acts on the account pages, and on the API by the cookie of a session: the user, limited by no scope. What they make,
 * such as API keys, outlives the session. `signedInAt`: see `Principal`; left out on the pages, which ask for a recent
 * sign-in themselves.
 */
export function sessionPrincipal({ id, role }: Pick<UserRow, 'id' | 'role'>, signedInAt?: number): Principal {
  const principal = user(id, role, 'all')
  return signedInAt === undefined ? principal : { ...principal, signedInAt }
}
