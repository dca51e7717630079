/** The browsers in which a user is signed in. */
import type { SessionInfo } from '../server/server.ts'
import { note } from './account.ts'
import { button, form } from './form.ts'
import { type Html, html } from './html.ts'
import type { Menu, Page } from './layout.ts'
import { time } from './time.ts'

export interface SessionsPage {
  readonly menu: Menu
  readonly sessions: readonly SessionInfo[]
  readonly note: string | undefined
}

const browsers = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['Firefox', 'Firefox'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Safari'],
] as const

const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const

type Known = readonly (readonly [mark: string, name: string])[]

function nameIn(userAgent: string, known: Known): string | undefined {
  return known.find(([mark]) => userAgent.includes(mark))?.[1]
}

/** A browser in words, as far as it tells. */
export function browserName(userAgent: string): string {
  const browser = nameIn(userAgent, browsers) ?? 'A browser'
  const system = nameIn(userAgent, systems)
  return system === undefined ? browser : `${browser} on ${system}`
}

function row({ id, signedInAt, expiresAt, address, userAgent, current }: SessionInfo, csrf: string): Html {
  const name = browserName(userAgent)
  return html`<section class="card">
<h2>${name}${current && html` <span class="new">This browser</span>`}</h2>
<dl><dt>Signed in</dt><dd>${time(signedInAt)}</dd>
${address !== '' && html`<dt>From</dt><dd>${address}</dd>`}
<dt>Ends</dt><dd>${time(expiresAt)}</dd></dl>
${!current && form({ action: '/account/sessions', csrf, hidden: { session: id } }, button('Sign out', 'danger', { 'aria-label': `Sign out ${name}` }))}
</section>`
}

export function sessionsPage({ menu, sessions, note: said }: SessionsPage): Page {
  const others = sessions.some(({ current }) => !current)
  const content = html`<h1>Sessions</h1>
${note(said)}
<p>You are signed in here:</p>
${sessions.map(session => row(session, menu.csrf))}
${others && form({ action: '/account/sessions', csrf: menu.csrf, hidden: { session: 'others' } }, button('Sign out everywhere else', 'danger'))}`
  return { title: 'Sessions', content, menu }
}
