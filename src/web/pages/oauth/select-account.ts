/** The choice of an account for an app (`prompt=select_account`; OpenID Connect Core 1.0, 3.1.2.1). */

import { html, named } from '../../../base/html.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import type { App } from '../../../identity/server/server.ts'
import { button, form } from '../components/form.ts'
import { appTile, personTile } from '../components/tile.ts'
import type { Page } from '../frame/layout.ts'

export interface SelectAccountPage {
  readonly action: string
  readonly csrf: string
  readonly app: App
  readonly email: string
}

export function selectAccountPage({ action, csrf, app, email }: SelectAccountPage): Page {
  const content = html`<div class="crest">${appTile(app, 'large')}</div>
<h1>${t('Choose an account for {name}', { name: named(app.name) })}</h1>
<p class="chip">${personTile(email, email)}<span>${t('You are signed in as {email}.', { email })}</span></p>
${form(
  { action, csrf },
  html`
<div class="buttons">${button(t('Continue as {email}', { email }), undefined, { name: 'answer', value: 'continue' })}${button(t('Use another account'), 'plain', { name: 'answer', value: 'other-account' })}${button(t('Cancel'), 'plain', { name: 'answer', value: 'deny' })}</div>`,
)}`
  return { title: t('Choose an account'), content }
}
