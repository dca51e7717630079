/** Links in mails: requesting one for a new password, and the pages that links open. */

import { html } from '../../../base/html.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import { maxPasswordCharacters } from '../../../identity/password.ts'
import { button, type FormFaults, field, form, summary } from '../components/form.ts'
import type { Page } from '../frame/layout.ts'
import { newPassword } from './sign-up.ts'

interface RequestPage {
  readonly csrf: string
  readonly faults: FormFaults
}

export function resetRequestPage({ csrf, faults }: RequestPage): Page {
  const content = html`<h1>${t('Forgotten your password?')}</h1>
${summary(faults)}
<p>${t('We send you a link to set a new one.')}</p>
${form(
  { action: '/account/reset', csrf },
  html`
${field({ name: 'email', label: t('E-mail address'), type: 'email', autocomplete: 'username', maxlength: 254 }, faults)}
<div class="buttons">${button(t('Send the link'))}</div>`,
)}
<p class="foot"><a href="/account/sign-in">${t('Back to sign-in')}</a></p>`
  return { title: t('Forgotten password'), content, faulty: faults.size > 0 }
}

interface ResetPage {
  readonly csrf: string
  readonly faults: FormFaults
  readonly token: string
}

export function resetPage({ csrf, faults, token }: ResetPage): Page {
  const content = html`<h1>${t('Set a new password')}</h1>
${summary(faults)}
<p>${t('This secures the account: every session, passkey and API key ends, and connected apps must ask you again.')}</p>
${form(
  { action: '/account/reset', csrf, hidden: { token } },
  html`
${newPassword('password', t('New password'), faults)}
<div class="buttons">${button(t('Set the password'))}</div>`,
)}`
  return { title: t('New password'), content, faulty: faults.size > 0 }
}

interface VerifyPage {
  readonly csrf: string
  readonly token: string
  readonly email: string
  /** Whether the account is to get the address. */
  readonly isNew: boolean
  readonly asksPassword: boolean
  readonly faults: FormFaults
}

const ownPassword = {
  name: 'password',
  label: t('Your password'),
  type: 'password',
  autocomplete: 'current-password',
  maxlength: maxPasswordCharacters,
} as const

/** The page behind a link that confirms an address. Only its button confirms: programs that scan mail open links too. */
export function verifyPage({ csrf, token, email, isNew, asksPassword, faults }: VerifyPage): Page {
  const question = isNew
    ? t('Should {email} become the address of your account?', { email })
    : t('Is {email} yours?', { email })
  const content = html`<h1>${t('Confirm your e-mail address')}</h1>
${summary(faults)}
<p>${question}</p>
${form({ action: '/account/verify', csrf, hidden: { token } }, html`${asksPassword && field(ownPassword, faults)}<div class="buttons">${button(t('Confirm the address'))}</div>`)}`
  return { title: t('Confirm your address'), content, faulty: faults.size > 0 }
}

interface FinishResetPage {
  readonly csrf: string
  readonly faults: FormFaults
  readonly account: string
  readonly email: string
}

/** The page behind the link of a sign-up. */
export function finishPage({ csrf, faults, account, email }: FinishResetPage): Page {
  const password = field(
    {
      name: 'password',
      label: t('Password'),
      type: 'password',
      hint: t('The one that you chose when you asked for the account.'),
      autocomplete: 'current-password',
      maxlength: maxPasswordCharacters,
    },
    faults,
  )
  const content = html`<h1>${t('Finish your account')}</h1>
${summary(faults)}
<p>${t('The account is for {email}. If you did not ask for one, close this page: no account will be created.', { email })}</p>
${form(
  { action: '/account/verify', csrf, hidden: { account } },
  html`${password}<div class="buttons">${button(t('Create the account'))}</div>`,
)}`
  return { title: t('Finish your account'), content, faulty: faults.size > 0 }
}
