/** What a new password has ended, and what remains. */

import { type Html, html } from '../../../base/html.ts'
import { listOf } from '../../../identity/accounts/recovery/access-inventory.ts'
import type { RecoveryOutcome } from '../../../identity/accounts/recovery/account-recovery.ts'
import type { Menu, Page } from '../frame/layout.ts'

export interface EndedPage {
  readonly title: string
  readonly ended: RecoveryOutcome
  readonly link: { readonly href: string; readonly label: string }
  readonly menu?: Menu
}

function list(heading: string, items: readonly string[], none: string): Html {
  return html`<section><h2>${heading}</h2>
${items.length === 0 ? html`<p>${none}</p>` : html`<ul>${items.map(item => html`<li>${item}</li>`)}</ul>`}</section>`
}

export function endedPage({ title, ended: { ended, left, ownApps }, link, menu }: EndedPage): Page {
  const content = html`<h1>${title}</h1>
${list('Ended', listOf(ended), 'There was nothing to end.')}
${list('Still there', listOf(left), 'Nothing that lets anyone sign in without the password.')}
${left.codes && html`<p>Signing in with your password still asks for a one-time code.</p>`}
${ownApps.length > 0 && html`<p>Your own apps stay, with their secrets. If somebody else had your account, look through them and make new secrets:</p><ul>${ownApps.map(name => html`<li>${name}</li>`)}</ul>`}
<p><a href="${link.href}">${link.label}</a></p>`
  return { title, content, ...(menu && { menu }) }
}
