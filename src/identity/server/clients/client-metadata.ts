/** Apps as clients of oidc-provider: their metadata (RFC 7591, 2), secrets and redirect URIs. */
import type { Client } from 'oidc-provider'
import { isSame, secretHash } from '../secret.ts'
import type { App } from '../server.ts'
import { shownName } from './app-name.ts'
import { type SecretHash, secretHashes } from './app-secrets.ts'
import type { AppRow } from './apps.ts'

/** Metadata that only this service defines. */
export const ownMetadata = [
  'app_id',
  'default_scopes',
  'scope_separator',
  'access_token_format',
  'secret_hashes',
  'first_party',
  'registered_at',
]

/** RFC 8628, 3.4. */
export const deviceCodeGrant = 'urn:ietf:params:oauth:grant-type:device_code'

function grantTypes({ type, redirect_uris: uris }: AppRow): string[] {
  const always = ['refresh_token', deviceCodeGrant]
  const withBrowser = uris.length > 0 ? ['authorization_code', ...always] : always
  return type === 'confidential' ? [...withBrowser, 'client_credentials'] : withBrowser
}

/** Whether an app runs on the user's own machine (RFC 8252): it redirects to loopback addresses or its own scheme. */
export function isNative({ redirect_uris: uris }: Pick<AppRow, 'redirect_uris'>): boolean {
  return uris.some(uri => !/^https?:/.test(uri)) || (uris.length > 0 && uris.every(isLoopback))
}

function isLoopback(uri: string): boolean {
  return /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?=[:/?]|$)/.test(uri)
}

/** The metadata of an app for oidc-provider (RFC 7591, 2), with the members of `ownMetadata`. */
export function clientMetadata(app: AppRow, secretOverlapSeconds: number): Record<string, unknown> {
  const confidential = app.type === 'confidential'
  const hashes = secretHashes(app, secretOverlapSeconds)
  return {
    client_id: app.client_id,
    client_name: app.name,
    application_type: isNative(app) ? 'native' : 'web',
    redirect_uris: [...app.redirect_uris],
    post_logout_redirect_uris: [...app.redirect_uris],
    response_types: app.redirect_uris.length > 0 ? ['code'] : [],
    grant_types: grantTypes(app),
    token_endpoint_auth_method: confidential ? 'client_secret_basic' : 'none',
    // `client_secret` itself is never compared: see `hasCurrentSecret`.
    ...(confidential ? { client_secret: hashes[0]?.hash ?? 'none', secret_hashes: hashes } : undefined),
    ...(app.scopes ? { scope: app.scopes.join(' ') } : undefined),
    ...(app.logo_uri === null ? undefined : { logo_uri: app.logo_uri }),
    ...(app.homepage_uri === null ? undefined : { client_uri: app.homepage_uri }),
    ...(app.policy_uri === null ? undefined : { policy_uri: app.policy_uri }),
    ...(app.tos_uri === null ? undefined : { tos_uri: app.tos_uri }),
    app_id: app.id,
    first_party: app.first_party,
    registered_at: app.created_at,
    default_scopes: app.default_scopes ?? [],
    ...(app.scope_separator === null ? undefined : { scope_separator: app.scope_separator }),
    ...(app.access_token_format === null ? undefined : { access_token_format: app.access_token_format }),
  }
}

function isCurrent({ hash, expiresAt }: SecretHash, actual: string, now: number): boolean {
  // Compared even if it has expired: the duration must reveal nothing.
  return isSame(hash, actual) && (expiresAt === undefined || expiresAt > now)
}

/** Whether `actual` is one of the secrets, and has not expired. */
export function isSecretOf(hashes: readonly SecretHash[], actual: string): boolean {
  const actualHash = secretHash(actual)
  const now = Date.now()
  return hashes.filter(secret => isCurrent(secret, actualHash, now)).length > 0
}

const loopbackAddress = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::([1-9]\d{0,4}))?(?=[/?]|$)/

/**
 * `http://127.0.0.1:4711/cb` → `http://127.0.0.1/cb`; undefined unless the host is a loopback address. `localhost` is
 * not one: the name may resolve to another address (RFC 8252, 7.3 and 8.3).
 */
function withoutPort(uri: string): string | undefined {
  const [origin, host = '', port = '80'] = loopbackAddress.exec(uri) ?? []
  if (origin === undefined || Number(port) > 65_535) return undefined
  return host + uri.slice(origin.length)
}

/** Whether `actual` is one of the client's valid secrets. */
export function hasCurrentSecret({ secret_hashes: hashes }: Client, actual: string): boolean {
  return isSecretOf((hashes ?? []) as readonly SecretHash[], actual)
}

/** Whether a redirect URI is a registered one, or a registered loopback address with another port (RFC 8252, 7.3). */
export function isRegisteredRedirectUri(
  { redirectUris }: Pick<Client, 'redirectUris'>,
  uri: string,
): boolean {
  if (redirectUris.includes(uri)) return true
  const portless = withoutPort(uri)
  return portless !== undefined && redirectUris.some(registered => withoutPort(registered) === portless)
}

/** Undefined if it has a user name: `https://this.service@app.example` looks like an address of this service. */
function shownAddress(address: string | undefined): string | undefined {
  if (address === undefined || !URL.canParse(address)) return undefined
  const { username, password } = new URL(address)
  return username === '' && password === '' ? address : undefined
}

/** A client as pages show it. */
export function appOf(client: Client): App {
  return {
    clientId: client.clientId,
    name: shownName(client.clientName ?? '') || client.clientId,
    type: client.clientAuthMethod === 'none' ? 'public' : 'confidential',
    logoUri: client.logoUri,
    homepageUri: shownAddress(client.clientUri),
    policyUri: shownAddress(client.policyUri),
    tosUri: shownAddress(client.tosUri),
    firstParty: client.first_party === true,
    // Dynamically registered apps have none.
    registeredAt: typeof client.registered_at === 'string' ? Date.parse(client.registered_at) : undefined,
  }
}
