/** The form to add or edit a webhook. */

import { type Html, html, type Text } from '../../../base/html.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import { button, type FormFaults, field, form, summary } from '../components/form.ts'
import { checkbox, group, linkButton, radio } from '../components/parts.ts'
import type { Menu, Page } from '../frame/layout.ts'

/** The events of one collection. */
export interface EventGroup {
  readonly collection: string
  readonly title: Text
  readonly types: readonly { readonly type: string; readonly label: Text }[]
}

/** What was entered. */
export interface WebhookForm {
  readonly url: string
  readonly description: string
  readonly events: string
  readonly types: ReadonlySet<string>
  readonly collections: ReadonlySet<string>
}

export interface WebhookFormPage {
  readonly menu: Menu
  readonly faults: FormFaults
  readonly entered: WebhookForm
  readonly groups: readonly EventGroup[]
  readonly isNew: boolean
  readonly action: string
  readonly back: string
}

function tick(name: string, value: string, label: Text, checked: boolean): Html {
  const id = `${name}-${value}`.replaceAll(/[^\w-]/g, m => (m === '*' ? 'all' : '-'))
  return html`<span>${checkbox({ id, name, value, label, checked })}</span>`
}

function typesOf({ title, types }: EventGroup, { types: ticked }: WebhookForm): Html {
  return html`<fieldset class="levels"><legend>${title}</legend><div>${types.map(({ type, label }) => tick('type', type, label, ticked.has(type)))}</div></fieldset>`
}

function eventsGroup({ entered, groups, faults }: WebhookFormPage): Html {
  const every = radio({
    name: 'events',
    value: 'all',
    label: t('Everything that happens'),
    hint: t('That is, everything that you may see. Tick collections to limit it to these.'),
    checked: entered.events === 'all',
  })
  const some = radio({
    name: 'events',
    value: 'some',
    label: t('Only the events that I choose here'),
    checked: entered.events !== 'all',
  })
  const collections = groups.map(({ collection, title }) =>
    tick('collection', collection, title, entered.collections.has(collection)),
  )
  const content = html`${every}
<div class="scopes"><fieldset class="levels"><legend>${t('Only of')}</legend><div>${collections}</div></fieldset></div>
${some}
<div class="scopes">${groups.map(eventGroup => typesOf(eventGroup, entered))}</div>`
  return group({ name: 'events', legend: t('Events'), content }, faults)
}

export function webhookFormPage(page: WebhookFormPage): Page {
  const { menu, faults, entered, isNew, action, back } = page
  const title = isNew ? t('Add a webhook') : t('Edit a webhook')
  const content = html`<h1>${title}</h1>
${summary(faults)}
${form(
  { action, csrf: menu.csrf },
  html`
${field({ name: 'url', label: t('Address'), hint: t('Where events are sent by POST: an https address that can be reached from the internet.'), type: 'url', value: entered.url, autocomplete: 'off', maxlength: 2048 }, faults)}
${field({ name: 'description', label: t('Description (optional)'), hint: t('What it is for, in your own words.'), value: entered.description, autocomplete: 'off', maxlength: 255, required: false }, faults)}
${eventsGroup(page)}
<div class="buttons">${button(isNew ? t('Add the webhook') : t('Save'))}${linkButton(back, t('Cancel'), 'plain')}</div>`,
)}`
  return { title, content, menu, faulty: faults.size > 0 }
}
