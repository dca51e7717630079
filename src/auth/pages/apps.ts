/** The apps that a user has allowed something, and the way to take it back. */
import type { ConnectedApp } from '../server/server.ts'
import { note } from './account.ts'
import { button, form } from './form.ts'
import { type Html, html, named } from './html.ts'
import type { Menu, Page } from './layout.ts'
import { appTile } from './tile.ts'
import { time } from './time.ts'

export interface AppsPage {
  readonly menu: Menu
  readonly apps: readonly ConnectedApp[]
  readonly note: string | undefined
}

function connected({ app, scopes, allowedAt }: ConnectedApp, csrf: string): Html {
  return html`<section class="card" aria-labelledby="app-${app.clientId}">
<div class="app">${appTile(app)}<h2 id="app-${app.clientId}">${named(app.name)}</h2></div>
<ul>${scopes.map(({ sentence }) => html`<li>${sentence}</li>`)}</ul>
<p class="faint">${app.firstParty ? html`Part of this service: you were not asked. Last used to sign in on ${time(allowedAt)}` : html`Allowed on ${time(allowedAt)}`}</p>
${form(
  { action: '/account/apps', csrf, hidden: { client_id: app.clientId } },
  button('Disconnect', 'danger', { 'aria-label': `Disconnect ${app.name}` }),
)}
</section>`
}

export function appsPage({ menu, apps, note: said }: AppsPage): Page {
  const content = html`<h1>Connected apps</h1>
${note(said)}
${apps.length === 0 ? html`<p>No app can get at your account.</p>` : html`<p>These apps can do the following for you. Once disconnected, an app can do nothing until you allow it again.</p>`}
${apps.map(app => connected(app, menu.csrf))}`
  return { title: 'Connected apps', content, menu }
}
