/** The user whom an e-mail address on the command line names. */

import type { Run } from '../../engine/plan/run.ts'
import { findByEmail, type UserRow } from '../../identity/accounts/users.ts'
import { Failure } from './failure.ts'

/** Throws a `Failure` if no user has the address. */
export async function requireUser(run: Run, email: string): Promise<UserRow> {
  const user = await findByEmail(run, email)
  if (user) return user
  throw new Failure(`No user has the e-mail address ${email}. \`portico users list\` shows all.`)
}
