/** The sign-in page, with a password or a passkey, and the page for a one-time code. */

import { html, named, type Part, type Text } from '../../../base/html.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import { maxPasswordCharacters } from '../../../identity/password.ts'
import { button, type FormFaults, field, form, summary } from '../components/form.ts'
import { checkbox } from '../components/parts.ts'
import type { Page } from '../frame/layout.ts'
import { or, type ProviderButtons, providerButtons } from './providers.ts'

export interface SignInPage {
  readonly action: string
  readonly csrf: string
  readonly faults: FormFaults
  readonly email: string | undefined
  readonly remember: boolean
  /** The app that asks; undefined for the account's own pages. */
  readonly app: string | undefined
  /** The address of the sign-up page; undefined if sign-up is not offered. */
  readonly signUp: string | undefined
  readonly next?: string | undefined
  readonly providers?: ProviderButtons
  /** Shown above the form. */
  readonly note?: Text | undefined
  /** The name of the user who is signed in, and proves it again. */
  readonly confirms?: string | undefined
}

function passkeyForm({ action, csrf, next }: SignInPage) {
  return html`<div hidden data-passkey="get">
${or}
${form(
  { action, csrf, hidden: { next, passkey: '' } },
  html`<div class="buttons">${button(t('Sign in with a passkey'), 'plain', { type: 'button' })}</div>
<p class="fault" role="alert" hidden>${t('The passkey did not work. Try again, or use your password.')}</p>`,
)}
</div>`
}

/** The app to which the user continues. */
export function continueTo(app: string | undefined): Part {
  return (
    app !== undefined &&
    html`<p class="lead">${t('to continue to {name}', { name: html`<strong>${named(app)}</strong>` })}</p>`
  )
}

export function signInPage(page: SignInPage): Page {
  const { action, csrf, faults, email, remember, app, signUp, next, note, providers } = page
  const title = page.confirms === undefined ? t('Sign in') : t('Confirm it’s you')
  const heading =
    page.confirms === undefined ? title : t('Confirm it’s you, {name}', { name: named(page.confirms) })
  const content = html`<hgroup><h1>${heading}</h1>${continueTo(app)}</hgroup>
${summary(faults)}
${note !== undefined && html`<p class="note">${note}</p>`}
${providerButtons(providers)}
${form(
  { action, csrf, hidden: { next } },
  html`
${field({ name: 'email', label: t('E-mail address'), type: 'email', value: email, autocomplete: 'username webauthn', maxlength: 254 }, faults)}
${field({ name: 'password', label: t('Password'), type: 'password', autocomplete: 'current-password', maxlength: maxPasswordCharacters }, faults)}
<div class="between"><div class="choice">${checkbox({ id: 'remember', label: t('Stay signed in'), checked: remember })}</div>
<a href="/account/reset">${t('Forgotten your password?')}</a></div>
<div class="buttons">${button(page.confirms === undefined ? t('Sign in') : t('Confirm'))}</div>`,
)}
${passkeyForm(page)}
${signUp !== undefined && html`<p class="foot">${t('No account yet?')} <a href="${signUp}">${t('Create one')}</a></p>`}`
  return { title, content, faulty: faults.size > 0, script: true }
}

export interface SecondFactorPage {
  readonly action: string
  readonly csrf: string
  readonly faults: FormFaults
  readonly token: string
  readonly next: string | undefined
}

export function secondFactorPage({ action, csrf, faults, token, next }: SecondFactorPage): Page {
  const content = html`<h1>${t('Your one-time code')}</h1>
${summary(faults)}
${form(
  { action, csrf, hidden: { second_factor: token, next } },
  html`
${field({ name: 'code', label: t('Code'), hint: t('The six digits that your authenticator app shows, or one of your recovery codes.'), autocomplete: 'one-time-code', maxlength: 32, class: 'code', autofocus: faults.size === 0 }, faults)}
<div class="buttons">${button(t('Continue'))}</div>`,
)}`
  return { title: t('One-time code'), content, faulty: faults.size > 0 }
}
