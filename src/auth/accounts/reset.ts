/** New passwords: by a link, for who has forgotten theirs, and by the old one. */

import { removeKeys } from '../keys-of.ts'
import { hashPassword } from '../password.ts'
import type { AccountBase } from './accounts.ts'
import { passwordFault } from './rules.ts'
import { confirmPassword } from './sign-in.ts'
import { findByEmail, findUser, hasStill, storePasswordHash, type UserRow } from './users.ts'

interface Pending {
  readonly userId: number
  readonly email: string
}

async function sendLink(
  { run, tokens, addresses, mail, issuer, name }: AccountBase,
  email: string,
): Promise<void> {
  const user = await findByEmail(run, email)
  // Whoever may write to an account must not be able to take it over by giving it their own address.
  if (!user || !(await addresses.isTrusted(user.id, user.email))) return
  const pending: Pending = { userId: user.id, email: user.email }
  const token = await tokens.issue('PasswordReset', pending, { owner: String(user.id) })
  const text = `Open this link within an hour to set a new password at ${name}:\n\n${issuer}/account/reset?token=${token}\n\nIf you did not ask for it, do nothing: your password stays as it is.\n`
  await mail.send({ to: user.email, subject: `A new password at ${name}`, text })
}

/** Seconds to wait when too many were asked for. Tells nothing about the account. */
export async function requestReset(
  base: AccountBase,
  email: string,
  address: string,
): Promise<number | undefined> {
  const seconds = await base.mails.take(email.trim().toLowerCase(), address)
  if (seconds === undefined) base.background(() => sendLink(base, email))
  return seconds
}

async function store(
  { run, records, revokeAll }: AccountBase,
  { id }: UserRow,
  hashed: string,
  exceptSession?: string,
): Promise<void> {
  await storePasswordHash(run, id, hashed)
  await records.deleteOwned(String(id), ['PasswordReset', 'SecondFactor'])
  await revokeAll(id, exceptSession)
}

export type ResetAnswer =
  | { readonly kind: 'done' }
  | { readonly kind: 'over' }
  | { readonly kind: 'fault'; readonly field: string; readonly message: string }

export async function canReset({ tokens }: AccountBase, token: string): Promise<boolean> {
  return (await tokens.peek('PasswordReset', token)) !== undefined
}

/**
 * Sets the password, and ends every session and token of the user. An account whose address nobody had
 * confirmed may have been made by somebody else: then what they left behind goes too.
 */
export async function reset(base: AccountBase, token: string, password: string): Promise<ResetAnswer> {
  const { tokens, addresses, run, records } = base
  const waiting = await tokens.peek<Pending>('PasswordReset', token)
  if (!waiting) return { kind: 'over' }
  const message = passwordFault(password, waiting.email)
  if (message !== undefined) return { kind: 'fault', field: 'password', message }
  // First, since it may fail: then the link is still good.
  const hashed = await hashPassword(password)
  const pending = await tokens.redeem<Pending>('PasswordReset', token)
  const user = pending && (await findUser(run, pending.userId))
  if (user?.email !== waiting.email) return { kind: 'over' }
  if (await addresses.isUnproven(user.id)) {
    await records.deleteOwned(String(user.id), ['Passkey', 'Totp', 'RecoveryCode'])
    await removeKeys(run, user.id)
  }
  await addresses.confirm(user.id, user.email)
  await store(base, user, hashed)
  return { kind: 'done' }
}

interface Change {
  readonly userId: number
  readonly current: string
  readonly password: string
  readonly address: string
  /** The session that asks, which stays. */
  readonly session: string
}

export async function changePassword(base: AccountBase, change: Change): Promise<ResetAnswer> {
  const user = await findUser(base.run, change.userId)
  if (!user) return { kind: 'over' }
  const message = passwordFault(change.password, user.email)
  if (message !== undefined) return { kind: 'fault', field: 'new_password', message }
  const refused = await confirmPassword(base, user.id, change.current, change.address)
  if (refused) {
    const said =
      refused.kind === 'throttled'
        ? `Too many attempts. Try again in ${Math.ceil(refused.seconds / 60)} minutes.`
        : 'This is not your password.'
    return { kind: 'fault', field: 'current_password', message: said }
  }
  const hashed = await hashPassword(change.password)
  // A reset meanwhile has ended what the old password was good for.
  if (!(await hasStill(base.run, user))) return { kind: 'over' }
  await store(base, user, hashed, change.session)
  return { kind: 'done' }
}
