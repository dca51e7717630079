/**
 * Every patch of oidc-provider's own objects, where it has neither an option nor a hook. Everything else goes through its
 * configuration, its adapter, its events and Koa's middleware. A test compares the code that is replaced here, and the few
 * internals that are read elsewhere, with the version that was checked. When it fails, read the library's changes before
 * you update the expected values.
 */
import type Provider from 'oidc-provider'
import type { Client, Grant, Model } from 'oidc-provider'
import { hasScope, scopeSet } from '../../../base/principal.ts'
import { hasCurrentSecret, isRegisteredRedirectUri } from '../clients/client-metadata.ts'
import { allowedClaims } from '../consent/claims.ts'
import {
  allowedScope,
  defaultScopeOf,
  requireKnownScopes,
  requireScope,
  withCovered,
} from '../consent/scopes.ts'
import { type IssuedToken, type JwtParts, jwtOf } from '../tokens/jwt-format.ts'
import { currentContext } from './request-state.ts'

/** The version of oidc-provider that the patches were checked against. */
export const checkedVersion = '9.13.3'

export interface PatchParts extends JwtParts {
  readonly scopes: ReadonlySet<string>
  /** The format for apps that do not set one. */
  readonly accessTokenFormat: 'opaque' | 'jwt'
}

/** Patches the models of one provider. Call it once, before the provider answers a request. */
export function applyPatches(provider: Provider, parts: PatchParts): void {
  compareHashedSecrets(provider)
  matchRedirectUris(provider)
  narrowGrants(provider)
  coverScopesOfRefreshes(provider)
  scopeClientCredentials(provider, parts.scopes)
  issueJwts(provider, parts)
}

/**
 * `Client.prototype.compareClientSecret` compares plain texts; we store hashes, and an app may have several secrets. The
 * maintainer calls this override public API (github.com/panva/node-oidc-provider/discussions/1410).
 */
function compareHashedSecrets({ Client }: Provider): void {
  Client.prototype.compareClientSecret = function compareClientSecret(this: Client, actual: string) {
    return hasCurrentSecret(this, String(actual))
  }
}

/**
 * `Client.prototype.redirectUriAllowed` ignores the port for `localhost`, and for native clients only. RFC 8252, 7.3 and
 * 8.3, requires that for loopback addresses, whatever else the app has registered.
 */
function matchRedirectUris({ Client }: Provider): void {
  Client.prototype.redirectUriAllowed = function redirectUriAllowed(this: Client, uri: string) {
    return isRegisteredRedirectUri(this, uri)
  }
}

/**
 * `Grant.prototype.getOIDCScopeFiltered` and `getOIDCClaimsFiltered` decide which part of a grant a token gets. Here
 * `write:x` covers `read:x`, and a token gets nothing that its app has lost since the grant; an app that has lost `write:x`
 * may keep `read:x`. The adapter cannot do this: a stored grant without `write:x` would not cover `read:x` either.
 */
function narrowGrants({ Grant }: Provider): void {
  const { prototype } = Grant
  const { getOIDCClaimsFiltered } = prototype
  prototype.getOIDCScopeFiltered = function filtered(this: Grant, filter) {
    const granted = scopeSet(this.getOIDCScope())
    const scope = [...filter].filter(name => hasScope(granted, name)).join(' ')
    return allowedScope(scope, currentClient())
  }
  prototype.getOIDCClaimsFiltered = function allowed(this: Grant, filter) {
    return allowedClaims(getOIDCClaimsFiltered.call(this, filter), currentClient())
  }
}

function currentClient(): Client | undefined {
  return currentContext()?.oidc.entities.Client as Client | undefined
}

/**
 * `RefreshToken.prototype.scopes` is what a refresh may request (RFC 6749, 6). Here `write:x` covers `read:x`. The adapter
 * cannot do this: a refresh that requests no scope must get exactly what was granted.
 */
function coverScopesOfRefreshes({ RefreshToken }: Provider): void {
  Object.defineProperty(RefreshToken.prototype, 'scopes', {
    configurable: true,
    get(this: Model) {
      const granted = scopeSet(this.scope)
      return currentContext()?.oidc.params.scope === undefined ? granted : withCovered(granted)
    },
  })
}

/**
 * `ClientCredentials.prototype.getValueAndPayload` is called when the token is stored. oidc-provider would silently drop
 * unknown scopes, and issue tokens without any scope. RFC 6749, 3.3, requires a default or an error.
 */
function scopeClientCredentials({ ClientCredentials }: Provider, knownScopes: ReadonlySet<string>): void {
  const { getValueAndPayload } = ClientCredentials.prototype
  ClientCredentials.prototype.getValueAndPayload = function scoped(this: Model) {
    const ctx = currentContext()
    if (ctx?.oidc.route === 'token') {
      requireKnownScopes(ctx, knownScopes)
      this.scope ||= defaultScopeOf(ctx.oidc.client)
      requireScope(this.scope)
    }
    return getValueAndPayload.call(this)
  }
}

/**
 * `getValueAndPayload` of both kinds of access token: the client gets a JWT, the record remains that of an opaque token.
 * The library's own JWTs have no record, so they can be neither introspected nor revoked.
 */
function issueJwts({ AccessToken, ClientCredentials }: Provider, parts: PatchParts): void {
  for (const { prototype } of [AccessToken, ClientCredentials]) {
    const { getValueAndPayload } = prototype
    prototype.getValueAndPayload = async function asJwt(this: IssuedToken) {
      const { value, payload } = await getValueAndPayload.call(this)
      const format = this.client?.access_token_format ?? parts.accessTokenFormat
      if (format !== 'jwt') return { value, payload }
      const times = payload as { iat: number; exp: number }
      return { value: jwtOf(this, value, times, parts), payload }
    }
  }
}
