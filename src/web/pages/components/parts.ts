/** Components that the pages of a user's keys, apps and webhooks share. */

import { attributes, type Html, html, type Part, type Text } from '../../../base/html.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import type { App } from '../../../identity/server/server.ts'
import { note } from '../account/account.ts'
import type { Menu, Page } from '../frame/layout.ts'
import { button, describedBy, type FormFaults, field, form, hintAndFault, otherField } from './form.ts'

/** A link that looks like a button. */
export function linkButton(
  href: string,
  label: Text,
  kind?: 'plain' | 'danger',
  otherAttributes: Readonly<Record<string, Text>> = {},
): Html {
  const classes = kind === undefined ? 'button' : `button ${kind}`
  return html`<a${attributes({ class: classes, href, ...otherAttributes })}>${label}</a>`
}

/** A link to an address that a user has chosen. */
function foreignLink(address: string): Html {
  return html`<a href="${address}" rel="noopener noreferrer nofollow">${address}</a>`
}

/** The links of an app to its own pages, for a description list. */
export function appLinks({
  homepageUri,
  policyUri,
  tosUri,
}: Pick<App, 'homepageUri' | 'policyUri' | 'tosUri'>): readonly Part[] {
  const links = [
    [t('Website'), homepageUri],
    [t('Privacy policy'), policyUri],
    [t('Terms of service'), tosUri],
  ] as const
  return links.map(
    ([name, address]) => address !== undefined && html`<dt>${name}</dt><dd>${foreignLink(address)}</dd>`,
  )
}

/** A value to copy. The script shows the button; without it, users select the text. */
export function copied(id: string, label: Text, value: string): Html {
  return html`<div class="copy">${field({ name: id, label, value, readonly: true, required: false, autocomplete: 'off', class: 'secret' })}
<button class="plain" type="button" hidden data-copy="${id}" data-copied="${t('Copied')}" aria-label="${t('Copy: {label}', { label })}">${t('Copy')}</button></div>`
}

/** Code to copy. */
export function copiedCode(id: string, label: Text, code: string): Html {
  return html`<figure class="code"><figcaption><span id="${id}-label">${label}</span><button class="plain" type="button" hidden data-copy="${id}" data-copied="${t('Copied')}" aria-label="${t('Copy: {label}', { label })}">${t('Copy')}</button></figcaption>
<pre id="${id}" tabindex="0" role="region" aria-labelledby="${id}-label"><code>${code}</code></pre></figure>`
}

export interface Radio {
  readonly name: string
  readonly value: string
  readonly label: Part
  readonly hint?: Part
  readonly checked: boolean
}

/** One of several options. Screen readers read its `hint` with it. */
export function radio({ name, value, label, hint, checked }: Radio): Html {
  const id = `${name}-${value}`.replaceAll(/[^\w-]/g, '-')
  const described = hint !== undefined && `${id}-hint`
  const input = attributes({ type: 'radio', id, name, value, checked, 'aria-describedby': described })
  return html`<div class="choice"><input${input}><div><label for="${id}">${label}</label>${hint !== undefined && html`<span class="hint" id="${id}-hint">${hint}</span>`}</div></div>`
}

export interface Checkbox {
  readonly id: string
  readonly name?: string
  readonly value?: string
  readonly label: Part
  readonly checked: boolean
}

/** A box to tick, with its label. */
export function checkbox({ id, name = id, value = 'yes', label, checked }: Checkbox): Html {
  return html`<input${attributes({ type: 'checkbox', id, name, value, checked })}><label for="${id}">${label}</label>`
}

export interface Select {
  readonly name: string
  readonly label: Text
  readonly hint: Text
  readonly chosen: string
  readonly options: readonly (readonly [value: string, label: Text])[]
}

export function selectField({ name, label, hint, chosen, options }: Select, faults: FormFaults): Html {
  const listed = options.map(
    ([value, text]) => html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`,
  )
  return otherField({ name, label, hint, input: tied => html`<select${tied}>${listed}</select>` }, faults)
}

export interface FieldGroup {
  /** The name of its fault. */
  readonly name: string
  readonly legend: Text
  readonly hint?: Part
  readonly content: Part
}

/** A set of fields with its own fault. */
export function group({ name, legend, hint, content }: FieldGroup, faults: FormFaults): Html {
  const fault = faults.get(name)
  const set = attributes({
    id: name,
    tabindex: fault === undefined ? undefined : -1,
    'aria-describedby': describedBy(name, hint, fault),
  })
  return html`<fieldset${set}><legend>${legend}</legend>
${hintAndFault(name, hint, fault)}
${content}</fieldset>`
}

export interface ConfirmPage {
  readonly menu: Menu
  readonly title: Part
  /** The title of the document, without markup. */
  readonly name: Text
  readonly content: Part
  readonly action: string
  readonly label: Text
  readonly back: string
}

/** Asks for confirmation before something is deleted or ended. */
export function confirmPage({ menu, title, name, content, action, label, back }: ConfirmPage): Page {
  const page = html`<h1>${title}</h1>
${form(
  { action, csrf: menu.csrf },
  html`${content}
<div class="buttons">${button(label, 'danger')}${linkButton(back, t('Cancel'), 'plain')}</div>`,
)}`
  return { title: name, content: page, menu }
}

/** The top of a page that lists a user's own items. */
export function ownHeading(title: Text, noteText: Text | undefined, addLink: Part, intro: Part): Html {
  return html`<div class="heading"><h1>${title}</h1>${addLink}</div>
${note(noteText)}
<p>${intro}</p>`
}
