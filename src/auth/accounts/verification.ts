/** Showing that an e-mail address is one's own. */
import type { AccountBase } from './accounts.ts'
import { endBeforeProof } from './ending.ts'
import { findUser } from './users.ts'

interface Claimed {
  readonly userId: number
  readonly email: string
}

export async function sendConfirmation(base: AccountBase, userId: number, email: string): Promise<void> {
  const { tokens, mail, issuer, name } = base
  const claimed: Claimed = { userId, email }
  const token = await tokens.issue('AddressVerification', claimed, { owner: String(userId) })
  const text = `Open this link within 24 hours to confirm that this is your address at ${name}:\n\n${issuer}/account/verify?token=${token}\n\nIf you have no account there, do nothing.\n`
  await mail.send({ to: email, subject: `Confirm your address at ${name}`, text })
}

/** The address that a link would confirm. */
export async function addressToConfirm({ tokens }: AccountBase, token: string): Promise<string | undefined> {
  return (await tokens.peek<Claimed>('AddressVerification', token))?.email
}

/**
 * The owner of the account has opened the link. False when the link is used or too old, was made for another
 * user, or the account has another address by now.
 */
export async function confirmAddress(
  base: AccountBase,
  token: string,
  signedIn: number,
  session: string,
): Promise<boolean> {
  const waiting = await base.tokens.peek<Claimed>('AddressVerification', token)
  if (waiting?.userId !== signedIn) return false
  const claimed = await base.tokens.redeem<Claimed>('AddressVerification', token)
  const user = claimed && (await findUser(base.run, claimed.userId))
  if (!claimed || user?.email !== claimed.email) return false
  if (await base.addresses.isUnproven(user.id)) await endBeforeProof(base, user.id, session)
  await base.addresses.confirm(user.id, claimed.email)
  return true
}
