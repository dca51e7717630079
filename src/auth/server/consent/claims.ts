/**
 * The parameter `claims` (OpenID Connect Core 1.0, 5.5): single claims for userinfo or the ID token. A claim is allowed
 * with the scope that contains it, so the consent page shows one sentence for both.
 */

import type { Client, Context, Grant } from 'oidc-provider'
import { isObject, type UncheckedObject } from '../../../json.ts'
import { scopeSet } from '../../../principal.ts'
import { errors } from '../provider/load.ts'

/** The claims of each scope (Core 1.0, 5.4). */
export const claimsOfScopes = {
  openid: ['sub'],
  profile: ['name'],
  email: ['email', 'email_verified'],
} as const

const scopeOfClaim: ReadonlyMap<string, string> = new Map(
  Object.entries(claimsOfScopes).flatMap(([scope, claims]) => claims.map(claim => [claim, scope])),
)

/** Claims about the sign-in, not the user, that a request may name for the ID token. */
const idTokenClaims: ReadonlySet<string> = new Set(['acr', 'auth_time'])

const maxParameterCharacters = 4000
const maxClaims = 100

type ClaimsTarget = 'userinfo' | 'id_token'

function membersOf(value: unknown): UncheckedObject {
  return isObject(value) ? value : {}
}

/** Whether the client may still request the scope of the claim. */
function mayRequest(claim: string, client: Pick<Client, 'scope'> | undefined): boolean {
  const scope = scopeOfClaim.get(claim)
  if (scope === undefined || client?.scope === undefined) return true
  return client.scope.split(' ').includes(scope)
}

function allowedMembers(requested: unknown, target: ClaimsTarget, client: Client): UncheckedObject {
  const isKnown = (claim: string) =>
    scopeOfClaim.has(claim) || (target === 'id_token' && idTokenClaims.has(claim))
  return Object.fromEntries(
    Object.entries(membersOf(requested)).filter(
      ([claim, value]) => isKnown(claim) && (value === null || isObject(value)) && mayRequest(claim, client),
    ),
  )
}

/**
 * Removes unknown claims and those that the client may not request (Core 1.0, 5.5.1: they are ignored). Throws
 * `invalid_request` if the parameter is too large. For oidc-provider's option `assertClaimsParameter`.
 */
export function narrowClaims(ctx: Context, claims: UncheckedObject, client: Client): void {
  const { params } = ctx.oidc
  const { userinfo, id_token: idToken } = claims
  const count = Object.keys(membersOf(userinfo)).length + Object.keys(membersOf(idToken)).length
  if (String(params.claims).length > maxParameterCharacters || count > maxClaims) {
    const bounds = `${maxParameterCharacters} characters and ${maxClaims} claims`
    throw new errors.InvalidRequest(`the claims parameter may have ${bounds}`)
  }
  const narrowed = {
    userinfo: allowedMembers(userinfo, 'userinfo', client),
    id_token: allowedMembers(idToken, 'id_token', client),
  }
  params.claims = JSON.stringify(narrowed)
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
