/**
 * The parameter `claims` (OpenID Connect Core 1.0, 5.5): single claims of a user, for userinfo or the ID token. A claim
 * is allowed with the scope that it is part of, so that users are asked about both in one sentence.
 */
import type { Client, Context, Grant } from 'oidc-provider'
import { errors, type Provider } from './library.ts'

/** What each scope tells (Core 1.0, 5.4). */
export const claimsOfScopes = {
  openid: ['sub'],
  profile: ['name'],
  email: ['email', 'email_verified'],
} as const

const scopeOfClaim: ReadonlyMap<string, string> = new Map(
  Object.entries(claimsOfScopes).flatMap(([scope, claims]) => claims.map(claim => [claim, scope])),
)

/** What an ID token can be asked for beside what is known of its user. */
const idTokenClaims: ReadonlySet<string> = new Set(['acr', 'auth_time'])

const maxCharacters = 4000
const maxClaims = 100

type Members = Readonly<Record<string, unknown>>
type Target = 'userinfo' | 'id_token'

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {}
}

function isObjectOrNull(value: unknown): boolean {
  return typeof value === 'object' && !Array.isArray(value)
}

/** Whether the client may still ask for what the claim tells. */
function mayAsk(claim: string, client: Pick<Client, 'scope'> | undefined): boolean {
  const scope = scopeOfClaim.get(claim)
  if (scope === undefined || client?.scope === undefined) return true
  return client.scope.split(' ').includes(scope)
}

function kept(requested: unknown, target: Target, client: Client): Members {
  const isKnown = (claim: string) =>
    scopeOfClaim.has(claim) || (target === 'id_token' && idTokenClaims.has(claim))
  return Object.fromEntries(
    Object.entries(membersOf(requested)).filter(
      ([claim, value]) => isKnown(claim) && isObjectOrNull(value) && mayAsk(claim, client),
    ),
  )
}

/**
 * Leaves of a request what is known and may be asked for; the rest is ignored (Core 1.0, 5.5.1). Throws an
 * `invalid_request` for one that is too large. To be used as the library's `assertClaimsParameter`.
 */
export function narrowClaims(ctx: Context, claims: Members, client: Client): void {
  const { params } = ctx.oidc
  const { userinfo, id_token: idToken } = claims
  const count = Object.keys(membersOf(userinfo)).length + Object.keys(membersOf(idToken)).length
  if (String(params.claims).length > maxCharacters || count > maxClaims) {
    const bounds = `${maxCharacters} characters and ${maxClaims} claims`
    throw new errors.InvalidRequest(`the claims parameter may have ${bounds}`)
  }
  const narrowed = {
    userinfo: kept(userinfo, 'userinfo', client),
    id_token: kept(idToken, 'id_token', client),
  }
  params.claims = JSON.stringify(narrowed)
}

/** The claims of a narrowed request that tell something of the user; `sub` is told anyway. */
function askedClaims(claims: unknown): readonly string[] {
  if (typeof claims !== 'string') return []
  const { userinfo, id_token: idToken } = JSON.parse(claims) as Readonly<Record<Target, Members>>
  const names = new Set([...Object.keys(userinfo), ...Object.keys(idToken)])
  return [...names].filter(claim => claim !== 'sub' && scopeOfClaim.has(claim))
}

/** What a request asks its user for: its scopes, and those that its claims are part of. */
export function scopesAskedFor(params: { readonly scope?: string; readonly claims?: unknown }): string[] {
  const scopes = (params.scope ?? '').split(' ').filter(scope => scope !== '')
  return [...new Set([...scopes, ...askedClaims(params.claims).map(claim => scopeOfClaim.get(claim) ?? '')])]
}

/** Puts the claims of a request into a grant, by whether their scope is among the allowed ones. */
export function grantClaims(grant: Grant, claims: unknown, allowed: readonly string[]): void {
  const asked = askedClaims(claims)
  // A grant without any stays the usual one.
  if (asked.length === 0) return
  const isAllowed = (claim: string) => allowed.includes(scopeOfClaim.get(claim) ?? '')
  grant.addOIDCClaims(asked.filter(isAllowed))
  grant.rejectOIDCClaims(asked.filter(claim => !isAllowed(claim)))
}

/** Takes from tokens the claims that their app may not ask for any more. */
export function boundClaims(provider: Provider, currentClient: () => Client | undefined): void {
  const { prototype } = provider.Grant
  const { getOIDCClaimsFiltered } = prototype
  prototype.getOIDCClaimsFiltered = function bounded(filter) {
    const client = currentClient()
    return getOIDCClaimsFiltered.call(this, filter).filter(claim => mayAsk(claim, client))
  }
}
