/** A user's OAuth apps: the list, an app with its secrets and first requests, and confirmations before something ends. */
import type { EpochMs } from '../../../base/epoch-ms.ts'
import { type Html, html, named, type Part } from '../../../base/html.ts'
import type { App } from '../../../identity/server/server.ts'
import { duration } from '../components/duration.ts'
import { button, form } from '../components/form.ts'
import { appLinks, confirmPage, copied, copiedCode, linkButton, ownHeading } from '../components/parts.ts'
import { appTile } from '../components/tile.ts'
import { time } from '../components/time.ts'
import type { Menu, Page } from '../frame/layout.ts'
import { note } from './account.ts'

export interface OwnApp extends App {
  readonly id: number
  readonly redirectUris: readonly string[]
  /** In plain words; undefined: any scope. */
  readonly may: readonly string[] | undefined
  /** The users who have connected it; `isMore`: there are more than were counted. */
  readonly users: { readonly count: number; readonly isMore: boolean }
  /** In plain words, the scopes of a request that names none; undefined: it is refused. */
  readonly byDefault: readonly string[] | undefined
  /** Undefined: the default of the service. */
  readonly tokenFormat: 'opaque' | 'jwt' | undefined
  readonly separator: ',' | ' ' | undefined
  readonly createdAt: EpochMs
}

const path = '/account/developer'

const kinds = { confidential: 'Confidential: it keeps a secret', public: 'Public: it has no secret' }

const number = new Intl.NumberFormat('en-GB')

/** E.g. `12 people`, `1,000+ people`. */
function userCount({ count, isMore }: OwnApp['users']): string {
  if (count === 0) return 'Nobody yet'
  return `${number.format(count)}${isMore ? '+' : ''} ${count === 1 && !isMore ? 'person' : 'people'}`
}

const formats = { opaque: 'Opaque', jwt: 'JWT (RFC 9068)' }
const separators = { ',': 'A comma', ' ': 'A space' }

function appCard(app: OwnApp): Html {
  const { id, name, type, clientId, createdAt } = app
  return html`<section class="card" aria-labelledby="app-${id}">
<div class="app">${appTile(app)}<h2 id="app-${id}"><a href="${path}/${id}">${named(name)}</a>${app.firstParty && html` <span class="state">Part of this service</span>`}</h2></div>
<dl><dt>Client ID</dt><dd><code>${clientId}</code></dd><dt>Type</dt><dd>${kinds[type]}</dd><dt>Connected by</dt><dd>${userCount(app.users)}</dd><dt>Registered</dt><dd>${time(createdAt)}</dd></dl>
</section>`
}

export interface DeveloperPage {
  readonly menu: Menu
  readonly apps: readonly OwnApp[]
  /** Whether there are more than these. */
  readonly hasMore: boolean
  readonly note: string | undefined
}

export function developerPage({ menu, apps, hasMore, note: noteText }: DeveloperPage): Page {
  const intro = html`Register an app here if people should sign in to it with their account, or let it use their data. Each of them is asked, and sees which access the app requests. For a program of your own, an <a href="/account/keys">API key</a> is enough.`
  const content = html`${ownHeading('Your OAuth apps', noteText, linkButton(`${path}/new`, 'Register an app'), intro)}
${apps.length === 0 && html`<p class="empty">You have registered no apps.</p>`}
${apps.map(appCard)}
${hasMore && html`<p class="faint">These are the newest. <code>GET /api/v1/oauth_apps</code> lists all.</p>`}`
  return { title: 'Your OAuth apps', content, menu }
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
  readonly note: string | undefined
}

function secretRow(app: OwnApp, { id, prefix, createdAt, endsAt, ended }: OwnSecret): Html {
  const end = endsAt === undefined ? 'Not before there is a newer one' : time(endsAt)
  return html`<section class="card" aria-labelledby="secret-${id}">
<div class="heading"><h3 id="secret-${id}"><code>${prefix}…</code>${ended && html` <span class="state">Ended</span>`}</h3>
${!ended && linkButton(`${path}/${app.id}/secrets/${id}/end`, 'End', 'danger', { 'aria-label': `End the secret ${prefix}…` })}</div>
<dl><dt>Created</dt><dd>${time(createdAt)}</dd><dt>${ended ? 'Ended' : 'Ends'}</dt><dd>${end}</dd></dl></section>`
}

function secretSection({ menu, app, secrets, overlapSeconds }: AppPage): Html {
  const overlap =
    overlapSeconds === 0
      ? 'The one before it ends at once.'
      : `The one before it works for ${duration(overlapSeconds)} more: use the new one everywhere within that time.`
  return html`<section aria-labelledby="secrets"><h2 id="secrets">Client secrets</h2>
<p>The secret proves that a request comes from your app. Keep it on your server: never in a page, a mobile app or a repository. If others may have seen it, create a new one and end the old one.</p>
${secrets.length === 0 && html`<p class="empty">This app has no secret.</p>`}
${secrets.map(secret => secretRow(app, secret))}
${form(
  { action: `${path}/${app.id}`, csrf: menu.csrf, hidden: { change: 'new-secret' } },
  html`<p id="overlap" class="faint">A new secret is shown once. ${overlap}</p>${button('New secret', 'plain', { 'aria-describedby': 'overlap' })}`,
)}</section>`
}

const pkce = '&code_challenge=$CODE_CHALLENGE&code_challenge_method=S256'

/** The first two requests of the app, as in `docs/oauth.md`. */
function requests({ app, issuer }: AppPage, scope: string): Part {
  const [uri] = app.redirectUris
  if (uri === undefined)
    return html`<p>Add a redirect URI to let people sign in by their browser. Without one, the app can use the device flow${app.type === 'confidential' && ', and its own access by client credentials'}.</p>`
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
  return html`<p>Send the browser to the first address, with a <code>state</code> that nobody can guess. It comes back to the redirect URI with <code>state</code> and a <code>code</code>: compare the one, and exchange the other within 60 seconds.</p>
${copiedCode('authorize', 'Authorization request', `${issuer}/oauth/authorize?${query}`)}
${copiedCode('token', 'Token request', token)}`
}

/** Quotes a text for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function facts(app: OwnApp): Html {
  const { redirectUris, may, type, createdAt, byDefault, tokenFormat, separator } = app
  const list = (items: readonly Part[]) => html`<ul>${items.map(item => html`<li>${item}</li>`)}</ul>`
  return html`<div class="card"><dl><dt>Type</dt><dd>${kinds[type]}</dd>
<dt>Redirect URIs</dt><dd>${redirectUris.length === 0 ? 'None' : list(redirectUris.map(uri => html`<code>${uri}</code>`))}</dd>
<dt>May ask for</dt><dd>${may === undefined ? 'Anything' : list(may)}</dd>
${byDefault !== undefined && html`<dt>Without a scope</dt><dd>${list(byDefault)}</dd>`}
${tokenFormat !== undefined && html`<dt>Access tokens</dt><dd>${formats[tokenFormat]}</dd>`}
${separator !== undefined && html`<dt>Between scopes</dt><dd>${separators[separator]}</dd>`}
${app.firstParty && html`<dt>Consent</dt><dd>Nobody is asked: the app is part of this service</dd>`}
${appLinks(app)}
<dt>Connected by</dt><dd>${userCount(app.users)}</dd>
<dt>Registered</dt><dd>${time(createdAt)}</dd></dl></div>`
}

/** `scope`: that of the sample request. */
export function appPage(page: AppPage, scope: string): Page {
  const { menu, app, revealed } = page
  const content = html`<div class="heading"><div class="app">${appTile(app)}<h1>${named(app.name)}</h1></div>${linkButton(`${path}/${app.id}/edit`, 'Edit', 'plain', { 'aria-label': `Edit ${app.name}` })}</div>
${note(page.note)}
${
  revealed !== undefined &&
  html`<p class="note" role="status">Copy the client secret now: it is shown only this once. If you lose it, create a new one.</p>
${copied('client_secret', 'Client secret', revealed)}`
}
${copied('client_id', 'Client ID', app.clientId)}
${facts(app)}
${app.type === 'confidential' && secretSection(page)}
<section aria-labelledby="requests"><h2 id="requests">First requests</h2>
${requests(page, scope)}</section>
<section aria-labelledby="delete"><h2 id="delete">Delete the app</h2>
<p>${app.users.count === 0 ? 'Nobody has connected it.' : `${userCount(app.users)} who ${app.users.count === 1 ? 'has' : 'have'} connected it ${app.users.count === 1 ? 'loses' : 'lose'} the connection at once.`}</p>
<p>${linkButton(`${path}/${app.id}/delete`, 'Delete the app', 'danger')}</p></section>`
  return { title: app.name, content, menu, script: true }
}

export function deleteAppPage(menu: Menu, app: Pick<OwnApp, 'id' | 'name'>): Page {
  const content = html`<p>Everyone who has connected ${named(app.name)} is disconnected: its tokens stop working at once. Its secrets and webhooks go with it. This cannot be undone.</p>`
  const action = `${path}/${app.id}/delete`
  const title = html`Delete ${named(app.name)}?`
  return confirmPage({
    ...{ menu, title, content, action },
    name: 'Delete an app',
    label: 'Delete the app',
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
  const content = html`<p>The secret that begins with <code>${secret.prefix}…</code> stops working at once, wherever ${named(app.name)} uses it.${isLast && html` <strong>It is the only one that works:</strong> until the app has another, it gets no tokens.`} This cannot be undone.</p>`
  return confirmPage({
    menu,
    content,
    title: html`End a secret of ${named(app.name)}?`,
    name: 'End a secret',
    action: `${path}/${app.id}/secrets/${secret.id}/end`,
    label: 'End the secret',
    back: `${path}/${app.id}`,
  })
}
