/** The first page of an account: the user, and an overview of everything. */
import type { EpochMs } from '../../../base/epoch-ms.ts'
import { type Html, html, named, type Part } from '../../../base/html.ts'
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
  readonly note: string | undefined
}

export function note(text: string | undefined) {
  return text !== undefined && html`<p class="note" role="status">${text}</p>`
}

function pendingAddress(csrf: string, address: string): Html {
  return html`<section class="card"><h2>New address</h2>
<p><strong>${address}</strong> becomes the address of your account when you open the link that we have sent there and confirm it.</p>
${form({ action: '/account/verify', csrf, hidden: { drop: 'yes' } }, button('Keep the old address', 'plain'))}</section>`
}

function count(number: number, one: string, many: string, none: string): string {
  if (number === 0) return none
  if (number >= maxCounted) return `${maxCounted} ${many} or more`
  return number === 1 ? `1 ${one}` : `${number} ${many}`
}

interface Card {
  readonly href: string
  readonly icon: Icon
  readonly title: string
  readonly line: string
  /** Whether the user should do something there. */
  readonly attention?: boolean
}

/** E.g. `2 passkeys, authenticator app on`. */
function securityCard({ hasPassword, passkeys, codes, identities }: AccountState): Card {
  const ways = [
    passkeys > 0 && count(passkeys, 'passkey', 'passkeys', ''),
    codes && 'authenticator app on',
    identities > 0 && count(identities, 'linked account', 'linked accounts', ''),
  ].filter(way => way !== false)
  const isWeak = hasPassword && passkeys === 0 && !codes
  const start = hasPassword ? ['Password only'] : ['No password']
  const line = isWeak ? [...(ways.length > 0 ? ways : start), 'add a passkey'] : ways
  return {
    href: '/account/security',
    icon: 'shield',
    title: 'Security',
    line: (line.length > 0 ? line : start).join(', '),
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
      title: 'Sessions',
      line: sessions === 1 ? 'This browser only' : `${sessions} browsers`,
    },
    {
      href: '/account/apps',
      icon: 'apps',
      title: 'Connected apps',
      line: count(connectedApps, 'app', 'apps', 'None'),
    },
    { href: '/account/profile', icon: 'person', title: 'Profile', line: 'Name, address, your data' },
  ]
}

function developerCards({ keys, ownApps, webhooks }: AccountState): readonly Card[] {
  return [
    { href: '/account/keys', icon: 'key', title: 'API keys', line: count(keys, 'key', 'keys', 'None yet') },
    {
      href: '/account/developer',
      icon: 'code',
      title: 'OAuth apps',
      line: count(ownApps, 'app', 'apps', 'None yet'),
    },
    {
      href: '/account/webhooks',
      icon: 'webhook',
      title: 'Webhooks',
      line: count(webhooks, 'webhook', 'webhooks', 'None yet'),
    },
    { href: '/docs', icon: 'book', title: 'Documentation', line: 'Reference and guides' },
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
    ? html`<span class="state good">Confirmed</span>`
    : html`<span class="state bad">Not confirmed</span>`
  return html`<div class="card identity">${personTile(name, email, 'large')}<div>
<p class="name">${named(name)}</p>
<p>${email}</p>
<p class="faint small">${state}${since !== undefined && html` Here since ${day(since)}`}</p></div></div>`
}

export function accountPage(page: AccountPage): Page {
  const { menu, waiting, state } = page
  const content = html`<h1>Your account</h1>
${note(page.note)}
${identity(page)}
${waiting !== undefined && pendingAddress(menu.csrf, waiting)}
<ul class="grid ways">${cards(state).map(cardItem)}</ul>
<section aria-labelledby="developers"><h2 id="developers">For developers</h2>
<ul class="grid ways">${developerCards(state).map(cardItem)}</ul></section>`
  return { title: 'Your account', content, menu }
}
