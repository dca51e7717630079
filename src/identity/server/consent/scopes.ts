/** Scopes in requests and grants. `write:x` covers `read:x`; unknown scopes are refused. */
import type { Client, Context } from 'oidc-provider'
import { commonScopes, scopeSet } from '../../../base/principal.ts'
import { errors } from '../provider/load.ts'

/** The scopes with those that they cover. */
export function withCovered(scopes: Iterable<string>): ReadonlySet<string> {
  const all = new Set(scopes)
  for (const scope of [...all]) if (scope.startsWith('write:')) all.add(scope.replace('write:', 'read:'))
  return all
}

/** `scope` without the scopes that the app may no longer request. */
export function allowedScope(scope: string, client: { readonly scope?: string } | undefined): string {
  if (client?.scope === undefined) return scope
  return [...commonScopes(scopeSet(scope), scopeSet(client.scope))].join(' ')
}

/** RFC 6749, 4.1.2.1 and 5.2: throws `invalid_scope` for an unknown scope, which oidc-provider would silently drop. */
export function requireKnownScopes(ctx: Context, known: ReadonlySet<string>): void {
  // As it was sent: oidc-provider has removed unknown scopes from the parameters.
  const sent = ctx.oidc.body ?? ctx.query
  const unknown = [...scopeSet(typeof sent.scope === 'string' ? sent.scope : '')].find(
    scope => !known.has(scope),
  )
  if (unknown !== undefined) throw new errors.InvalidScope('the scope does not exist', unknown)
}

/** RFC 6749, 3.3: throws `invalid_scope` if the request names no scope and the client has no default. */
export function requireScope(scope: string | undefined): void {
  if (scopeSet(scope).size > 0) return
  throw new errors.InvalidScope('the request names no scope, and the app has no default_scopes')
}

/** The scope of a client's request that names none. */
export function defaultScopeOf({ default_scopes: defaults, scope }: Client): string {
  return (Array.isArray(defaults) ? defaults.join(' ') : scope) ?? ''
}
