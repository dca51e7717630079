/**
 * The parameter `claims` (OpenID Connect Core 1.0, 5.5): single claims for userinfo or the ID token. A claim is allowed
 * with the scope that contains it, so the consent page shows one sentence for both.
 */

import type { Client, Grant } from 'oidc-provider'
import type { UncheckedObject } from '../../../base/json.ts'
import { scopeSet } from '../../../base/principal.ts'

/** The claims of each scope (Core 1.0, 5.4). */
export const claimsOfScopes = {
  openid: ['sub'],
  profile: ['name'],
  email: ['email', 'email_verified'],
} as const

export const scopeOfClaim: ReadonlyMap<string, string> = new Map(
  Object.entries(claimsOfScopes).flatMap(([scope, claims]) => claims.map(claim => [claim, scope])),
)

export type ClaimsTarget = 'userinfo' | 'id_token'

/** Whether the client may still request the scope of the claim. */
export function mayRequest(claim: string, client: Pick<Client, 'scope'> | undefined): boolean {
  const scope = scopeOfClaim.get(claim)
  if (scope === undefined || client?.scope === undefined) return true
  return client.scope.split(' ').includes(scope)
}

/** The claims about the user in a narrowed request, without `sub`, which every app gets. */
function requestedClaims(claims: unknown): readonly string[] {
  if (typeof claims !== 'string') return []
  const { userinfo, id_token: idToken } = JSON.parse(claims) as Readonly<
    Record<ClaimsTarget, UncheckedObject>
  >
  const names = new Set([...Object.keys(userinfo), ...Object.keys(idToken)])
  return [...names].filter(claim => claim !== 'sub' && scopeOfClaim.has(claim))
}

/** The scopes that a request needs: its own, and those of its claims. */
export function requestedScopes(params: { readonly scope?: string; readonly claims?: unknown }): string[] {
  return [
    ...new Set([
      ...scopeSet(params.scope),
      ...requestedClaims(params.claims).map(claim => scopeOfClaim.get(claim) ?? ''),
    ]),
  ]
}

/** Adds the claims of a request to a grant: granted where their scope is allowed, else rejected. */
export function grantClaims(grant: Grant, claims: unknown, allowed: readonly string[]): void {
  const requested = requestedClaims(claims)
  // Without claims the grant gets no member for them.
  if (requested.length === 0) return
  const isAllowed = (claim: string) => allowed.includes(scopeOfClaim.get(claim) ?? '')
  grant.addOIDCClaims(requested.filter(isAllowed))
  grant.rejectOIDCClaims(requested.filter(claim => !isAllowed(claim)))
}

/** The claims of a grant that its app may still request. */
export function allowedClaims(
  claims: readonly string[],
  client: Pick<Client, 'scope'> | undefined,
): string[] {
  return claims.filter(claim => mayRequest(claim, client))
}
