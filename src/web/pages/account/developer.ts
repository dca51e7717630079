/** A user's OAuth apps: the list, an app with its secrets and first requests, and confirmations before something ends. */

import type { EpochMs } from '../../../base/epoch-ms.ts'
import { type Html, html, type Message, named, type Part, type Text } from '../../../base/html.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import type { App } from '../../../identity/server/server.ts'
import { duration } from '../components/duration.ts'
import { button, form } from '../components/form.ts'
import { appLinks, confirmPage, copied, copiedCode, linkButton, ownHeading } from '../components/parts.ts'
import { appTile } from '../components/tile.ts'
import { number, time } from '../components/time.ts'
import type { Menu, Page } from '../frame/layout.ts'
import { note } from './account.ts'

export interface OwnApp extends App {
  readonly id: number
  readonly redirectUris: readonly string[]
  /** In plain words; undefined: any scope. */
  readonly may: readonly Text[] | undefined
  /** The users who have connected it; `isMore`: there are more than were counted. */
  readonly users: { readonly count: number; readonly isMore: boolean }
  /** In plain words, the scopes of a request that names none; undefined: it is refused. */
  readonly byDefault: readonly Text[] | undefined
  /** Undefined: the default of the service. */
  readonly tokenFormat: 'opaque' | 'jwt' | undefined
  readonly separator: ',' | ' ' | undefined
  /** For all of its users together; undefined: without a limit. */
  readonly requestsPerMinute: number | undefined
  readonly createdAt: EpochMs
}

const path = '/account/developer'

const kinds = {
  confidential: t('Confidential: it keeps a secret'),
  public: t('Public: it has no secret'),
}

/** E.g. `12 people`, `1,000+ people`. */
function userCount({ count, isMore }: OwnApp['users']): Message {
  if (count === 0) return t('Nobody yet')
  if (count === 1 && !isMore) return t('1 person')
  return t('{count} people', { count: [number(count), isMore && '+'] })
}

const formats = { opaque: t('Opaque'), jwt: t('JWT (RFC 9068)') }
const separators = { ',': t('A comma'), ' ': t('A space') }

function appCard(app: OwnApp): Html {
  const { id, name, type, clientId, createdAt } = app
  return html`<section class="card" aria-labelledby="app-${id}">
<div class="app">${appTile(app)}<h2 id="app-${id}"><a href="${path}/${id}">${named(name)}</a>${app.firstParty && html` <span class="state">${t('Part of this service')}</span>`}</h2></div>
<dl><dt>${t('Client ID')}</dt><dd><code>${clientId}</code></dd><dt>${t('Type')}</dt><dd>${kinds[type]}</dd><dt>${t('Connected by')}</dt><dd>${userCount(app.users)}</dd><dt>${t('Registered')}</dt><dd>${time(createdAt)}</dd></dl>
</section>`
}

export interface DeveloperPage {
  readonly menu: Menu
  readonly apps: readonly OwnApp[]
  /** Whether there are more than these. */
  readonly hasMore: boolean
  readonly note: Text | undefined
}

export function developerPage({ menu, apps, hasMore, note: noteText }: DeveloperPage): Page {
  const intro = t(
    'Register an app here if people should sign in to it with their account, or let it use their data. Each of them is asked, and sees which access the app requests. For a program of your own, an [API key](/account/keys) is enough.',
  )
  const content = html`${ownHeading(t('Your OAuth apps'), noteText, linkButton(`${path}/new`, t('Register an app')), intro)}
${apps.length === 0 && html`<p class="empty">${t('You have registered no apps.')}</p>`}
${apps.map(appCard)}
${hasMore && html`<p class="faint">${t('These are the newest. `{request}` lists all.', { request: 'GET /api/v1/oauth_apps' })}</p>`}`
  return { title: t('Your OAuth apps'), content, menu }
}

export interface OwnSecret {
  readonly id: number
  /** Its first characters. */
  readonly prefix: string
  readonly createdAt: EpochMs
  /** Undefined: not before there is a newer one. */
  readonly endsAt: number | undefined
  readonly ended: boolean
}

export interface AppPage {
  readonly menu: Menu
  readonly app: OwnApp
  /** The newest first. */
  readonly secrets: readonly OwnSecret[]
  /** How long an older secret works together with a newer one, in seconds. */
  readonly overlapSeconds: number
  /** The new secret, which is shown this once. */
  readonly revealed: string | undefined
  readonly issuer: string
  readonly note: Text | undefined
}

function secretRow(app: OwnApp, { id, prefix, createdAt, endsAt, ended }: OwnSecret): Html {
  const end = endsAt === undefined ? t('Not before there is a newer one') : time(endsAt)
  return html`<section class="card" aria-labelledby="secret-${id}">
<div class="heading"><h3 id="secret-${id}"><code>${prefix}…</code>${ended && html` <span class="state">${t('Ended')}</span>`}</h3>
${!ended && linkButton(`${path}/${app.id}/secrets/${id}/end`, t('End'), 'danger', { 'aria-label': t('End the secret {prefix}', { prefix: `${prefix}…` }) })}</div>
<dl><dt>${t('Created')}</dt><dd>${time(createdAt)}</dd><dt>${ended ? t('Ended') : t('Ends')}</dt><dd>${end}</dd></dl></section>`
}

function secretSection({ menu, app, secrets, overlapSeconds }: AppPage): Html {
  const overlap =
    overlapSeconds === 0
      ? t('The one before it ends at once.')
      : t('The one before it works for {duration} more: use the new one everywhere within that time.', {
          duration: duration(overlapSeconds),
        })
  return html`<section aria-labelledby="secrets"><h2 id="secrets">${t('Client secrets')}</h2>
<p>${t('The secret proves that a request comes from your app. Keep it on your server: never in a page, a mobile app or a repository. If others may have seen it, create a new one and end the old one.')}</p>
${secrets.length === 0 && html`<p class="empty">${t('This app has no secret.')}</p>`}
${secrets.map(secret => secretRow(app, secret))}
${form(
  { action: `${path}/${app.id}`, csrf: menu.csrf, hidden: { change: 'new-secret' } },
  html`<p id="overlap" class="faint">${t('A new secret is shown once.')} ${overlap}</p>${button(t('New secret'), 'plain', { 'aria-describedby': 'overlap' })}`,
)}</section>`
}

const pkce = '&code_challenge=$CODE_CHALLENGE&code_challenge_method=S256'

/** The first two requests of the app, as in `docs/oauth.md`. */
function requests({ app, issuer }: AppPage, scope: string): Part {
  const [uri] = app.redirectUris
  if (uri === undefined)
    return html`<p>${t('Add a redirect URI to let people sign in by their browser.')} ${app.type === 'confidential' ? t('Without one, the app can use the device flow, and its own access by client credentials.') : t('Without one, the app can use the device flow.')}</p>`
  const isPublic = app.type === 'public'
  const query = `response_type=code&client_id=${app.clientId}&redirect_uri=${encodeURIComponent(uri)}&scope=${encodeURIComponent(scope)}&state=$STATE${isPublic ? pkce : ''}`
  const proof = isPublic ? '-d code_verifier="$CODE_VERIFIER"' : '-d client_secret="$CLIENT_SECRET"'
  const token = [
    `curl -X POST "${issuer}/oauth/token"`,
    '-d grant_type=authorization_code',
    `-d client_id=${app.clientId}`,
    proof,
    '-d code="$CODE"',
    `--data-urlencode redirect_uri=${quoted(uri)}`,
  ].join(' \\\n  ')
  return html`<p>${t('Send the browser to the first address, with a `state` that nobody can guess. It comes back to the redirect URI with `state` and a `code`: compare the one, and exchange the other within 60 seconds.')}</p>
${copiedCode('authorize', t('Authorization request'), `${issuer}/oauth/authorize?${query}`)}
${copiedCode('token', t('Token request'), token)}`
}

/** Quotes a text for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function facts(app: OwnApp): Html {
  const { redirectUris, may, type, createdAt, byDefault, tokenFormat, separator } = app
  const list = (items: readonly Part[]) => html`<ul>${items.map(item => html`<li>${item}</li>`)}</ul>`
  return html`<div class="card"><dl><dt>${t('Type')}</dt><dd>${kinds[type]}</dd>
<dt>${t('Redirect URIs')}</dt><dd>${redirectUris.length === 0 ? t('None') : list(redirectUris.map(uri => html`<code>${uri}</code>`))}</dd>
<dt>${t('May ask for')}</dt><dd>${may === undefined ? t('Anything') : list(may)}</dd>
${byDefault !== undefined && html`<dt>${t('Without a scope')}</dt><dd>${list(byDefault)}</dd>`}
${tokenFormat !== undefined && html`<dt>${t('Access tokens')}</dt><dd>${formats[tokenFormat]}</dd>`}
${separator !== undefined && html`<dt>${t('Between scopes')}</dt><dd>${separators[separator]}</dd>`}
${app.firstParty && html`<dt>${t('Consent')}</dt><dd>${t('Nobody is asked: the app is part of this service')}</dd>`}
${app.requestsPerMinute !== undefined && html`<dt>${t('Requests per minute')}</dt><dd>${t('{count}, for all people who have connected it', { count: number(app.requestsPerMinute) })}</dd>`}
${appLinks(app)}
<dt>${t('Connected by')}</dt><dd>${userCount(app.users)}</dd>
<dt>${t('Registered')}</dt><dd>${time(createdAt)}</dd></dl></div>`
}

/** What happens to the users of an app that is deleted. */
function lossText(users: OwnApp['users']): Message {
  if (users.count === 0) return t('Nobody has connected it.')
  if (users.count === 1) return t('1 person who has connected it loses the connection at once.')
  return t('{people} who have connected it lose the connection at once.', { people: userCount(users) })
}

/** `scope`: that of the sample request. */
export function appPage(page: AppPage, scope: string): Page {
  const { menu, app, revealed } = page
  const content = html`<div class="heading"><div class="app">${appTile(app)}<h1>${named(app.name)}</h1></div>${linkButton(`${path}/${app.id}/edit`, t('Edit'), 'plain', { 'aria-label': t('Edit {name}', { name: app.name }) })}</div>
${note(page.note)}
${
  revealed !== undefined &&
  html`<p class="note" role="status">${t('Copy the client secret now: it is shown only this once. If you lose it, create a new one.')}</p>
${copied('client_secret', t('Client secret'), revealed)}`
}
${copied('client_id', t('Client ID'), app.clientId)}
${facts(app)}
${app.type === 'confidential' && secretSection(page)}
<section aria-labelledby="requests"><h2 id="requests">${t('First requests')}</h2>
${requests(page, scope)}</section>
<section aria-labelledby="delete"><h2 id="delete">${t('Delete the app')}</h2>
<p>${lossText(app.users)}</p>
<p>${linkButton(`${path}/${app.id}/delete`, t('Delete the app'), 'danger')}</p></section>`
  return { title: app.name, content, menu, script: true }
}

export function deleteAppPage(menu: Menu, app: Pick<OwnApp, 'id' | 'name'>): Page {
  const content = html`<p>${t('Everyone who has connected {name} is disconnected: its tokens stop working at once. Its secrets and webhooks go with it. This cannot be undone.', { name: named(app.name) })}</p>`
  const action = `${path}/${app.id}/delete`
  const title = t('Delete {name}?', { name: named(app.name) })
  return confirmPage({
    ...{ menu, title, content, action },
    name: t('Delete an app'),
    label: t('Delete the app'),
    back: `${path}/${app.id}`,
  })
}

export interface EndSecretPage {
  readonly menu: Menu
  readonly app: Pick<OwnApp, 'id' | 'name'>
  readonly secret: OwnSecret
  /** Whether no other secret of the app works. */
  readonly isLast: boolean
}

export function endSecretPage({ menu, app, secret, isLast }: EndSecretPage): Page {
  const content = html`<p>${t('The secret that begins with `{prefix}` stops working at once, wherever {name} uses it.', { prefix: `${secret.prefix}…`, name: named(app.name) })}${isLast && html` ${t('**It is the only one that works:** until the app has another, it gets no tokens.')}`} ${t('This cannot be undone.')}</p>`
  return confirmPage({
    menu,
    content,
    title: t('End a secret of {name}?', { name: named(app.name) }),
    name: t('End a secret'),
    action: `${path}/${app.id}/secrets/${secret.id}/end`,
    label: t('End the secret'),
    back: `${path}/${app.id}`,
  })
}
