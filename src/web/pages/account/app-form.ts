/** The form to register or edit an OAuth app. */

import { type Html, html, named, type Text } from '../../../base/html.ts'
import type { ChosenScopes, ScopeChoices } from '../../../identity/accounts/self-service/scope-choices.ts'
import { type PageText, t } from '../../../identity/mail/page-texts.ts'
import { button, type FormFaults, field, form, otherField, summary } from '../components/form.ts'
import { group, linkButton, radio, selectField } from '../components/parts.ts'
import { scopeFields } from '../components/scope-fields.ts'
import type { Menu, Page } from '../frame/layout.ts'

/** What was entered. */
export interface AppForm {
  readonly name: string
  readonly type: string
  /** One per line. */
  readonly uris: string
  readonly access: string
  readonly chosen: ChosenScopes
  readonly logo: string
  readonly homepage: string
  readonly policy: string
  readonly terms: string
  /** The default scopes: `none`, `all` chosen ones, or `some`. */
  readonly defaults: string
  /** Scopes, separated by spaces; used if `defaults` is `some`. */
  readonly defaultScopes: string
  /** `''`: the default of the service. */
  readonly tokenFormat: string
  /** `''`: the default of the service. */
  readonly separator: string
  readonly firstParty: boolean
}

export interface AppFormPage {
  readonly menu: Menu
  readonly faults: FormFaults
  readonly entered: AppForm
  readonly choices: ScopeChoices
  /** The defaults of the service. */
  readonly service: { readonly tokenFormat: 'opaque' | 'jwt'; readonly separator: string }
  /** Whether the user may register first-party apps. */
  readonly mayBeFirstParty: boolean
  /** The name of the app that is edited; undefined: a new one. */
  readonly edited: string | undefined
  readonly action: string
  readonly back: string
}

function typeGroup({ entered, faults }: AppFormPage): Html {
  const confidential = radio({
    name: 'type',
    value: 'confidential',
    label: t('**Yes**: it runs on a server of yours (confidential)'),
    hint: t('It gets a secret, which only the server knows.'),
    checked: entered.type !== 'public',
  })
  const open = radio({
    name: 'type',
    value: 'public',
    label: t('**No**: it runs where its users can inspect it (public)'),
    hint: t(
      'A mobile, desktop or single-page app. It has no secret, and proves by PKCE that a code is its own.',
    ),
    checked: entered.type === 'public',
  })
  const hint = t('This cannot be changed later.')
  return group(
    { name: 'type', legend: t('Can the app keep a secret?'), hint, content: html`${confidential}${open}` },
    faults,
  )
}

function scopeGroup({ entered, choices, faults }: AppFormPage): Html {
  const some = radio({
    name: 'access',
    value: 'some',
    label: t('Only what I choose here'),
    checked: entered.access !== 'any',
  })
  const any = radio({
    name: 'access',
    value: 'any',
    label: t('Anything'),
    hint: t('Each request still names what it asks for, and the user decides.'),
    checked: entered.access === 'any',
  })
  const hint = t(
    'Ask for as little as the app needs: people see this list, and refuse apps that want too much. If you remove a permission later, the app’s tokens lose it at once.',
  )
  const content = html`${some}${scopeFields(choices, entered.chosen)}${any}`
  return group({ name: 'access', legend: t('What the app may ask people for'), hint, content }, faults)
}

function defaultsGroup({ entered, faults }: AppFormPage): Html {
  const choice = (value: string, label: Text) =>
    radio({ name: 'defaults', value, label, checked: entered.defaults === value })
  const content = html`${choice('none', t('Refuse it'))}
${choice('all', t('Ask for all that is chosen above'))}
${choice('some', t('Ask for these scopes:'))}
${field({ name: 'default-scopes', label: t('Default scopes'), hint: t('By their names, separated by spaces, e.g. openid profile. Each must be among those that the app may ask for.'), value: entered.defaultScopes, autocomplete: 'off', maxlength: 4000, required: false }, faults)}`
  const legend = t('When a request names no scope')
  return group({ name: 'defaults', legend, content }, faults)
}

const separatorNames: ReadonlyMap<string, PageText> = new Map([
  [',', 'As the service is set: a comma'],
  [' ', 'As the service is set: a space, as RFC 6749 says'],
])

function tokenFields({ entered, service, faults }: AppFormPage): Html {
  const format = selectField(
    {
      name: 'token-format',
      label: t('Access tokens'),
      hint: t(
        'An opaque token ends at once when it is revoked. A JWT can be checked without asking this service, and lasts until it expires.',
      ),
      chosen: entered.tokenFormat,
      options: [
        [
          '',
          service.tokenFormat === 'jwt'
            ? t('As the service is set: a JWT')
            : t('As the service is set: opaque'),
        ],
        ['opaque', t('Opaque')],
        ['jwt', t('JWT (RFC 9068)')],
      ],
    },
    faults,
  )
  const separator = selectField(
    {
      name: 'separator',
      label: t('Between scopes in token responses'),
      hint: t('Most libraries expect a space. Requests may have either.'),
      chosen: entered.separator,
      options: [
        ['', t(separatorNames.get(service.separator) ?? 'As the service is set: a comma')],
        [',', t('A comma')],
        [' ', t('A space')],
      ],
    },
    faults,
  )
  return html`<div class="pair">${format}${separator}</div>`
}

function firstPartyField({ entered }: AppFormPage): Html {
  const hint = t(
    'Nobody is asked for consent, and the app gets what it asks for as soon as somebody has signed in. Only for apps that you run.',
  )
  return html`<div class="choice"><input type="checkbox" id="first-party" name="first-party" value="yes"${entered.firstParty && html` checked`} aria-describedby="first-party-hint"><div><label for="first-party">${t('The app is part of this service')}</label><span class="hint" id="first-party-hint">${hint}</span></div></div>`
}

/** Settings that most apps do not change: folded unless one has a fault or was changed. */
function advanced(page: AppFormPage): Html {
  const { entered, faults, mayBeFirstParty } = page
  const names = ['defaults', 'default-scopes', 'token-format', 'separator', 'first-party']
  const isChanged =
    entered.defaults !== 'none' ||
    entered.tokenFormat !== '' ||
    entered.separator !== '' ||
    entered.firstParty
  const open = isChanged || names.some(name => faults.has(name))
  return html`<details class="card settings"${open && html` open`}><summary>${t('More settings')}</summary>
${defaultsGroup(page)}
${tokenFields(page)}
${mayBeFirstParty && firstPartyField(page)}</details>`
}

export function appFormPage(page: AppFormPage): Page {
  const { menu, faults, entered, edited, action, back } = page
  const title = edited === undefined ? t('Register an app') : t('Edit an app')
  const uris = otherField(
    {
      name: 'uris',
      label: t('Redirect URIs'),
      hint: t(
        'One per line: where the browser comes back to. They are compared character by character. https, or http on localhost, 127.0.0.1 or [::1] for development, or a scheme of the app’s own, e.g. com.example.app:/callback. After a sign-out the browser may come back to any of them too.',
      ),
      input: tied =>
        html`<textarea${tied} rows="4" spellcheck="false" autocapitalize="off">\n${entered.uris}</textarea>`,
    },
    faults,
  )
  const content = html`<h1>${edited === undefined ? title : t('Edit {name}', { name: named(edited) })}</h1>
${summary(faults)}
${form(
  { action, csrf: menu.csrf },
  html`
${field({ name: 'name', label: t('Name'), hint: t('What people see when they are asked for consent.'), value: entered.name, autocomplete: 'off', maxlength: 100 }, faults)}
${edited === undefined && typeGroup(page)}
${uris}
${scopeGroup(page)}
${field({ name: 'logo', label: t('Logo (optional)'), hint: t('The https address of a square picture, with a public host name. People see it when they are asked for consent; without one, the first letter of the name.'), type: 'url', value: entered.logo, autocomplete: 'off', maxlength: 2048, required: false }, faults)}
${field({ name: 'homepage', label: t('Website (optional)'), hint: t('Where people read more about the app.'), type: 'url', value: entered.homepage, autocomplete: 'off', maxlength: 2048, required: false }, faults)}
<div class="pair">${field({ name: 'policy', label: t('Privacy policy (optional)'), hint: t('What the app does with people’s data.'), type: 'url', value: entered.policy, autocomplete: 'off', maxlength: 2048, required: false }, faults)}
${field({ name: 'terms', label: t('Terms of service (optional)'), hint: t('People see both before they allow anything.'), type: 'url', value: entered.terms, autocomplete: 'off', maxlength: 2048, required: false }, faults)}</div>
${advanced(page)}
<div class="buttons">${button(edited === undefined ? t('Register the app') : t('Save'))}${linkButton(back, t('Cancel'), 'plain')}</div>`,
)}`
  return { title, content, menu, faulty: faults.size > 0 }
}
