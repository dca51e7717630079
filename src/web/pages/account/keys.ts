/** A user's API keys: the list, the form for a new key, the key itself, and the confirmation before one is revoked. */

import type { EpochMs } from '../../../base/epoch-ms.ts'
import { type Html, html, type Message, named, type Text } from '../../../base/html.ts'
import type { ChosenScopes, ScopeChoices } from '../../../identity/accounts/self-service/scope-choices.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import { button, type FormFaults, field, form, summary } from '../components/form.ts'
import {
  checkbox,
  confirmPage,
  copied,
  copiedCode,
  group,
  linkButton,
  ownHeading,
  radio,
  selectField,
} from '../components/parts.ts'
import { scopeFields } from '../components/scope-fields.ts'
import { dayText, time } from '../components/time.ts'
import type { Menu, Page } from '../frame/layout.ts'

export interface ShownKey {
  readonly id: number
  readonly name: string
  /** Its first characters. */
  readonly prefix: string
  /** In plain words; undefined: everything that its owner may do. */
  readonly may: readonly Text[] | undefined
  readonly createdAt: EpochMs
  /** Undefined: never. */
  readonly expiresAt: number | undefined
  readonly expired: boolean
  /** Undefined: no use is known. */
  readonly usedAt: EpochMs | undefined
  /** Undefined: its owner, or an operator. */
  readonly creator?: ShownCreator | undefined
}

/** What created a key. */
export interface ShownCreator {
  /** The name of the app that created it, or a key before it; null: the app has no name here. */
  readonly app: string | null | undefined
  /** The name of the key that created it; null: it is gone. */
  readonly key: string | null | undefined
}

const path = '/account/keys'
const everything = t('Everything that you may do')

function scopeList(may: ShownKey['may']): Html {
  if (may === undefined) return html`<strong class="weighted">${everything}</strong>`
  return html`<ul>${may.map(sentence => html`<li>${sentence}</li>`)}</ul>`
}

function creatorText({ app, key }: ShownCreator): Message {
  const appName = app === null ? t('an app') : t('the app {name}', { name: named(app ?? '') })
  if (key === undefined) return t('{app}. It ends with the access of the app.', { app: appName })
  const keyName = key === null ? t('a key that is gone') : t('the key {name}', { name: named(key) })
  return app === undefined ? keyName : t('{key}, which descends from {app}', { key: keyName, app: appName })
}

function keyCard({ id, name, prefix, may, createdAt, expiresAt, expired, usedAt, creator }: ShownKey): Html {
  const end = expiresAt === undefined ? t('Never') : time(expiresAt)
  return html`<section class="card" aria-labelledby="key-${id}">
<div class="heading"><h2 id="key-${id}">${named(name)}${expired && html` <span class="state">${t('Expired')}</span>`}</h2>
${linkButton(`${path}/${id}/revoke`, expired ? t('Remove') : t('Revoke'), 'danger', { 'aria-label': expired ? t('Remove {name}', { name }) : t('Revoke {name}', { name }) })}</div>
<dl><dt>${t('Begins with')}</dt><dd><code>${prefix}…</code></dd>
<dt>${t('May')}</dt><dd>${scopeList(may)}</dd>
<dt>${t('Created')}</dt><dd>${time(createdAt)}</dd>
${creator && html`<dt>${t('Made by')}</dt><dd>${creatorText(creator)}</dd>`}
<dt>${t('Last used')}</dt><dd>${usedAt === undefined ? t('Not yet') : time(usedAt)}</dd>
<dt>${expired ? t('Expired') : t('Expires')}</dt><dd>${end}</dd></dl>
</section>`
}

export interface KeysPage {
  readonly menu: Menu
  readonly keys: readonly ShownKey[]
  /** Whether there are more than these. */
  readonly hasMore: boolean
  readonly note: Text | undefined
}

export function keysPage({ menu, keys, hasMore, note }: KeysPage): Page {
  const intro = t(
    'With an API key, a program of your own uses the API as you, within the key’s scopes. Anyone who has the key can do the same: keep it as safe as a password. [How to use one](/docs)',
  )
  const content = html`${ownHeading(t('API keys'), note, linkButton(`${path}/new`, t('Create a key')), intro)}
${keys.length === 0 && html`<p class="empty">${t('You have no API keys.')}</p>`}
${keys.map(keyCard)}
${keys.some(({ usedAt }) => usedAt !== undefined) && html`<p class="faint">${t('The last use of a key is recorded at most once an hour, so a key may have been used more recently.')}</p>`}
${hasMore && html`<p class="faint">${t('These are the newest. `{request}` lists all.', { request: 'GET /api/v1/api_keys' })}</p>`}`
  return { title: t('API keys'), content, menu }
}

/** What was entered. */
export interface KeyForm {
  readonly name: string
  readonly end: string
  /** `YYYY-MM-DD` */
  readonly date: string
  readonly access: string
  readonly chosen: ChosenScopes
}

export interface NewKeyPage {
  readonly menu: Menu
  readonly faults: FormFaults
  readonly entered: KeyForm
  readonly choices: ScopeChoices
  /** The number of days of each choice, and when it ends. */
  readonly ends: ReadonlyMap<string, EpochMs>
  readonly maxNameCharacters: number
}

function endField({ entered, ends, faults }: NewKeyPage): Html {
  const days = [...ends].map(([value, at]): readonly [string, Text] => [
    value,
    t('In {count} days, on {day}', { count: value, day: dayText(at) }),
  ])
  return selectField(
    {
      name: 'end',
      label: t('Expires'),
      hint: t('A key that expires does less harm if it is lost.'),
      chosen: entered.end,
      options: [
        ...days,
        ['date', t('On a date of my choice')],
        ['never', t('Never: only for programs whose key nobody can replace')],
      ],
    },
    faults,
  )
}

function scopeGroup({ entered, choices, faults }: NewKeyPage): Html {
  const some = radio({
    name: 'access',
    value: 'some',
    label: t('Only what I choose here'),
    checked: entered.access !== 'all',
  })
  const all = radio({
    name: 'access',
    value: 'all',
    label: html`<strong>${everything}</strong>`,
    hint: t(
      'Anyone with such a key can also change your profile, create more keys and delete your data. Most programs need far less.',
    ),
    checked: entered.access === 'all',
  })
  const content = html`${some}
${scopeFields(choices, entered.chosen)}
<div class="weighted">${all}</div>`
  return group({ name: 'access', legend: t('What the key may do'), content }, faults)
}

export function newKeyPage(page: NewKeyPage): Page {
  const { menu, faults, entered, maxNameCharacters } = page
  const content = html`<h1>${t('New API key')}</h1>
${summary(faults)}
${form(
  { action: `${path}/new`, csrf: menu.csrf },
  html`
${field({ name: 'name', label: t('Name'), hint: t('What the key is for, e.g. Nightly backup.'), value: entered.name, autocomplete: 'off', maxlength: maxNameCharacters }, faults)}
<div class="pair">${endField(page)}
${field({ name: 'date', label: t('Date'), hint: t('For “On a date of my choice”: the key works until the end of that day, UTC.'), type: 'date', value: entered.date, autocomplete: 'off', required: false }, faults)}</div>
${scopeGroup(page)}
<div class="buttons">${button(t('Create the key'))}${linkButton(path, t('Cancel'), 'plain')}</div>`,
)}`
  return { title: t('New API key'), content, menu, faulty: faults.size > 0 }
}

export interface CreatedKeyPage {
  readonly menu: Menu
  readonly key: ShownKey
  readonly secret: string
  /** A request that the key may make. */
  readonly curl: string | undefined
}

export function createdKeyPage({ menu, key, secret, curl }: CreatedKeyPage): Page {
  const content = html`<h1>${t('Your new key')}</h1>
<p class="note" role="status">${t('Copy it now: it is shown only this once. If you lose it, revoke it and create another.')}</p>
${copied('key', t('API key'), secret)}
${curl !== undefined && copiedCode('curl', t('Try it in a terminal'), curl)}
${keyDetails(key)}
<p>${linkButton(path, t('I have saved it'))}</p>`
  return { title: t('Your new key'), content, menu, script: true }
}

function keyDetails({ name, may, expiresAt }: ShownKey): Html {
  return html`<section class="card"><h2>${named(name)}</h2>
<dl><dt>${t('May')}</dt><dd>${scopeList(may)}</dd><dt>${t('Expires')}</dt><dd>${expiresAt === undefined ? t('Never') : time(expiresAt)}</dd></dl></section>`
}

export interface RevokeKeyPage {
  readonly menu: Menu
  readonly key: ShownKey
  /** What was created with the key, or with keys that descend from it. */
  readonly made: { readonly keys: readonly string[]; readonly webhooks: number }
}

function madeBox({ keys, webhooks }: RevokeKeyPage['made']): Html | false {
  if (keys.length === 0 && webhooks === 0) return false
  const keyCount =
    keys.length > 0 && (keys.length === 1 ? t('1 key') : t('{count} keys', { count: keys.length }))
  const webhookCount =
    webhooks > 0 && (webhooks === 1 ? t('1 webhook') : t('{count} webhooks', { count: webhooks }))
  const counts =
    keyCount && webhookCount
      ? t('{one} and {other}', { one: keyCount, other: webhookCount })
      : keyCount || webhookCount
  const listed = keys.length > 0 && html`<ul>${keys.map(name => html`<li>${named(name)}</li>`)}</ul>`
  return html`<p>${t('It made {items}, itself or by keys that it made. They stay unless you revoke them too: do so if someone else has had the key.', { items: counts })}</p>
${listed}
<div class="choice">${checkbox({ id: 'made', label: t('Also delete all that it made: {items}', { items: counts }), checked: false })}</div>`
}

export function revokeKeyPage({ menu, key, made }: RevokeKeyPage): Page {
  const { id, name, prefix } = key
  const used =
    key.usedAt !== undefined &&
    html` ${t('It was last used on {time}, or within the hour after.', { time: time(key.usedAt) })}`
  const content = html`<p>${t('The key that begins with `{prefix}` stops working at once, in every program that uses it, and webhooks that were created with it are paused.', { prefix: `${prefix}…` })}${used} ${t('This cannot be undone.')}</p>
${madeBox(made)}`
  return confirmPage({
    menu,
    title: t('Revoke {name}?', { name: named(name) }),
    name: t('Revoke a key'),
    content,
    action: `${path}/${id}/revoke`,
    label: t('Revoke the key'),
    back: path,
  })
}
