/** The apps to which a user has granted access, with a button to revoke it. */

import type { EpochMs } from '../../../base/epoch-ms.ts'
import { type Html, html, named, type Part, type Text } from '../../../base/html.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import type { ScopeGroup } from '../../../identity/server/consent/choices.ts'
import type { ConnectedApp } from '../../../identity/server/server.ts'
import { button, form } from '../components/form.ts'
import { appTile } from '../components/tile.ts'
import { ago, day } from '../components/time.ts'
import { websiteOf } from '../components/website.ts'
import type { Menu, Page } from '../frame/layout.ts'
import { note } from './account.ts'

export interface AppsPage {
  readonly menu: Menu
  readonly apps: readonly ShownApp[]
  readonly note: Text | undefined
  readonly now: EpochMs
}

export interface ShownApp extends ConnectedApp {
  /** Its scopes, where writing includes reading. */
  readonly groups: readonly ScopeGroup[]
}

/** Further permissions are folded. */
const maxUnfolded = 4

function permissions({ groups }: ShownApp): Html {
  const sentences = groups.flatMap(({ choices }) => choices.map(({ sentence }) => sentence))
  const items = (some: readonly Text[]) => html`<ul>${some.map(sentence => html`<li>${sentence}</li>`)}</ul>`
  if (sentences.length <= maxUnfolded + 1) return items(sentences)
  return html`${items(sentences.slice(0, maxUnfolded))}
<details><summary>${t('And {count} more', { count: sentences.length - maxUnfolded })}</summary>${items(sentences.slice(maxUnfolded))}</details>`
}

function times({ app, allowedAt, usedAt }: ShownApp, now: number): Html {
  const used: Part = usedAt !== undefined && html` · ${t('used {time}', { time: ago(usedAt, now) })}`
  if (app.firstParty)
    return html`${t('You were not asked · last signed in on {day}', { day: day(allowedAt) })}${used}`
  return html`${t('Allowed on {day}', { day: day(allowedAt) })}${used}`
}

function homepage({ app }: ShownApp): Part {
  const website = websiteOf(app)
  return website && html` · <a href="${website.href}" rel="noopener noreferrer nofollow">${website.host}</a>`
}

function connected(shown: ShownApp, { menu: { csrf }, now }: AppsPage): Html {
  const { app } = shown
  const { clientId, name, firstParty } = app
  return html`<section class="card connected" aria-labelledby="app-${clientId}">
<div class="app">${appTile(app)}<div><h2 id="app-${clientId}">${named(name)}${firstParty && html` <span class="state">${t('Part of this service')}</span>`}</h2>
<p class="faint small">${times(shown, now)}${homepage(shown)}</p></div></div>
<div class="permissions">${permissions(shown)}</div>
${form(
  { action: '/account/apps', csrf, hidden: { client_id: clientId } },
  button(t('Disconnect'), 'danger', { 'aria-label': t('Disconnect {name}', { name }) }),
)}
</section>`
}

export function appsPage(page: AppsPage): Page {
  const { menu, apps } = page
  const content = html`<h1>${t('Connected apps')}</h1>
${note(page.note)}
${apps.length === 0 ? html`<p class="empty">${t('No app has access to your account.')}</p>` : html`<p>${t('These apps have access to your account. An app that you disconnect loses its access at once, until you allow it again. API keys that it has made end with it.')}</p>`}
${apps.map(app => connected(app, page))}`
  return { title: t('Connected apps'), content, menu }
}
