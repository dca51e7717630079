/** Parts that the pages of one's own keys, apps and webhooks share. */
import type { App } from '../../server/server.ts'
import { note } from '../account/account.ts'
import type { Menu, Page } from '../frame/layout.ts'
import { button, describedBy, type Faults, field, form, hintAndFault, summary } from './form.ts'
import { attributes, type Html, html, type Part } from './html.ts'

/** A link that looks like a button: it leads to a page where something is done. */
export function linkButton(
  href: string,
  label: string,
  kind?: 'plain' | 'danger',
  more: Readonly<Record<string, string>> = {},
): Html {
  const classes = kind === undefined ? 'button' : `button ${kind}`
  return html`<a${attributes({ class: classes, href, ...more })}>${label}</a>`
}

/** An address that somebody else chose. */
export function foreignLink(address: string): Html {
  return html`<a href="${address}" rel="noopener noreferrer nofollow">${address}</a>`
}

/** Where an app says more about itself, for a list of names and values. */
export function appLinks({
  homepageUri,
  policyUri,
  tosUri,
}: Pick<App, 'homepageUri' | 'policyUri' | 'tosUri'>): readonly Part[] {
  const links = [
    ['Website', homepageUri],
    ['Privacy policy', policyUri],
    ['Terms of service', tosUri],
  ] as const
  return links.map(
    ([name, address]) => address !== undefined && html`<dt>${name}</dt><dd>${foreignLink(address)}</dd>`,
  )
}

/** A value to be copied. The button is there where the script runs; without it, the text is selected by hand. */
export function copied(id: string, label: string, value: string): Html {
  return html`<div class="copy">${field({ name: id, label, value, readonly: true, required: false, autocomplete: 'off', class: 'secret' })}
<button class="plain" type="button" hidden data-copy="${id}" aria-label="Copy: ${label}">Copy</button></div>`
}

/** Lines of code to be copied. */
export function copiedCode(id: string, label: string, code: string): Html {
  return html`<figure class="code"><figcaption><span id="${id}-label">${label}</span><button class="plain" type="button" hidden data-copy="${id}" aria-label="Copy: ${label}">Copy</button></figcaption>
<pre id="${id}" tabindex="0" role="region" aria-labelledby="${id}-label"><code>${code}</code></pre></figure>`
}

export interface Radio {
  readonly name: string
  readonly value: string
  readonly label: Part
  readonly hint?: Part
  readonly checked: boolean
  /** The first one of a faulty group takes the focus from the list of faults. */
  readonly id?: string
}

/** One of several; a `hint` is read out with it. */
export function radio({
  name,
  value,
  label,
  hint,
  checked,
  id = `${name}-${value}`.replaceAll(/[^\w-]/g, '-'),
}: Radio): Html {
  const described = hint !== undefined && `${id}-hint`
  const input = attributes({ type: 'radio', id, name, value, checked, 'aria-describedby': described })
  return html`<div class="choice"><input${input}><div><label for="${id}">${label}</label>${hint !== undefined && html`<span class="hint" id="${id}-hint">${hint}</span>`}</div></div>`
}

export interface Group {
  /** Of the fault. */
  readonly name: string
  readonly legend: string
  readonly hint?: Part
  readonly content: Part
}

/** A set of fields with a fault of its own. */
export function group({ name, legend, hint, content }: Group, faults: Faults): Html {
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
  /** Of the document: without markup. */
  readonly name: string
  readonly content: Part
  readonly action: string
  readonly hidden?: Readonly<Record<string, string>>
  readonly label: string
  readonly back: string
  readonly faults: Faults
}

/** Asks before something ends. */
export function confirmPage({
  menu,
  title,
  name,
  content,
  action,
  hidden,
  label,
  back,
  faults,
}: ConfirmPage): Page {
  const page = html`<h1>${title}</h1>
${summary(faults)}
${form(
  { action, csrf: menu.csrf, ...(hidden && { hidden }) },
  html`${content}
<div class="buttons">${button(label, 'danger')}${linkButton(back, 'Cancel', 'plain')}</div>`,
)}`
  return { title: name, content: page, menu, faulty: faults.size > 0 }
}

/** The first lines of a page of one's own things. */
export function ownHeading(title: string, said: string | undefined, add: Part, intro: Part): Html {
  return html`<div class="heading"><h1>${title}</h1>${add}</div>
${note(said)}
<p>${intro}</p>`
}
