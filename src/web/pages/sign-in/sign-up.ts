/** The sign-up page. */

import { html, type Text } from '../../../base/html.ts'
import { minPasswordCharacters } from '../../../identity/accounts/sign-in/password-rules.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import { maxPasswordCharacters } from '../../../identity/password.ts'
import { button, type FormFaults, field, form, summary } from '../components/form.ts'
import { fieldOfModel, type ModelField } from '../components/model-field.ts'
import type { Page } from '../frame/layout.ts'
import { type ProviderButtons, providerButtons } from './providers.ts'
import { continueTo } from './sign-in.ts'

export interface SignUpPage {
  readonly action: string
  readonly csrf: string
  readonly faults: FormFaults
  readonly name: string | undefined
  readonly email: string | undefined
  readonly app: string | undefined
  readonly signIn: string
  /** The fields of `users` with `signUp: true`. */
  readonly modelFields: readonly ModelField[]
  readonly providers?: ProviderButtons
}

export function newPassword(name: string, label: Text, faults: FormFaults) {
  return field(
    {
      name,
      label,
      type: 'password',
      hint: t('At least {count} characters. A few words in a row are easy to remember and hard to guess.', {
        count: minPasswordCharacters,
      }),
      autocomplete: 'new-password',
      minlength: minPasswordCharacters,
      maxlength: maxPasswordCharacters,
    },
    faults,
  )
}

export function signUpPage(page: SignUpPage): Page {
  const { action, csrf, faults, name, email, app, signIn, modelFields, providers } = page
  const content = html`<hgroup><h1>${t('Create an account')}</h1>${continueTo(app)}</hgroup>
${summary(faults)}
${providerButtons(providers)}
${form(
  { action, csrf },
  html`
${field({ name: 'name', label: t('Your name'), value: name, autocomplete: 'name', maxlength: 100 }, faults)}
${field({ name: 'email', label: t('E-mail address'), type: 'email', value: email, autocomplete: 'email', maxlength: 254 }, faults)}
${modelFields.map(modelField => fieldOfModel(modelField, faults))}
${newPassword('password', t('Password'), faults)}
<div class="buttons">${button(t('Create account'))}</div>`,
)}
<p class="foot">${t('Have an account already?')} <a href="${signIn}">${t('Sign in')}</a></p>`
  return { title: t('Create an account'), content, faulty: faults.size > 0 }
}
