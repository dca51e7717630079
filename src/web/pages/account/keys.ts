/** A user's API keys: the list, the form for a new key, the key itself, and the confirmation before one is revoked. */
import type { EpochMs } from '../../../base/epoch-ms.ts'
import { type Html, html, named } from '../../../base/html.ts'
import type { ChosenScopes, ScopeChoices } from '../../../identity/accounts/self-service/scope-choices.ts'
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
  readonly may: readonly string[] | undefined
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
const everything = 'Everything that you may do'

function scopeList(may: ShownKey['may']): Html {
  if (may === undefined) return html`<strong class="weighted">${everything}</strong>`
  return html`<ul>${may.map(sentence => html`<li>${sentence}</li>`)}</ul>`
}

function creatorText({ app, key }: ShownCreator): Html {
  const appName = app === null ? html`an app` : html`the app ${named(app ?? '')}`
  if (key === undefined) return html`${appName}. It ends with the access of the app.`
  const keyName = key === null ? html`a key that is gone` : html`the key ${named(key)}`
  return app === undefined ? keyName : html`${keyName}, which descends from ${appName}`
}

function keyCard({ id, name, prefix, may, createdAt, expiresAt, expired, usedAt, creator }: ShownKey): Html {
  const end = expiresAt === undefined ? 'Never' : time(expiresAt)
  return html`<section class="card" aria-labelledby="key-${id}">
<div class="heading"><h2 id="key-${id}">${named(name)}${expired && html` <span class="state">Expired</span>`}</h2>
${linkButton(`${path}/${id}/revoke`, expired ? 'Remove' : 'Revoke', 'danger', { 'aria-label': `${expired ? 'Remove' : 'Revoke'} ${name}` })}</div>
<dl><dt>Begins with</dt><dd><code>${prefix}…</code></dd>
<dt>May</dt><dd>${scopeList(may)}</dd>
<dt>Created</dt><dd>${time(createdAt)}</dd>
${creator && html`<dt>Made by</dt><dd>${creatorText(creator)}</dd>`}
<dt>Last used</dt><dd>${usedAt === undefined ? 'Not yet' : time(usedAt)}</dd>
<dt>${expired ? 'Expired' : 'Expires'}</dt><dd>${end}</dd></dl>
</section>`
}

export interface KeysPage {
  readonly menu: Menu
  readonly keys: readonly ShownKey[]
  /** Whether there are more than these. */
  readonly hasMore: boolean
  readonly note: string | undefined
}

export function keysPage({ menu, keys, hasMore, note }: KeysPage): Page {
  const intro = html`With an API key, a program of your own uses the API as you, within the key’s scopes. Anyone who has the key can do the same: keep it as safe as a password. <a href="/docs">How to use one</a>`
  const content = html`${ownHeading('API keys', note, linkButton(`${path}/new`, 'Create a key'), intro)}
${keys.length === 0 && html`<p class="empty">You have no API keys.</p>`}
${keys.map(keyCard)}
${keys.some(({ usedAt }) => usedAt !== undefined) && html`<p class="faint">The last use of a key is recorded at most once an hour, so a key may have been used more recently.</p>`}
${hasMore && html`<p class="faint">These are the newest. <code>GET /api/v1/api_keys</code> lists all.</p>`}`
  return { title: 'API keys', content, menu }
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
  const days = [...ends].map(([value, at]): readonly [string, string] => [
    value,
    `In ${value} days, on ${dayText(at)}`,
  ])
  return selectField(
    {
      name: 'end',
      label: 'Expires',
      hint: 'A key that expires does less harm if it is lost.',
      chosen: entered.end,
      options: [
        ...days,
        ['date', 'On a date of my choice'],
        ['never', 'Never: only for programs whose key nobody can replace'],
      ],
    },
    faults,
  )
}

function scopeGroup({ entered, choices, faults }: NewKeyPage): Html {
  const some = radio({
    name: 'access',
    value: 'some',
    label: 'Only what I choose here',
    checked: entered.access !== 'all',
  })
  const all = radio({
    name: 'access',
    value: 'all',
    label: html`<strong>${everything}</strong>`,
    hint: 'Anyone with such a key can also change your profile, create more keys and delete your data. Most programs need far less.',
    checked: entered.access === 'all',
  })
  const content = html`${some}
${scopeFields(choices, entered.chosen)}
<div class="weighted">${all}</div>`
  return group({ name: 'access', legend: 'What the key may do', content }, faults)
}

export function newKeyPage(page: NewKeyPage): Page {
  const { menu, faults, entered, maxNameCharacters } = page
  const content = html`<h1>New API key</h1>
${summary(faults)}
${form(
  { action: `${path}/new`, csrf: menu.csrf },
  html`
${field({ name: 'name', label: 'Name', hint: 'What the key is for, e.g. Nightly backup.', value: entered.name, autocomplete: 'off', maxlength: maxNameCharacters }, faults)}
<div class="pair">${endField(page)}
${field({ name: 'date', label: 'Date', hint: 'For “On a date of my choice”: the key works until the end of that day, UTC.', type: 'date', value: entered.date, autocomplete: 'off', required: false }, faults)}</div>
${scopeGroup(page)}
<div class="buttons">${button('Create the key')}${linkButton(path, 'Cancel', 'plain')}</div>`,
)}`
  return { title: 'New API key', content, menu, faulty: faults.size > 0 }
}

export interface CreatedKeyPage {
  readonly menu: Menu
  readonly key: ShownKey
  readonly secret: string
  /** A request that the key may make. */
  readonly curl: string | undefined
}

export function createdKeyPage({ menu, key, secret, curl }: CreatedKeyPage): Page {
  const content = html`<h1>Your new key</h1>
<p class="note" role="status">Copy it now: it is shown only this once. If you lose it, revoke it and create another.</p>
${copied('key', 'API key', secret)}
${curl !== undefined && copiedCode('curl', 'Try it in a terminal', curl)}
${keyDetails(key)}
<p>${linkButton(path, 'I have saved it')}</p>`
  return { title: 'Your new key', content, menu, script: true }
}

function keyDetails({ name, may, expiresAt }: ShownKey): Html {
  return html`<section class="card"><h2>${named(name)}</h2>
<dl><dt>May</dt><dd>${scopeList(may)}</dd><dt>Expires</dt><dd>${expiresAt === undefined ? 'Never' : time(expiresAt)}</dd></dl></section>`
}

export interface RevokeKeyPage {
  readonly menu: Menu
  readonly key: ShownKey
  /** What was created with the key, or with keys that descend from it. */
  readonly made: { readonly keys: readonly string[]; readonly webhooks: number }
}

function madeBox({ keys, webhooks }: RevokeKeyPage['made']): Html | false {
  if (keys.length === 0 && webhooks === 0) return false
  const keyCount = keys.length > 0 && html`${keys.length === 1 ? '1 key' : `${keys.length} keys`}`
  const webhookCount = webhooks > 0 && html`${webhooks === 1 ? '1 webhook' : `${webhooks} webhooks`}`
  const counts = html`${keyCount}${keyCount && webhookCount && ' and '}${webhookCount}`
  const listed = keys.length > 0 && html`<ul>${keys.map(name => html`<li>${named(name)}</li>`)}</ul>`
  return html`<p>It made ${counts}, itself or by keys that it made. They stay unless you revoke them too: do so if someone else has had the key.</p>
${listed}
<div class="choice">${checkbox({ id: 'made', label: html`Also delete all that it made: ${counts}`, checked: false })}</div>`
}

export function revokeKeyPage({ menu, key, made }: RevokeKeyPage): Page {
  const { id, name, prefix } = key
  const used =
    key.usedAt !== undefined && html` It was last used on ${time(key.usedAt)}, or within the hour after.`
  const content = html`<p>The key that begins with <code>${prefix}…</code> stops working at once, in every program that uses it, and webhooks that were created with it are paused.${used} This cannot be undone.</p>
${madeBox(made)}`
  return confirmPage({
    menu,
    title: html`Revoke ${named(name)}?`,
    name: 'Revoke a key',
    content,
    action: `${path}/${id}/revoke`,
    label: 'Revoke the key',
    back: path,
  })
}
