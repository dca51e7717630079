/** A browser's session as a credential. */
import { type Principal, user } from '../principal.ts'
import type { UserRow } from './accounts/users.ts'

/**
 * Who acts on the account pages, and on the API by the cookie of a session: the user, limited by no scope. What they make,
 * such as API keys, outlives the session.
 */
export function sessionPrincipal({ id, role }: Pick<UserRow, 'id' | 'role'>): Principal {
  return user(id, role, 'all')
}
