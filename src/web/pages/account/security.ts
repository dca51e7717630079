/** Passwords, passkeys and one-time codes of an account. */

import { type Html, html, type Message, named, type Text } from '../../../base/html.ts'
import type { Identity } from '../../../identity/accounts/identities.ts'
import type { Passkey } from '../../../identity/accounts/sign-in/passkeys.ts'
import { composed, t } from '../../../identity/mail/page-texts.ts'
import { maxPasswordCharacters } from '../../../identity/password.ts'
import { button, type FormFaults, field, form, summary } from '../components/form.ts'
import { icon } from '../components/icons.ts'
import { checkbox } from '../components/parts.ts'
import { day } from '../components/time.ts'
import type { Menu, Page } from '../frame/layout.ts'
import { firstPasswordForm, type ProviderName, providerSection } from '../sign-in/providers.ts'
import { newPassword } from '../sign-in/sign-up.ts'
import { note } from './account.ts'

export interface SecurityPage {
  readonly menu: Menu
  readonly faults: FormFaults
  readonly note: Text | undefined
  readonly passkeys: readonly Passkey[]
  readonly totp: boolean
  /** How many recovery codes are left. */
  readonly recoveryCodes: number
  /** How many API keys there are. */
  readonly keys: number
  readonly hasPassword: boolean
  readonly providers: readonly ProviderName[]
  readonly identities: readonly Identity[]
}

const action = '/account/security'

/** Ticked by default: users who suspect an attacker might forget their keys. */
function keysChoice(keys: number): Html {
  const label = keys === 1 ? t('Revoke my API key too') : t('Revoke my {count} API keys too', { count: keys })
  return html`<div class="choice">${checkbox({ id: 'keys', label, checked: true })}</div>`
}

function passwordSection({ menu: { csrf }, faults, keys, hasPassword }: SecurityPage): Html {
  if (!hasPassword) {
    const password = newPassword('new_password', t('New password'), faults)
    return html`<section class="card" aria-labelledby="password-heading"><h2 id="password-heading">${t('Password')}</h2>${firstPasswordForm(csrf, password)}</section>`
  }
  return html`<section class="card" aria-labelledby="password-heading"><h2 id="password-heading">${t('Password')}</h2>
<p class="faint">${t('A new password signs you out everywhere else, and connected apps must ask you again. Your passkeys and one-time codes remain: check them below.')}</p>
${form(
  { action, csrf, hidden: { change: 'password' } },
  html`
${field({ name: 'current_password', label: t('Current password'), type: 'password', autocomplete: 'current-password', maxlength: maxPasswordCharacters }, faults)}
${newPassword('new_password', t('New password'), faults)}
${keys > 0 && keysChoice(keys)}
<div class="buttons">${button(t('Change the password'))}</div>`,
)}</section>`
}

function passkeyRow({ id, name, createdAt }: Passkey, csrf: string): Html {
  return html`<li><span class="icon">${icon('key')}</span><div><h3>${named(name)}</h3><p class="faint">${t('Added on {day}', { day: day(createdAt) })}</p></div>
${form({ action, csrf, hidden: { change: 'remove-passkey', passkey: id } }, button(t('Remove'), 'danger', { 'aria-label': t('Remove {name}', { name }) }))}</li>`
}

function passkeySection({ menu: { csrf }, passkeys, faults }: SecurityPage): Html {
  return html`<section class="card" aria-labelledby="passkeys-heading"><h2 id="passkeys-heading">${t('Passkeys')}</h2>
<p class="faint">${t('With a passkey you sign in by your device’s own lock, without a password.')}</p>
${passkeys.length > 0 && html`<ul class="rows">${passkeys.map(passkey => passkeyRow(passkey, csrf))}</ul>`}
<noscript><p class="faint">${t('Adding a passkey needs JavaScript.')}</p></noscript>
<div hidden data-passkey="create">${form(
    { action, csrf, hidden: { change: 'add-passkey', passkey: '' } },
    html`${field({ name: 'passkey_name', label: t('Name'), hint: t('To recognise it by, e.g. My phone.'), autocomplete: 'off', maxlength: 60, required: false }, faults)}
<div class="buttons">${button(t('Add a passkey'), undefined, { type: 'button' })}</div>
<p class="fault" role="alert" hidden>${t('The passkey was not added. Try again.')}</p>
<p class="fault" role="alert" hidden>${t('This device already has a passkey for this account.')}</p>`,
  )}</div></section>`
}

function codesLeft(count: number) {
  return count === 1
    ? t('Signing in with your password asks for a code. You have 1 recovery code left.')
    : t('Signing in with your password asks for a code. You have {count} recovery codes left.', { count })
}

function totpSection({ menu: { csrf }, totp, recoveryCodes }: SecurityPage): Html {
  const content = totp
    ? html`<p class="faint">${codesLeft(recoveryCodes)}</p>
<div class="buttons">${form({ action, csrf, hidden: { change: 'recovery-codes' } }, button(t('New recovery codes'), 'plain'))}
${form({ action, csrf, hidden: { change: 'remove-totp' } }, button(t('Turn off'), 'danger'))}</div>`
    : html`<p class="faint">${t('With an authenticator app, signing in with your password also takes a code that changes every 30 seconds.')}</p>
${form({ action, csrf, hidden: { change: 'start-totp' } }, html`<div class="buttons">${button(t('Turn on one-time codes'), 'plain')}</div>`)}`
  const state = totp
    ? html`<span class="state good">${t('On')}</span>`
    : html`<span class="state">${t('Off')}</span>`
  return html`<section class="card" aria-labelledby="totp-heading"><h2 id="totp-heading">${t('One-time codes')} ${state}</h2>${content}</section>`
}

export function securityPage(page: SecurityPage): Page {
  const { menu, faults } = page
  const content = html`<h1>${t('Security')}</h1>
${note(page.note)}
${summary(faults)}
${passwordSection(page)}
${passkeySection(page)}
${totpSection(page)}
${providerSection(page)}`
  return { title: t('Security'), content, menu, faulty: faults.size > 0, script: true }
}

export interface TotpPage {
  readonly menu: Menu
  readonly faults: FormFaults
  readonly qr: Html
  /** Base32. */
  readonly secret: string
}

export function totpPage({ menu, faults, qr, secret }: TotpPage): Page {
  const content = html`<h1>${t('Turn on one-time codes')}</h1>
${summary(faults)}
<ol><li>${t('Scan this picture with your authenticator app, or type the key into it.')}</li><li>${t('Type the code that the app then shows.')}</li></ol>
<div class="qr" role="img" aria-label="${t('QR code for your authenticator app; the key below says the same')}">${qr}</div>
<p>${t('Key:')} <span class="secret">${secret.match(/.{1,4}/g)?.join(' ')}</span></p>
${form(
  { action, csrf: menu.csrf, hidden: { change: 'confirm-totp' } },
  html`
${field({ name: 'code', label: t('Code'), hint: t('Six digits.'), autocomplete: 'one-time-code', inputmode: 'numeric', maxlength: 10, class: 'code' }, faults)}
<div class="buttons">${button(t('Turn on'))}</div>`,
)}
<p><a href="${action}">${t('Cancel')}</a></p>`
  return { title: t('One-time codes'), content, menu, faulty: faults.size > 0 }
}

/** The codes as a file within the link: it needs no script, and the codes are sent nowhere and stored nowhere. */
function downloadOf(codes: readonly string[], { email }: Menu): Message {
  return composed(say => {
    const text = `${say(t('Recovery codes for {email}', { email }))}\n\n${codes.join('\n')}\n`
    return `data:text/plain;charset=utf-8,${encodeURIComponent(text)}`
  })
}

export function recoveryCodesPage({
  menu,
  codes,
}: {
  readonly menu: Menu
  readonly codes: readonly string[]
}): Page {
  const content = html`<h1>${t('Your recovery codes')}</h1>
<p class="note">${t('Keep them somewhere safe: they are shown only now. Each one signs you in once if you lose your authenticator app.')}</p>
<ul class="codes" id="recovery-codes">${codes.map(code => html`<li>${code}</li>\n`)}</ul>
<div class="buttons"><a class="button" href="${downloadOf(codes, menu)}" download="recovery-codes.txt">${t('Download')}</a>
<button class="plain" type="button" hidden data-copy="recovery-codes" data-copied="${t('Copied')}" aria-label="${t('Copy: Your recovery codes')}">${t('Copy')}</button>
<a class="button plain" href="${action}">${t('I have saved them')}</a></div>`
  return { title: t('Recovery codes'), content, menu, script: true }
}
