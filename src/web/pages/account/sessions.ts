/** The browsers in which a user is signed in. */

import type { EpochMs } from '../../../base/epoch-ms.ts'
import { type Html, html, type Part, type Text } from '../../../base/html.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import type { SessionInfo } from '../../../identity/server/server.ts'
import { browserName, deviceIcon } from '../components/device-name.ts'
import { button, form } from '../components/form.ts'
import { icon } from '../components/icons.ts'
import { checkbox } from '../components/parts.ts'
import { ago, countryName, day } from '../components/time.ts'
import type { Menu, Page } from '../frame/layout.ts'
import { note } from './account.ts'

export interface SessionsPage {
  readonly menu: Menu
  /** The current session first, then the others by their last use. */
  readonly sessions: readonly SessionInfo[]
  readonly note: Text | undefined
  readonly now: EpochMs
}

const path = '/account/sessions'
const maxShown = 50

/** E.g. `Germany · 192.0.2.1`. */
function placeOf({ address, country }: SessionInfo): Part {
  const name = country === undefined ? undefined : countryName(country)
  if (address === '') return name
  const shown = html`<code>${address}</code>`
  return name === undefined ? shown : html`${name} · ${shown}`
}

function facts(session: SessionInfo, now: number): Html {
  const { signedInAt, usedAt, expiresAt, current } = session
  const place = placeOf(session)
  return html`<p>${current ? t('In use now') : t('Used {time}', { time: ago(usedAt, now) })}${place !== undefined && html` · ${place}`}</p>
<p class="faint">${t('Signed in on {day}, until {end}', { day: day(signedInAt), end: day(expiresAt) })}</p>`
}

function row(session: SessionInfo, { menu: { csrf }, now }: SessionsPage): Html {
  const { id, userAgent, current } = session
  const name = browserName(userAgent)
  return html`<li><span class="icon">${icon(deviceIcon(userAgent))}</span>
<div><h2>${name}${current && html` <span class="new">${t('This browser')}</span>`}</h2>
${facts(session, now)}</div>
${!current && form({ action: path, csrf, hidden: { session: id } }, button(t('Sign out'), 'danger', { 'aria-label': t('Sign out {name}', { name }) }))}</li>`
}

function signOutSection({ csrf }: Menu): Html {
  return html`<section class="card" aria-labelledby="everywhere"><h2 id="everywhere">${t('Sign out everywhere')}</h2>
<p>${t('Do this if you have lost a device, or if you see a browser that is not yours; then [change your password](/account/security). Connected apps and API keys keep their access: see [Connected apps](/account/apps) and [API keys](/account/keys).')}</p>
${form(
  { action: path, csrf, hidden: { session: 'others' } },
  html`<div class="choice">${checkbox({ id: 'this', label: t('This browser too'), checked: false })}</div>
<div class="buttons">${button(t('Sign out everywhere'), 'danger')}</div>`,
)}</section>`
}

export function sessionsPage(page: SessionsPage): Page {
  const { menu, sessions } = page
  const rest = sessions.length - maxShown
  const content = html`<h1>${t('Sessions')}</h1>
${note(page.note)}
<p>${t('These browsers are signed in to your account. Sign out any that you do not recognise.')}</p>
<ul class="card rows">${sessions.slice(0, maxShown).map(session => row(session, page))}</ul>
${rest > 0 && html`<p class="faint">${t('And {count} more, used longer ago.', { count: rest })}</p>`}
${signOutSection(menu)}`
  return { title: t('Sessions'), content, menu }
}
