/** Proof of an e-mail address: the account's own, or the pending one. */
import { ApiError } from '../../../errors.ts'
import type { Asker } from '../../mail/mailer.ts'
import type { LinkValues } from '../../mail/values.ts'
import type { AccountBase } from '../accounts.ts'
import { lifetimeMinutes } from '../link-tokens.ts'
import { notifyOfAddress } from '../notifications.ts'
import { revokeBeforeProof } from '../recovery/account-recovery.ts'
import { confirmPassword } from '../sign-in.ts'
import { findByEmail, findUser, storeEmail, type UserRow } from '../users.ts'

interface ClaimedAddress {
  readonly userId: number
  readonly email: string
  /** Whether the account is to get this address. */
  readonly isNew?: boolean
}

type Sender = Pick<AccountBase, 'tokens' | 'mail' | 'issuer'>

async function linkFor({ tokens, issuer }: Sender, claimed: ClaimedAddress): Promise<LinkValues> {
  const token = await tokens.issue('AddressVerification', claimed, { owner: String(claimed.userId) })
  return { link: `${issuer}/account/verify?token=${token}`, minutes: lifetimeMinutes('AddressVerification') }
}

export async function sendConfirmation(
  base: Sender,
  userId: number,
  email: string,
  asker?: Asker,
): Promise<void> {
  const values = await linkFor(base, { userId, email })
  await base.mail.sendTemplate('confirmAddress', { to: email, userId, asker }, values)
}

/** Sends a link to an address that the account is to get. If the address is taken, its owner gets a notice without a link. */
export async function sendNewAddress(
  base: Sender & Pick<AccountBase, 'run'>,
  userId: number,
  email: string,
): Promise<void> {
  const { run, mail, issuer } = base
  const owner = await findByEmail(run, email)
  if (owner) {
    const signInLink = `${issuer}/account/sign-in`
    return mail.sendTemplate('addressTaken', { to: email, userId: owner.id }, { signInLink })
  }
  const values = await linkFor(base, { userId, email, isNew: true })
  await mail.sendTemplate('newAddress', { to: email, userId }, values)
}

export interface ToConfirm {
  readonly email: string
  /** Whether the account is to get the address, which needs the password. */
  readonly isNew: boolean
}

/** The address that the link confirms. */
export async function addressToConfirm(
  { tokens }: AccountBase,
  token: string,
): Promise<ToConfirm | undefined> {
  const claimed = await tokens.peek<ClaimedAddress>('AddressVerification', token)
  return claimed && { email: claimed.email, isNew: claimed.isNew === true }
}

export interface Confirmation {
  readonly token: string
  /** The user who is signed in, and their session. */
  readonly userId: number
  readonly session: string
  /** Required if the account gets another address and has a password: a stolen session must not be enough. */
  readonly password: string
  /** Whether the sign-in is recent, which is required instead of the password if there is none. */
  readonly isFresh: boolean
  /** Whose attempts are counted. */
  readonly address: string
  /** See `Devices`. */
  readonly secrets?: readonly string[]
}

export type ConfirmAnswer =
  /** `isFirst`: everything that others may have created in the account before was revoked. */
  | { readonly kind: 'done'; readonly isFirst: boolean }
  /** The link is used or expired, is for another user, or the account's address has changed in the meantime. */
  | { readonly kind: 'over' }
  | { readonly kind: 'wrong' }
  /** There is no password, and the sign-in is not recent. */
  | { readonly kind: 'stale' }
  | { readonly kind: 'throttled'; readonly seconds: number }

/** Confirms the address of a link that the owner of the account has opened. */
export async function confirmAddress(base: AccountBase, by: Confirmation): Promise<ConfirmAnswer> {
  const { tokens, run } = base
  const waiting = await tokens.peek<ClaimedAddress>('AddressVerification', by.token)
  const user = waiting?.userId === by.userId ? await findUser(run, by.userId) : undefined
  if (!waiting || !user) return { kind: 'over' }
  if (waiting.isNew && user.password_hash === null) {
    if (!by.isFresh) return { kind: 'stale' }
  } else if (waiting.isNew) {
    const refused = await confirmPassword(base, user.id, by.password, by)
    if (refused) return refused.kind === 'throttled' ? refused : { kind: 'wrong' }
  }
  if (!(await tokens.redeem('AddressVerification', by.token))) return { kind: 'over' }
  const isStill = waiting.isNew ? await takeAddress(base, user, waiting.email) : user.email === waiting.email
  if (!isStill) return { kind: 'over' }
  const isFirst = await base.addresses.isUnproven(user.id)
  if (isFirst) await revokeBeforeProof(base, user.id, by.session)
  await base.addresses.confirm(user.id, waiting.email)
  return { kind: 'done', isFirst }
}

/** Gives the account the new address. Returns false if it is no longer pending, or belongs to another account. */
async function takeAddress(base: AccountBase, user: UserRow, email: string): Promise<boolean> {
  const { addresses, run, records } = base
  if ((await addresses.waiting(user.id)) !== email || !(await addresses.drop(user.id))) return false
  try {
    // A reset in the meantime has set another password: the one that was checked no longer counts.
    const record = await addresses.assignedRecord(user.id, email)
    if (!(await storeEmail(run, user, email, record))) return false
  } catch (error) {
    if (error instanceof ApiError && error.code === 'CONFLICT') return false
    throw error
  }
  // Links sent to the old address are no longer valid.
  await records.deleteOwned(String(user.id), ['PasswordReset'])
  notifyOfAddress(base, user, { kind: 'changed', address: email, by: 'owner' })
  return true
}
