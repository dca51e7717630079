/** New passwords: by a mailed link, by the old password, or for users who have none. */

import { hash } from 'node:crypto'
import type { Text } from '../../../base/html.ts'
import { canonicalEmail } from '../../../model/fields/email.ts'
import { disabledSignIn } from '../../disabled-account.ts'
import type { Requester } from '../../mail/mailer.ts'
import { t } from '../../mail/page-texts.ts'
import { hashPassword } from '../../password.ts'
import type { AccountBase } from '../accounts.ts'
import { lifetimeMinutes } from '../link-tokens.ts'
import { notifyOfPassword, notifyOfProtection } from '../notifications.ts'
import { passwordFault } from '../sign-in/password-rules.ts'
import { confirmPassword } from '../sign-in/sign-in.ts'
import { resetMails } from '../sign-in/throttle.ts'
import { findByEmail, findUser, hasSamePassword, replacePasswordHash, type UserRow } from '../users.ts'
import { type RecoveryOutcome, replacePassword } from './account-recovery.ts'

interface PendingReset {
  readonly userId: number
  readonly email: string
}

async function sendLink(
  { run, tokens, addresses, mail, issuer }: AccountBase,
  email: string,
  requester?: Requester,
): Promise<void> {
  const user = await findByEmail(run, email)
  // Otherwise write access to an account would suffice to take it over: by setting another address.
  if (!user || !(await addresses.isTrusted(user.id, user.email))) return
  const to = { to: user.email, userId: user.id, requester }
  if (user.disabled) return mail.sendTemplate('accountDisabled', to, {})
  const pending: PendingReset = { userId: user.id, email: user.email }
  const token = await tokens.issue('PasswordReset', pending, { owner: String(user.id) })
  const link = `${issuer}/account/reset?token=${token}`
  const values = { link, minutes: lifetimeMinutes('PasswordReset') }
  await mail.sendTemplate('resetPassword', to, values)
}

/** Whether another mail may be sent to the address now. If not, the links of earlier mails still work. */
async function maySend({ counters }: AccountBase, email: string): Promise<boolean> {
  const key = `mail-reset:${hash('sha256', email, 'base64url')}`
  const { granted } = await counters.take(key, resetMails.attempts, 1, resetMails.windowSeconds)
  return granted
}

/**
 * Mails a link. Returns the seconds to wait if the address has made too many requests. Reveals nothing about the account.
 * Requests of strangers do not harm the owner, because the links in the resulting mails work too. `secrets`: see `Devices`.
 */
export async function requestReset(
  base: AccountBase,
  enteredEmail: string,
  address: string,
  secrets: readonly string[] = [],
  requester?: Requester,
): Promise<number | undefined> {
  const email = canonicalEmail(enteredEmail.trim())
  const user = await findByEmail(base.run, email)
  const device = await base.devices.find(secrets, user?.id ?? 0)
  const seconds = await base.resets.take(email, address, device)
  if (seconds !== undefined) return seconds
  if (device !== undefined || (await maySend(base, email))) {
    base.background(() => sendLink(base, email, requester))
  }
  return undefined
}

export type ResetAnswer =
  | { readonly kind: 'done'; readonly userId: number; readonly outcome: RecoveryOutcome }
  | { readonly kind: 'over' }
  | { readonly kind: 'fault'; readonly field: string; readonly message: Text }

/** Whether the link of a reset is valid. Does not consume it. */
export async function canReset({ tokens }: AccountBase, token: string): Promise<boolean> {
  return (await tokens.peek('PasswordReset', token)) !== undefined
}

const dayMs = 24 * 60 * 60 * 1000
/**
 * One-time codes that were turned on within this time before a reset may be an attacker's. Older ones stay, so that access to
 * the user's mail alone does not suffice to sign in.
 */
const suspectCodesAgeMs = 7 * dayMs

/**
 * Sets the password and revokes everything that could let someone else in: sessions, passkeys, keys, consents, tokens,
 * links, and one-time codes where they are recent or the address was never confirmed.
 */
export async function reset(
  base: AccountBase,
  token: string,
  password: string,
  requester?: Requester,
): Promise<ResetAnswer> {
  const { tokens, addresses, run, codes: oneTimeCodes } = base
  const stored = await tokens.peek<PendingReset>('PasswordReset', token)
  if (!stored) return { kind: 'over' }
  const message = passwordFault(password, stored.email)
  if (message !== undefined) return { kind: 'fault', field: 'password', message }
  // The link proves access to the account's mail, so this reveals nothing. It works again once the account is enabled.
  if ((await findUser(run, stored.userId))?.disabled) throw disabledSignIn(base.name)
  // Before the token is consumed: if hashing fails, the link still works.
  const passwordHash = await hashPassword(password)
  const pending = await tokens.redeem<PendingReset>('PasswordReset', token)
  const user = pending && (await findUser(run, pending.userId))
  if (user?.email !== stored.email) return { kind: 'over' }
  const codes =
    (await addresses.isUnproven(user.id)) || (await oneTimeCodes.isYoungerThan(user.id, suspectCodesAgeMs))
  const extent = { keys: true, passkeys: true, codes }
  const isExpected = ({ email }: UserRow) => email === user.email
  const outcome = await replacePassword(base, user.id, passwordHash, extent, isExpected)
  if (!outcome) return { kind: 'over' }
  await addresses.confirm(user.id, user.email)
  notifyOfPassword(base, user, 'reset', outcome, requester)
  return { kind: 'done', userId: user.id, outcome }
}

interface PasswordChange {
  readonly userId: number
  readonly current: string
  readonly password: string
  readonly address: string
  /** See `Devices`. */
  readonly secrets?: readonly string[]
  /** The session that makes the change, which stays. */
  readonly session: string
  /** Whether API keys are revoked too. */
  readonly keys: boolean
  readonly requester?: Requester
}

/** Replaces the password of a user who has entered the present one, and revokes other credentials. */
export async function changePassword(base: AccountBase, change: PasswordChange): Promise<ResetAnswer> {
  const user = await findUser(base.run, change.userId)
  if (!user) return { kind: 'over' }
  const message = passwordFault(change.password, user.email)
  if (message !== undefined) return { kind: 'fault', field: 'new_password', message }
  const refused = await confirmPassword(base, user.id, change.current, change)
  if (refused) {
    const refusal =
      refused.kind === 'throttled'
        ? tooManyAttempts(Math.ceil(refused.seconds / 60))
        : 'This is not your password.'
    return { kind: 'fault', field: 'current_password', message: refusal }
  }
  const passwordHash = await hashPassword(change.password)
  // After a reset in the meantime, the old password is no longer valid, and nothing may be revoked.
  if (!(await hasSamePassword(base.run, user))) return { kind: 'over' }
  const { session: exceptSession, keys } = change
  const extent = { exceptSession, keys, passkeys: false, codes: false }
  const isExpected = ({ password_hash }: UserRow) => password_hash === user.password_hash
  const outcome = await replacePassword(base, user.id, passwordHash, extent, isExpected)
  if (!outcome) return { kind: 'over' }
  notifyOfPassword(base, user, 'changed', outcome, change.requester)
  return { kind: 'done', userId: user.id, outcome }
}

/** Sets the first password of a user who has recently signed in by other means. Returns the fault, if there is one. */
export async function setFirstPassword(
  base: AccountBase,
  user: UserRow,
  password: string,
  isStillSignedIn: () => Promise<boolean>,
  requester?: Requester,
): Promise<string | undefined> {
  const fault = passwordFault(password, user.email)
  if (fault !== undefined) return fault
  const passwordHash = await hashPassword(password)
  // Fails if an account recovery has set one in the meantime.
  const hasNoPassword = ({ password_hash }: UserRow) => password_hash === null
  const isStored =
    (await isStillSignedIn()) && (await replacePasswordHash(base.run, user.id, passwordHash, hasNoPassword))
  if (!isStored) return 'You have a password already. Load the page again.'
  notifyOfProtection(base, user, 'password-set', requester)
  return undefined
}

function tooManyAttempts(minutes: number) {
  return minutes === 1
    ? t('Too many attempts. Try again in a minute.')
    : t('Too many attempts. Try again in {count} minutes.', { count: minutes })
}
