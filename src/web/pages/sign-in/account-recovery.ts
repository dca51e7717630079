/** What a new password has ended, and what remains. */

import { type Html, html, type Text } from '../../../base/html.ts'
import type { AccessInventory } from '../../../identity/accounts/recovery/access-inventory.ts'
import type { RecoveryOutcome } from '../../../identity/accounts/recovery/account-recovery.ts'
import { type PageText, t } from '../../../identity/mail/page-texts.ts'
import type { Menu, Page } from '../frame/layout.ts'

export interface EndedPage {
  readonly title: Text
  readonly ended: RecoveryOutcome
  readonly link: { readonly href: string; readonly label: Text }
  readonly menu?: Menu
}

/** A text for each, e.g. `2 sessions`. */
function itemsOf({ sessions, apps, keys, passkeys, identities, codes }: AccessInventory): readonly Text[] {
  const counted = (count: number, one: PageText, many: PageText) =>
    count === 0 ? [] : [t(count === 1 ? one : many, { count })]
  return [
    ...counted(sessions, '1 session', '{count} sessions'),
    ...counted(apps, '1 connected app', '{count} connected apps'),
    ...counted(keys, '1 API key', '{count} API keys'),
    ...counted(passkeys, '1 passkey', '{count} passkeys'),
    ...counted(identities, '1 sign-in with another provider', '{count} sign-ins with other providers'),
    ...(codes ? [t('one-time codes')] : []),
  ]
}

function list(heading: Text, items: readonly Text[], none: Text): Html {
  return html`<section><h2>${heading}</h2>
${items.length === 0 ? html`<p>${none}</p>` : html`<ul>${items.map(item => html`<li>${item}</li>`)}</ul>`}</section>`
}

export function endedPage({ title, ended: { ended, left, ownApps }, link, menu }: EndedPage): Page {
  const content = html`<h1>${title}</h1>
${list(t('Ended'), itemsOf(ended), t('There was nothing to end.'))}
${list(t('Still there'), itemsOf(left), t('Nothing that lets anyone sign in without the password.'))}
${left.codes && html`<p>${t('Signing in with your password still asks for a one-time code.')}</p>`}
${ownApps.length > 0 && html`<p>${t('Your own apps stay, with their secrets. If somebody else had your account, look through them and make new secrets:')}</p><ul>${ownApps.map(name => html`<li>${name}</li>`)}</ul>`}
<p><a href="${link.href}">${link.label}</a></p>`
  return { title, content, ...(menu && { menu }) }
}
