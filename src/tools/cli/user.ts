/** The user whom the command line names. */

import type { Run } from '../../engine/plan/run.ts'
import { findByEmail, findUser, type UserRow } from '../../identity/accounts/users.ts'
import { Failure } from './failure.ts'

/** The user whom an address or an id names. Throws a `Failure` if there is none. */
export async function requireUserBy(run: Run, name: string): Promise<UserRow> {
  const user = /^[1-9]\d{0,14}$/.test(name) ? await findUser(run, Number(name)) : await requireUser(run, name)
  if (user) return user
  throw new Failure(`No user has the id ${name}. \`portico users list\` shows all.`)
}

/** Throws a `Failure` if no user has the address. */
export async function requireUser(run: Run, email: string): Promise<UserRow> {
  const user = await findByEmail(run, email)
  if (user) return user
  throw new Failure(`No user has the e-mail address ${email}. \`portico users list\` shows all.`)
}
