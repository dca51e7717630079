/** The first page of an account: the user, and an overview of everything. */

import type { EpochMs } from '../../../base/epoch-ms.ts'
import { type Html, html, type Message, named, type Part, type Text } from '../../../base/html.ts'
import { type PageText, t } from '../../../identity/mail/page-texts.ts'
import { button, form } from '../components/form.ts'
import { type Icon, icon } from '../components/icons.ts'
import { personTile } from '../components/tile.ts'
import { day } from '../components/time.ts'
import type { Menu, Page } from '../frame/layout.ts'

/** The number of each. Items of the API are counted up to `maxCounted`. */
export interface AccountState {
  readonly hasPassword: boolean
  readonly passkeys: number
  /** Whether signing in by password needs a one-time code. */
  readonly codes: boolean
  readonly identities: number
  readonly sessions: number
  readonly connectedApps: number
  readonly keys: number
  readonly ownApps: number
  readonly webhooks: number
}

export const maxCounted = 100

export interface AccountPage {
  readonly menu: Menu
  readonly verified: boolean
  /** When the account was created; undefined if it is not known. */
  readonly since: EpochMs | undefined
  /** The address that the account gets once it is confirmed. */
  readonly waiting: string | undefined
  readonly state: AccountState
  readonly note: Text | undefined
}

export function note(text: Text | undefined) {
  return text !== undefined && html`<p class="note" role="status">${text}</p>`
}

/** What becomes of a new address. */
export function pendingText(address: string): Message {
  return t(
    '{address} becomes the address of your account when you open the link that we have sent there and confirm it.',
    { address: html`<strong>${address}</strong>` },
  )
}

function pendingAddress(csrf: string, address: string): Html {
  return html`<section class="card"><h2>${t('New address')}</h2>
<p>${pendingText(address)}</p>
${form({ action: '/account/verify', csrf, hidden: { drop: 'yes' } }, button(t('Keep the old address'), 'plain'))}</section>`
}

function count(number: number, one: PageText, many: PageText, none: PageText): Message {
  if (number === 0) return t(none)
  if (number >= maxCounted) return t('{items} or more', { items: t(many, { count: maxCounted }) })
  return t(number === 1 ? one : many, { count: number })
}

interface Card {
  readonly href: string
  readonly icon: Icon
  readonly title: Text
  readonly line: Part
  /** Whether the user should do something there. */
  readonly attention?: boolean
}

/** E.g. `2 passkeys, authenticator app on`. */
function securityCard({ hasPassword, passkeys, codes, identities }: AccountState): Card {
  const ways = [
    passkeys > 0 && count(passkeys, '1 passkey', '{count} passkeys', 'None'),
    codes && t('authenticator app on'),
    identities > 0 && count(identities, '1 linked account', '{count} linked accounts', 'None'),
  ].filter(way => way !== false)
  const isWeak = hasPassword && passkeys === 0 && !codes
  const start = [hasPassword ? t('Password only') : t('No password')]
  const line = isWeak ? [...(ways.length > 0 ? ways : start), t('add a passkey')] : ways
  return {
    href: '/account/security',
    icon: 'shield',
    title: t('Security'),
    line: (line.length > 0 ? line : start).flatMap((text, index) => (index === 0 ? [text] : [', ', text])),
    attention: isWeak,
  }
}

function cards(state: AccountState): readonly Card[] {
  const { sessions, connectedApps } = state
  return [
    securityCard(state),
    {
      href: '/account/sessions',
      icon: 'screen',
      title: t('Sessions'),
      line: sessions === 1 ? t('This browser only') : t('{count} browsers', { count: sessions }),
    },
    {
      href: '/account/apps',
      icon: 'apps',
      title: t('Connected apps'),
      line: count(connectedApps, '1 app', '{count} apps', 'None'),
    },
    { href: '/account/profile', icon: 'person', title: t('Profile'), line: t('Name, address, your data') },
  ]
}

function developerCards({ keys, ownApps, webhooks }: AccountState): readonly Card[] {
  return [
    {
      href: '/account/keys',
      icon: 'key',
      title: t('API keys'),
      line: count(keys, '1 key', '{count} keys', 'None yet'),
    },
    {
      href: '/account/developer',
      icon: 'code',
      title: t('OAuth apps'),
      line: count(ownApps, '1 app', '{count} apps', 'None yet'),
    },
    {
      href: '/account/webhooks',
      icon: 'webhook',
      title: t('Webhooks'),
      line: count(webhooks, '1 webhook', '{count} webhooks', 'None yet'),
    },
    { href: '/docs', icon: 'book', title: t('Documentation'), line: t('Reference and guides') },
  ]
}

function cardItem({ href, icon: iconName, title, line, attention }: Card): Html {
  const status = attention
    ? html`<span class="attention">${line}</span>`
    : html`<span class="faint">${line}</span>`
  return html`<li><a class="card way" href="${href}"><span class="icon">${icon(iconName)}</span><span><strong>${title}</strong>${status}</span>${icon('forward')}</a></li>`
}

function identity({ menu, verified, since }: AccountPage): Html {
  const { name, email } = menu
  const state: Part = verified
    ? html`<span class="state good">${t('Confirmed')}</span>`
    : html`<span class="state bad">${t('Not confirmed')}</span>`
  return html`<div class="card identity">${personTile(name, email, 'large')}<div>
<p class="name">${named(name)}</p>
<p>${email}</p>
<p class="faint small">${state}${since !== undefined && html` ${t('Here since {day}', { day: day(since) })}`}</p></div></div>`
}

export function accountPage(page: AccountPage): Page {
  const { menu, waiting, state } = page
  const content = html`<h1>${t('Your account')}</h1>
${note(page.note)}
${identity(page)}
${waiting !== undefined && pendingAddress(menu.csrf, waiting)}
<ul class="grid ways">${cards(state).map(cardItem)}</ul>
<section aria-labelledby="developers"><h2 id="developers">${t('For developers')}</h2>
<ul class="grid ways">${developerCards(state).map(cardItem)}</ul></section>`
  return { title: t('Your account'), content, menu }
}
