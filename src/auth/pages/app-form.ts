/** The form by which an OAuth app is registered and edited. */
import type { ChosenScopes, ScopeChoices } from '../accounts/scope-choices.ts'
import { button, type Faults, field, form, otherField, summary } from './form.ts'
import { type Html, html, named } from './html.ts'
import type { Menu, Page } from './layout.ts'
import { group, linkButton, radio } from './parts.ts'
import { scopeFields } from './scope-fields.ts'

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
}

export interface AppFormPage {
  readonly menu: Menu
  readonly faults: Faults
  readonly entered: AppForm
  readonly choices: ScopeChoices
  /** The name of the app that is edited; undefined: a new one. */
  readonly edited: string | undefined
  readonly action: string
  readonly back: string
}

function typeGroup({ entered, faults }: AppFormPage): Html {
  const confidential = radio({
    name: 'type',
    value: 'confidential',
    label: html`<strong>Yes</strong>: it runs on a server of yours (confidential)`,
    hint: 'It gets a secret, which only the server knows.',
    checked: entered.type !== 'public',
  })
  const open = radio({
    name: 'type',
    value: 'public',
    label: html`<strong>No</strong>: it runs where its users can look into it (public)`,
    hint: 'A mobile, desktop or single-page app. It has no secret, and proves by PKCE that a code is its own.',
    checked: entered.type === 'public',
  })
  const hint = 'This cannot be changed later.'
  return group(
    { name: 'type', legend: 'Can the app keep a secret?', hint, content: html`${confidential}${open}` },
    faults,
  )
}

function scopeGroup({ entered, choices, faults }: AppFormPage): Html {
  const some = radio({
    name: 'access',
    value: 'some',
    label: 'Only what I choose here',
    checked: entered.access !== 'any',
  })
  const any = radio({
    name: 'access',
    value: 'any',
    label: 'Anything',
    hint: 'Each request still names what it asks for, and the user decides.',
    checked: entered.access === 'any',
  })
  const hint =
    'Ask for as little as the app needs: people see this list, and refuse apps that want too much. What you take away later ends at once in the tokens that the app holds.'
  const content = html`${some}${scopeFields(choices, entered.chosen)}${any}`
  return group({ name: 'access', legend: 'What the app may ask people for', hint, content }, faults)
}

export function appFormPage(page: AppFormPage): Page {
  const { menu, faults, entered, edited, action, back } = page
  const title = edited === undefined ? 'Register an app' : 'Edit an app'
  const uris = otherField(
    {
      name: 'uris',
      label: 'Redirect URIs',
      hint: 'One per line: where the browser comes back to. They are compared character by character. https, or http on localhost, 127.0.0.1 or [::1] for development, or a scheme of the app’s own, e.g. com.example.app:/callback.',
      input: tied =>
        html`<textarea${tied} rows="4" spellcheck="false" autocapitalize="off">\n${entered.uris}</textarea>`,
    },
    faults,
  )
  const content = html`<h1>${edited === undefined ? title : html`Edit ${named(edited)}`}</h1>
${summary(faults)}
${form(
  { action, csrf: menu.csrf },
  html`
${field({ name: 'name', label: 'Name', hint: 'What people see when they are asked for consent.', value: entered.name, autocomplete: 'off', maxlength: 100 }, faults)}
${edited === undefined && typeGroup(page)}
${uris}
${scopeGroup(page)}
${field({ name: 'logo', label: 'Logo (optional)', hint: 'An https address with a public host name.', type: 'url', value: entered.logo, autocomplete: 'off', maxlength: 2048, required: false }, faults)}
${field({ name: 'homepage', label: 'Website (optional)', hint: 'Where people read more about the app.', type: 'url', value: entered.homepage, autocomplete: 'off', maxlength: 2048, required: false }, faults)}
<div class="buttons">${button(edited === undefined ? 'Register the app' : 'Save')}${linkButton(back, 'Cancel', 'plain')}</div>`,
)}`
  return { title, content, menu, faulty: faults.size > 0 }
}
