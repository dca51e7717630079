/** Sign-in with other providers: the buttons, and the pages that follow a provider's response. */

import { type Html, html, named, type Part } from '../../../base/html.ts'
import type { Identity } from '../../../identity/accounts/identities.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import { button, type FormFaults, field, form, summary } from '../components/form.ts'
import { fieldOfModel, type ModelField } from '../components/model-field.ts'
import { providerMark } from '../components/provider-marks.ts'
import { time } from '../components/time.ts'
import type { Menu, Page } from '../frame/layout.ts'

/** A provider as pages name it. */
export interface ProviderName {
  readonly id: string
  readonly name: string
  /** As in the settings, e.g. `google`, `oidc`. */
  readonly kind: string
}

export interface ProviderButtons {
  readonly providers: readonly ProviderName[]
  readonly csrf: string
  /** Hidden fields, which say where to continue. */
  readonly hidden: Readonly<Record<string, string | undefined>>
}

/** Separates two sign-in methods. */
export const or = html`<p class="or">${t('or')}</p>`

/** A form for each provider. Nothing is sent to a provider before its button is pressed. */
export function providerButtons(options: ProviderButtons | undefined): Part {
  if (options === undefined || options.providers.length === 0) return null
  const { providers, csrf, hidden } = options
  const forms = providers.map(provider => providerButton(provider, csrf, hidden))
  return html`<div class="providers">${forms}</div>
${or}`
}

function providerButton(provider: ProviderName, csrf: string, hidden: ProviderButtons['hidden']): Html {
  const action = `/account/sign-in/${provider.id}`
  const label = html`${providerMark(provider)}<span>${t('Continue with {provider}', { provider: provider.name })}</span>`
  return form({ action, csrf, hidden }, button(label, 'plain'))
}

export interface CompletePage {
  readonly action: string
  readonly csrf: string
  readonly faults: FormFaults
  readonly provider: string
  readonly name: string | undefined
  readonly email: string | undefined
  /** Whether the provider has verified the address, which cannot be changed then. */
  readonly isProven: boolean
  readonly app: string | undefined
  readonly modelFields: readonly ModelField[]
}

/** Asks for what an account needs and the provider has not supplied. */
export function completePage(page: CompletePage): Page {
  const { action, csrf, faults, provider, name, email, isProven, app, modelFields } = page
  const address = isProven
    ? html`<p>E-mail address: ${email}</p>`
    : field(
        {
          name: 'email',
          label: t('E-mail address'),
          type: 'email',
          hint: t('We send a link there. The account is created when you open it.'),
          value: email,
          autocomplete: 'email',
          maxlength: 254,
        },
        faults,
      )
  const content = html`<h1>${app === undefined ? t('Create an account') : t('Create an account to continue to {name}', { name: named(app) })}</h1>
${summary(faults)}
<p>${t('You will sign in with {provider}.', { provider })}</p>
${form(
  { action, csrf },
  html`
${field({ name: 'name', label: t('Your name'), value: name, autocomplete: 'name', maxlength: 100 }, faults)}
${address}
${modelFields.map(modelField => fieldOfModel(modelField, faults))}
<div class="buttons">${button(t('Create account'))}</div>`,
)}
<p>${t('Have an account already? [Sign in](/account/sign-in), then link {provider} under Security.', { provider })}</p>`
  return { title: t('Create an account'), content, faulty: faults.size > 0 }
}

export interface LinkPage {
  readonly csrf: string
  /** Of the account here. */
  readonly email: string
  readonly provider: string
  readonly label: string
}

/** Asks whether to link an identity, after the owner of the account has signed in. */
export function linkPage({ csrf, email, provider, label }: LinkPage): Page {
  const content = html`<h1>${t('Link {provider}?', { provider })}</h1>
<p>${t('{label} at {provider} will sign in to your account here, {email}.', { label: named(label), provider, email })}</p>
${form(
  { action: '/account/link', csrf },
  html`<div class="buttons">${button(t('Link {provider}', { provider }), undefined, { name: 'answer', value: 'link' })}${button(t('Do not link'), 'plain', { name: 'answer', value: 'no' })}</div>`,
)}`
  return { title: t('Link {provider}', { provider }), content }
}

interface FinishProviderPage {
  readonly csrf: string
  readonly provider: ProviderName
  readonly account: string
  readonly email: string
}

/** The page behind the link of a sign-up with a provider. */
export function finishWithProviderPage({ csrf, provider, account, email }: FinishProviderPage): Page {
  const content = html`<h1>${t('Finish your account')}</h1>
<p>${t('The account is for {email}. If you did not ask for one, close this page: no account will be created.', { email })}</p>
<p>${t('Sign in with {provider} once more, to prove that you asked for the account.', { provider: provider.name })}</p>
<div class="providers">${providerButton(provider, csrf, { account })}</div>`
  return { title: t('Finish your account'), content }
}

export interface ProviderSection {
  readonly menu: Menu
  readonly providers: readonly ProviderName[]
  readonly identities: readonly Identity[]
}

const action = '/account/security'

function identityRow(
  { id, provider, label, createdAt }: Identity,
  providersById: ReadonlyMap<string, ProviderName>,
  csrf: string,
): Html {
  const providerName = providersById.get(provider) ?? { id: provider, name: provider, kind: 'oidc' }
  const { name } = providerName
  const end = providersById.has(provider)
    ? null
    : html` ${t('It cannot sign in at the moment: this service does not offer {provider}.', { provider: name })}`
  return html`<li><span class="icon">${providerMark(providerName)}</span><div><h3>${name}</h3><p>${named(label)}</p><p class="faint">${t('Linked on {time}.', { time: time(createdAt) })}${end}</p></div>
${form({ action, csrf, hidden: { change: 'unlink-provider', identity: id } }, button(t('Unlink'), 'danger', { 'aria-label': t('Unlink {provider}, {label}', { provider: name, label }) }))}</li>`
}

/** The section of the security page. */
export function providerSection({
  menu: { csrf },
  providers,
  identities,
}: ProviderSection): Html | undefined {
  if (providers.length === 0 && identities.length === 0) return undefined
  const providersById = new Map(providers.map(provider => [provider.id, provider]))
  const linked = new Set(identities.map(({ provider }) => provider))
  return html`<section class="card" aria-labelledby="providers-heading"><h2 id="providers-heading">${t('Sign-in with others')}</h2>
<p class="faint">${t('An account that is linked here signs in to this one. Its address and name there do not matter.')}</p>
${identities.length > 0 && html`<ul class="rows">${identities.map(identity => identityRow(identity, providersById, csrf))}</ul>`}
<div class="buttons links">${providers.map(provider =>
    form(
      { action, csrf, hidden: { change: 'link-provider', provider: provider.id } },
      button(
        html`${providerMark(provider)}<span>${linked.has(provider.id) ? t('Another {provider} account', { provider: provider.name }) : t('Link {provider}', { provider: provider.name })}</span>`,
        'plain',
      ),
    ),
  )}</div></section>`
}

/** For users without a password, who have signed in by other means recently. */
export function firstPasswordForm(csrf: string, newPassword: Html): Html {
  return html`<p>${t('You have no password: you sign in by other means. With a password, you can also sign in without them.')}</p>
${form({ action, csrf, hidden: { change: 'first-password' } }, html`${newPassword}<div class="buttons">${button(t('Set a password'))}</div>`)}`
}
