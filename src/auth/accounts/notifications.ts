/** Messages that tell a user what happened to their account. Sent in the background. */

import type { Ended, Holdings } from './account-recovery.ts'
import type { AccountBase } from './accounts.ts'
import type { UserRow } from './users.ts'

function some(count: number, one: string, many = `${one}s`): string[] {
  return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`]
}

/** E.g. `2 sessions, 1 API key`; empty where there is nothing. */
export function listOf({ sessions, apps, keys, passkeys, identities, codes }: Holdings): readonly string[] {
  return [
    ...some(sessions, 'session'),
    ...some(apps, 'connected app'),
    ...some(keys, 'API key'),
    ...some(passkeys, 'passkey'),
    ...some(identities, 'sign-in with another provider', 'sign-ins with other providers'),
    ...(codes ? ['one-time codes'] : []),
  ]
}

function sentence(start: string, holdings: Holdings, none: string): string {
  const listed = listOf(holdings)
  return `${start}: ${listed.length === 0 ? none : listed.join(', ')}.`
}

type Receiver = Pick<UserRow, 'id' | 'email'>

/** Sends to the account's address, unless it was set only recently. */
function notify(base: AccountBase, { id, email }: Receiver, what: string, more: readonly string[]): void {
  const { mail, addresses, issuer, name, background } = base
  background(async () => {
    if (!(await addresses.isTrusted(id, email))) return
    const lines = [what, ...more, `If it was not you, set a new password: ${issuer}/account/reset`]
    await mail.send({ to: email, subject: `Your account at ${name}`, text: `${lines.join('\n\n')}\n` })
  })
}

/** `how`: e.g. `was changed`. */
export function notifyOfPassword(
  base: AccountBase,
  user: Receiver,
  how: string,
  { ended, left, ownApps }: Ended,
): void {
  notify(base, user, `The password of your account at ${base.name} ${how}.`, [
    sentence('Ended', ended, 'nothing was there to end'),
    sentence('Still there', left, 'nothing that somebody could sign in with beside the password'),
    ...(ownApps.length === 0 ? [] : [`Your own apps stay, with their secrets: ${ownApps.join(', ')}.`]),
  ])
}

/** `what`: a sentence on the new way to sign in, or the new second factor. */
export function notifyOfProtection(base: AccountBase, user: Receiver, what: string): void {
  notify(base, user, `${what} at ${base.name}.`, [])
}

/** Sends to the previous or present address of the account. `what`: the change, or the request for it. */
export function notifyOfAddress(
  { background, mail, name, issuer }: Pick<AccountBase, 'background' | 'mail' | 'name' | 'issuer'>,
  to: string,
  what: string,
): void {
  const help = `If it was not you, sign in at ${issuer}/account, change your password, and look through your connected apps. If you cannot sign in, write to whoever runs ${name}.`
  const text = `${what}\n\n${help}\n`
  background(() => mail.send({ to, subject: `The address of your account at ${name}`, text }))
}
