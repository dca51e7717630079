/** Apps as clients of oidc-provider: metadata (RFC 7591, 2), and how a client proves who it is. */
import type Provider from 'oidc-provider'
import type { Client } from 'oidc-provider'
import { shownName } from './app-name.ts'
import { type SecretHash, secretHashes } from './app-secrets.ts'
import type { AppRow, Apps } from './apps.ts'
import { withCovered } from './scopes.ts'
import { sameHash, secretHash } from './secret.ts'
import type { App } from './server.ts'

/** Metadata of ours, beside what is registered for OAuth. */
export const ownMetadata = [
  'app_id',
  'default_scopes',
  'scope_separator',
  'access_token_format',
  'secret_hashes',
]

const deviceCode = 'urn:ietf:params:oauth:grant-type:device_code'

function grantTypes({ type, redirect_uris: uris }: AppRow): string[] {
  const always = ['refresh_token', deviceCode]
  const withBrowser = uris.length > 0 ? ['authorization_code', ...always] : always
  return type === 'confidential' ? [...withBrowser, 'client_credentials'] : withBrowser
}

/** Apps that run on the user's own machine (RFC 8252) are sent back to a loopback or to their own scheme. */
export function isNative({ redirect_uris: uris }: Pick<AppRow, 'redirect_uris'>): boolean {
  return uris.some(uri => !/^https?:/.test(uri)) || (uris.length > 0 && uris.every(isLoopback))
}

function isLoopback(uri: string): boolean {
  return /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?=[:/?]|$)/.test(uri)
}

export function clientMetadata(app: AppRow, secretOverlap: number): Record<string, unknown> {
  const confidential = app.type === 'confidential'
  const hashes = secretHashes(app, secretOverlap)
  return {
    client_id: app.client_id,
    client_name: app.name,
    application_type: isNative(app) ? 'native' : 'web',
    redirect_uris: [...app.redirect_uris],
    post_logout_redirect_uris: [...app.redirect_uris],
    response_types: app.redirect_uris.length > 0 ? ['code'] : [],
    grant_types: grantTypes(app),
    token_endpoint_auth_method: confidential ? 'client_secret_basic' : 'none',
    // Never compared itself: see `guardClients`.
    ...(confidential ? { client_secret: hashes[0]?.hash ?? 'none', secret_hashes: hashes } : undefined),
    ...(app.scopes ? { scope: [...withCovered(app.scopes)].join(' ') } : undefined),
    ...(app.logo_uri === null ? undefined : { logo_uri: app.logo_uri }),
    ...(app.homepage_uri === null ? undefined : { client_uri: app.homepage_uri }),
    app_id: app.id,
    default_scopes: app.default_scopes ?? [],
    ...(app.scope_separator === null ? undefined : { scope_separator: app.scope_separator }),
    ...(app.access_token_format === null ? undefined : { access_token_format: app.access_token_format }),
  }
}

function isCurrent({ hash, expiresAt }: SecretHash, actual: string, now: number): boolean {
  // Compared in any case, so that the time tells nothing.
  return sameHash(hash, actual) && (expiresAt === undefined || expiresAt > now)
}

/** Whether it is one of the secrets, and that one works still. */
export function isSecretOf(hashes: readonly SecretHash[], actual: string): boolean {
  const given = secretHash(actual)
  const now = Date.now()
  return hashes.filter(one => isCurrent(one, given, now)).length > 0
}

const loopbackAddress = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::([1-9]\d{0,4}))?(?=[/?]|$)/

/**
 * `http://127.0.0.1:4711/cb` → `http://127.0.0.1/cb`; undefined for what is no loopback address. `localhost` is none:
 * the name may lead elsewhere (RFC 8252, 7.3 and 8.3).
 */
function withoutPort(uri: string): string | undefined {
  const [found, host = '', port = '80'] = loopbackAddress.exec(uri) ?? []
  if (found === undefined || Number(port) > 65_535) return undefined
  return host + uri.slice(found.length)
}

/** Replaces how the library compares secrets, which it would do with plain texts, and redirect URIs. */
export function guardClients(provider: Provider): void {
  const { prototype } = provider.Client
  prototype.compareClientSecret = function compareClientSecret(this: Client, actual: string) {
    return isSecretOf((this.secret_hashes ?? []) as readonly SecretHash[], String(actual))
  }
  prototype.redirectUriAllowed = function redirectUriAllowed(this: Client, uri: string) {
    if (this.redirectUris.includes(uri)) return true
    const asked = withoutPort(uri)
    return asked !== undefined && this.redirectUris.some(known => withoutPort(known) === asked)
  }
}

/** The library would compare all of an app's metadata each time with what it has made of it before. */
export function rememberClients({ Client }: Provider, apps: Apps): void {
  const remembered = new WeakMap<AppRow, Client>()
  const find = Client.find.bind(Client)
  Client.find = async (id, options) => {
    const app = await apps.find(id)
    const known = app && remembered.get(app)
    if (known) return known
    const client = await find(id, options)
    if (app && client) remembered.set(app, client)
    return client
  }
}

/** A client as pages show it. */
export function appOf(client: Client): App {
  return {
    clientId: client.clientId,
    name: shownName(client.clientName ?? '') || client.clientId,
    type: client.clientAuthMethod === 'none' ? 'public' : 'confidential',
    logoUri: client.logoUri,
    homepageUri: client.clientUri,
  }
}
