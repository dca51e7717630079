/** The first page of an account. */
import { button, form } from './form.ts'
import { type Html, html } from './html.ts'
import type { Menu, Page } from './layout.ts'

export interface AccountPage {
  readonly menu: Menu
  readonly name: string
  readonly email: string
  readonly verified: boolean
  /** The address that is to be the account's once it is confirmed. */
  readonly waiting: string | undefined
  readonly note: string | undefined
}

export function note(text: string | undefined) {
  return text !== undefined && html`<p class="note" role="status">${text}</p>`
}

function waitingAddress(csrf: string, address: string): Html {
  return html`<section class="card"><h2>New address</h2>
<p>${address} becomes the address of your account when you open the link that we have sent there.</p>
${form({ action: '/account/verify', csrf, hidden: { drop: 'yes' } }, button('Keep the old address', 'plain'))}</section>`
}

export function accountPage({ menu, name, email, verified, waiting, note: said }: AccountPage): Page {
  const content = html`<h1>Your account</h1>
${note(said)}
<div class="card"><dl><dt>Name</dt><dd>${name}</dd><dt>E-mail address</dt><dd>${email}</dd><dt>Confirmed</dt><dd>${verified ? 'Yes' : 'Not yet'}</dd></dl>
${!verified && form({ action: '/account/verify', csrf: menu.csrf, hidden: { send: 'yes' } }, button('Send me a link to confirm the address', 'plain'))}
</div>
${waiting !== undefined && waitingAddress(menu.csrf, waiting)}`
  return { title: 'Your account', content, menu }
}
