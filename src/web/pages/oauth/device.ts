/** The pages of the device flow (RFC 8628, 3.3). */

import { html, named } from '../../../base/html.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import type { App, DeviceCodePage, DeviceConfirmPage } from '../../../identity/server/server.ts'
import { button, type FormFaults, field, form, noFaults, summary } from '../components/form.ts'
import { appTile } from '../components/tile.ts'
import type { Page } from '../frame/layout.ts'
import { messagePage } from '../frame/message.ts'

function stoppedPage(action: string): Page {
  return messagePage({
    title: t('You have stopped this'),
    paragraphs: [t('The device gets no access. You can close this page.')],
    link: { href: action, label: t('Enter another code') },
    icon: 'shield',
  })
}

export function deviceCodePage({ action, hidden, entered, fault, isStopped }: DeviceCodePage): Page {
  if (isStopped) return stoppedPage(action)
  const faults: FormFaults = fault === undefined ? noFaults : new Map([['user_code', fault]])
  const content = html`<h1>${t('Connect a device')}</h1>
${summary(faults)}
${form(
  { action, hidden },
  html`
${field({ name: 'user_code', label: t('Code'), hint: t('The code that your device shows.'), value: entered, autocomplete: 'off', maxlength: 40, class: 'code', autofocus: faults.size === 0 }, faults)}
<div class="buttons">${button(t('Continue'))}</div>`,
)}`
  return { title: t('Connect a device'), content, faulty: faults.size > 0 }
}

/** RFC 8628, 5.4: users who follow somebody else's link must see what they would connect. */
export function deviceConfirmPage({ action, hidden, app, userCode }: DeviceConfirmPage): Page {
  const content = html`<div class="crest">${appTile(app, 'large')}</div>
<h1>${t('Connect {name}?', { name: named(app.name) })}</h1>
<p>${t('Does your device show this code?')}</p>
<p class="large secret">${userCode}</p>
<p class="note warning">${t('Continue only if the device is in front of you and you have just started this on it. If somebody sent you the code or a link, cancel.')}</p>
${form(
  { action, hidden },
  html`
<div class="buttons">${button(t('Yes, connect it'), undefined)}${button(t('Cancel'), 'plain', { name: 'abort', value: 'yes' })}</div>`,
)}`
  return { title: t('Connect {name}', { name: app.name }), content }
}

export function deviceDonePage({ app }: { readonly app: App }): Page {
  const content = html`<div class="crest">${appTile(app, 'large')}</div>
<h1>${t('{name} is connected', { name: named(app.name) })}</h1>
<p>${t('Go back to your device, which continues automatically. You can close this page.')}</p>
<p>${t('You can revoke its access at any time under [Connected apps](/account/apps).')}</p>`
  return { title: t('Device connected'), content }
}
