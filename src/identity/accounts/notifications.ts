/** Mails that notify users of changes to their account, sent in the background. */
import type { Requester } from '../mail/mailer.ts'
import type { MailName, MailValues, ProtectionChange } from '../mail/values.ts'
import type { AccountBase } from './accounts.ts'
import type { RecoveryOutcome } from './recovery/account-recovery.ts'
import type { UserRow } from './users.ts'

type Receiver = Pick<UserRow, 'id' | 'email'>

/** What is needed to send the mails. */
export type NoticeParts = Pick<AccountBase, 'mail' | 'addresses' | 'background' | 'issuer'>

/** Sends to the account's address, unless the user has changed it without proof. */
function notify<Name extends MailName>(
  { mail, addresses, background }: NoticeParts,
  { id, email }: Receiver,
  requester: Requester | undefined,
  [name, values]: readonly [Name, MailValues[Name]],
): void {
  background(async () => {
    if (!(await addresses.isTrusted(id, email))) return
    await mail.sendTemplate(name, { to: email, userId: id, requester }, values)
  })
}

/** `how`: see `MailValues`. */
export function notifyOfPassword(
  base: NoticeParts,
  user: Receiver,
  how: MailValues['passwordChanged']['how'],
  { ended, left, ownApps }: RecoveryOutcome,
  requester?: Requester,
): void {
  const resetLink = `${base.issuer}/account/reset`
  notify(base, user, requester, ['passwordChanged', { how, ended, left, ownApps, resetLink }])
}

/** An administrator has disabled the account. */
export function notifyOfDisabling(parts: NoticeParts, user: Receiver): void {
  notify(parts, user, undefined, ['accountDisabled', {}])
}

/** An administrator has deleted the account, whose address the caller has checked. */
export function notifyOfDeletion({ mail, background }: NoticeParts, { email }: Receiver): void {
  background(() => mail.sendTemplate('accountDeleted', { to: email }, { by: 'administrator' }))
}

/** The sign-in methods have changed. `provider`: the name of the provider that was linked or unlinked. */
export function notifyOfProtection(
  base: AccountBase,
  user: Receiver,
  change: ProtectionChange,
  requester?: Requester,
  provider?: string,
): void {
  const resetLink = `${base.issuer}/account/reset`
  notify(base, user, requester, ['protectionChanged', { change, provider, resetLink }])
}

export type AddressNotice =
  | { readonly kind: 'requested'; readonly address: string }
  | { readonly kind: 'changed'; readonly address: string; readonly by: 'owner' | 'administrator' }

/** Sends to the address that `user` has: the previous or present one of the account. */
export function notifyOfAddress(
  { background, mail, issuer }: Pick<AccountBase, 'background' | 'mail' | 'issuer'>,
  { id: userId, email: to }: Receiver,
  notice: AddressNotice,
): void {
  const accountLink = `${issuer}/account`
  const { address } = notice
  background(() =>
    notice.kind === 'requested'
      ? mail.sendTemplate('addressRequested', { to, userId }, { address, accountLink })
      : mail.sendTemplate('addressChanged', { to, userId }, { address, by: notice.by, accountLink }),
  )
}
