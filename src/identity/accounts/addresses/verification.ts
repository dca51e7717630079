/** Proof of an e-mail address: the account's own, or the pending one. */

import { ApiError } from '../../../base/errors.ts'
import type { Requester } from '../../mail/mailer.ts'
import type { LinkValues } from '../../mail/values.ts'
import type { AccountBase } from '../accounts.ts'
import { lifetimeMinutes } from '../link-tokens.ts'
import { notifyOfAddress } from '../notifications.ts'
import { revokeBeforeProof } from '../recovery/account-recovery.ts'
import { confirmPassword } from '../sign-in/sign-in.ts'
import type { Throttled } from '../sign-in/throttle.ts'
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
  requester?: Requester,
): Promise<void> {
  const values = await linkFor(base, { userId, email })
  await base.mail.sendTemplate('confirmAddress', { to: email, userId, requester }, values)
}

/** Mails a link to the address that the account is to get. If the address is taken, its owner gets a notice without a link. */
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

export interface AddressToConfirm {
  readonly userId: number
  readonly email: string
  /** Whether the account is to get the address, which needs the password. */
  readonly isNew: boolean
}

/** The address that the link confirms. */
export async function addressToConfirm(
  { tokens }: AccountBase,
  token: string,
): Promise<AddressToConfirm | undefined> {
  const claimed = await tokens.peek<ClaimedAddress>('AddressVerification', token)
  return claimed && { userId: claimed.userId, email: claimed.email, isNew: claimed.isNew === true }
}

export interface Confirmation {
  readonly token: string
  /** The user who is signed in, and their session. */
  readonly userId: number
  readonly session: string
  /** Required if the account gets another address and has a password: a stolen session must not suffice. */
  readonly password: string
  /** Whether the sign-in is recent. Required if the account has no password. */
  readonly hasRecentSignIn: boolean
  /** The address whose attempts are counted. */
  readonly address: string
  /** See `Devices`. */
  readonly secrets?: readonly string[]
}

export type ConfirmAnswer =
  /** `isFirst`: it was the first confirmation, which revoked everything that others may have created in the account. */
  | { readonly kind: 'done'; readonly isFirst: boolean }
  /** The link was used, has expired or is for another user, or the account's address has changed in the meantime. */
  | { readonly kind: 'over' }
  | { readonly kind: 'wrong' }
  /** There is no password, and the sign-in is not recent. */
  | { readonly kind: 'stale' }
  | Throttled

/** Confirms the address of a link that the owner of the account has opened. */
export async function confirmAddress(base: AccountBase, confirmation: Confirmation): Promise<ConfirmAnswer> {
  const { tokens, run } = base
  const { token, userId, session } = confirmation
  const claimed = await tokens.peek<ClaimedAddress>('AddressVerification', token)
  const user = claimed?.userId === userId ? await findUser(run, userId) : undefined
  if (!claimed || !user) return { kind: 'over' }
  if (claimed.isNew && user.password_hash === null) {
    if (!confirmation.hasRecentSignIn) return { kind: 'stale' }
  } else if (claimed.isNew) {
    const refused = await confirmPassword(base, user.id, confirmation.password, confirmation)
    if (refused) return refused.kind === 'throttled' ? refused : { kind: 'wrong' }
  }
  if (!(await tokens.redeem('AddressVerification', token))) return { kind: 'over' }
  const hasAddress = claimed.isNew
    ? await assignAddress(base, user, claimed.email)
    : user.email === claimed.email
  if (!hasAddress) return { kind: 'over' }
  const isFirst = await base.addresses.isUnproven(user.id)
  if (isFirst) await revokeBeforeProof(base, user.id, session)
  await base.addresses.confirm(user.id, claimed.email)
  return { kind: 'done', isFirst }
}

/** Gives the account the new address. Returns false if it is no longer pending, or belongs to another account. */
async function assignAddress(base: AccountBase, user: UserRow, email: string): Promise<boolean> {
  const { addresses, run, records } = base
  if ((await addresses.pending(user.id)) !== email || !(await addresses.dropPending(user.id))) return false
  try {
    // Fails if a reset has set another password in the meantime: the one that was verified is no longer valid.
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
