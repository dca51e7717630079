/** Scopes in requests and grants. `write:x` covers `read:x`; unknown scopes are refused. */
import type { Client, Context } from 'oidc-provider'
import { commonScopes } from '../../../principal.ts'
import { errors } from '../provider/load.ts'

/** The scopes of a text that separates them by spaces. */
export function scopeSet(text: string | undefined): ReadonlySet<string> {
  return new Set((text ?? '').split(' ').filter(scope => scope !== ''))
}

/** The scopes with those that they cover. */
export function withCovered(scopes: Iterable<string>): ReadonlySet<string> {
  const all = new Set(scopes)
  for (const scope of [...all]) if (scope.startsWith('write:')) all.add(scope.replace('write:', 'read:'))
  return all
}

/** `scope` without what the app may no longer ask for. */
export function allowedScope(scope: string, client: { readonly scope?: string } | undefined): string {
  if (client?.scope === undefined) return scope
  return [...commonScopes(scopeSet(scope), scopeSet(client.scope))].join(' ')
}

/** RFC 6749, 4.1.2.1 and 5.2: `invalid_scope` for an unknown one, which oidc-provider would drop silently. */
export function requireKnownScopes(ctx: Context, known: ReadonlySet<string>): void {
  // The scope as it was sent: oidc-provider has removed unknown ones from the parameters.
  const sent = ctx.oidc.body ?? ctx.query
  const unknown = [...scopeSet(typeof sent.scope === 'string' ? sent.scope : '')].find(
    scope => !known.has(scope),
  )
  if (unknown !== undefined) throw new errors.InvalidScope('there is no such scope', unknown)
}

/** RFC 6749, 3.3: `invalid_scope` where the request names none and the client has no default. */
export function requireScope(scope: string | undefined): void {
  if (scopeSet(scope).size > 0) return
  throw new errors.InvalidScope('no scope is named, and the app has no default_scopes')
}

/** The scope of a client's request that names none. */
export function defaultScopeOf({ default_scopes: defaults, scope }: Client): string {
  return (Array.isArray(defaults) ? defaults.join(' ') : scope) ?? ''
}
