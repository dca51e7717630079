/** The first page of an account. */
import { button, form } from './form.ts'
import { html } from './html.ts'
import type { Menu, Page } from './layout.ts'

export interface AccountPage {
  readonly menu: Menu
  readonly name: string
  readonly email: string
  readonly verified: boolean
  readonly note: string | undefined
}

export function note(text: string | undefined) {
  return text !== undefined && html`<p class="note" role="status">${text}</p>`
}

export function accountPage({ menu, name, email, verified, note: said }: AccountPage): Page {
  const content = html`<h1>Your account</h1>
${note(said)}
<div class="card"><dl><dt>Name</dt><dd>${name}</dd><dt>E-mail address</dt><dd>${email}</dd><dt>Confirmed</dt><dd>${verified ? 'Yes' : 'Not yet'}</dd></dl>
${!verified && form({ action: '/account/verify', csrf: menu.csrf, hidden: { send: 'yes' } }, button('Send me a link to confirm the address', 'plain'))}
</div>`
  return { title: 'Your account', content, menu }
}
