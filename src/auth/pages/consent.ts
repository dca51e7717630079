/** Where a user decides what an app may do. */
import type { App, Interaction, ScopeSentence } from '../server/server.ts'
import { button, form } from './form.ts'
import { type Html, html, named } from './html.ts'
import type { Page } from './layout.ts'
import { appTile } from './tile.ts'

export interface ConsentPage {
  readonly action: string
  readonly csrf: string
  readonly interaction: Interaction
  readonly email: string
}

/** Without these the request is no sign-in (OpenID Connect Core, 3.1.2.1), so they cannot be unticked. */
const fixed = new Set(['openid'])

function choice({ scope, sentence }: ScopeSentence, isNew: boolean): Html {
  const id = `scope-${scope.replace(/[^\w-]/g, '-')}`
  const box = fixed.has(scope)
    ? html`<input type="hidden" name="scope" value="${scope}"><input type="checkbox" id="${id}" checked disabled>`
    : html`<input type="checkbox" id="${id}" name="scope" value="${scope}" checked>`
  return html`<div class="choice">${box}<label for="${id}">${sentence}${isNew && html` <span class="new">New</span>`}</label></div>`
}

function about({ type, homepageUri, name }: App, destination: string | undefined): Html {
  return html`<dl>
${homepageUri !== undefined && html`<dt>Website</dt><dd><a href="${homepageUri}" rel="noopener noreferrer nofollow">${homepageUri}</a></dd>`}
${destination !== undefined && html`<dt>Sends you back to</dt><dd>${destination}</dd>`}
${type === 'public' && html`<dt>Kind</dt><dd>Runs on your device: anyone can call their app “${named(name)}”, so check where it sends you.</dd>`}
</dl>`
}

export function consentPage({ action, csrf, interaction, email }: ConsentPage): Page {
  const { app, scopes, allowedBefore, destination } = interaction
  const returning = allowedBefore.size > 0
  const isNew = ({ scope }: ScopeSentence) => returning && !allowedBefore.has(scope)
  const ordered = [...scopes.filter(isNew), ...scopes.filter(scope => !isNew(scope))]
  const content = html`<div class="app">${appTile(app)}<h1>${named(app.name)} asks for access to your account</h1></div>
<div class="who"><p class="faint">You are signed in as ${email}.</p>
${form({ action, csrf, hidden: { answer: 'other-account' } }, button('Use another account', 'plain'))}</div>
${returning && html`<p class="note">You have allowed ${named(app.name)} some of this before. What is new is marked.</p>`}
${form(
  { action, csrf },
  html`
<fieldset><legend>${named(app.name)} will be able to:</legend>
${ordered.map(scope => choice(scope, isNew(scope)))}
</fieldset>
<p class="faint">Untick what you do not want to allow. It never gets your password, and never more than you may do yourself. You can take it back at any time under <a href="/account/apps">Connected apps</a>.</p>
<div class="buttons">${button('Allow', undefined, { name: 'answer', value: 'allow' })}${button('Cancel', 'plain', { name: 'answer', value: 'deny' })}</div>`,
)}
<div class="card">${about(app, destination)}</div>`
  return { title: `Allow ${app.name}?`, content, broad: true }
}
