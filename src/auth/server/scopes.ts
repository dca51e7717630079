/** Scopes as apps ask for them and get them: `write:x` covers `read:x`, and none is unknown. */
import type { Client, Context, Grant, Model } from 'oidc-provider'
import { commonScopes, hasScope } from '../../principal.ts'
import { currentContext } from './browsers.ts'
import { boundClaims } from './claims.ts'
import { errors, type Provider } from './library.ts'

/** The scopes of a text that separates them by spaces. */
export function scopeSet(text: string | undefined): ReadonlySet<string> {
  return new Set((text ?? '').split(' ').filter(scope => scope !== ''))
}

/** With what they cover. */
export function withCovered(scopes: Iterable<string>): ReadonlySet<string> {
  const all = new Set(scopes)
  for (const scope of [...all]) if (scope.startsWith('write:')) all.add(scope.replace('write:', 'read:'))
  return all
}

/** `scope` without what the app may not ask for any more. */
export function allowedScope(scope: string, client: { readonly scope?: string } | undefined): string {
  if (client?.scope === undefined) return scope
  return [...commonScopes(scopeSet(scope), scopeSet(client.scope))].join(' ')
}

/** RFC 6749, 4.1.2.1 and 5.2. The library would leave out what it does not know. */
export function requireKnown(ctx: Context, known: ReadonlySet<string>): void {
  // As it was sent: by now the parameters lack what is unknown.
  const sent = ctx.oidc.body ?? ctx.query
  const unknown = [...scopeSet(typeof sent.scope === 'string' ? sent.scope : '')].find(
    scope => !known.has(scope),
  )
  if (unknown !== undefined) throw new errors.InvalidScope('there is no such scope', unknown)
}

/** RFC 6749, 3.3: without a scope, and a default for it, a request fails. */
export function requireSome(scope: string | undefined): void {
  if (scopeSet(scope).size > 0) return
  throw new errors.InvalidScope('no scope is named, and the app has no default_scopes')
}

/** What a client asks for when it names no scope. */
function defaultScope({ default_scopes: defaults, scope }: Client): string | undefined {
  return Array.isArray(defaults) ? defaults.join(' ') : scope
}

/** Whose request is being answered. */
function currentClient(): Client | undefined {
  return currentContext()?.oidc.entities.Client as Client | undefined
}

/** Lets write cover read in what is granted and refreshed, and takes from tokens what their app lost. */
export function coverScopes(provider: Provider, known: ReadonlySet<string>): void {
  provider.Grant.prototype.getOIDCScopeFiltered = function filtered(this: Grant, filter) {
    const granted = scopeSet(this.getOIDCScope())
    const scope = [...filter].filter(one => hasScope(granted, one)).join(' ')
    return allowedScope(scope, currentClient())
  }
  boundClaims(provider, currentClient)
  Object.defineProperty(provider.RefreshToken.prototype, 'scopes', {
    configurable: true,
    // Asked for by name, a narrower scope is one that is covered (RFC 6749, 6).
    get(this: Model) {
      const own = scopeSet(this.scope)
      return currentContext()?.oidc.params.scope === undefined ? own : withCovered(own)
    },
  })
  const { getValueAndPayload } = provider.ClientCredentials.prototype
  provider.ClientCredentials.prototype.getValueAndPayload = function checked(this: Model) {
    const ctx = currentContext()
    if (ctx?.oidc.route === 'token') {
      requireKnown(ctx, known)
      this.scope ||= defaultScope(ctx.oidc.client) ?? ''
      requireSome(this.scope)
    }
    return getValueAndPayload.call(this)
  }
}
