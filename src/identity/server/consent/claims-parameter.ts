/**
 * Checks the parameter `claims` of a request. Apart from `claims.ts`, which commands load too: they do without oidc-provider
 * and its 200 modules.
 */

import type { Client, Context } from 'oidc-provider'
import { isObject, type UncheckedObject } from '../../../base/json.ts'
import { errors } from '../provider/load.ts'
import { type ClaimsTarget, mayRequest, scopeOfClaim } from './claims.ts'

/** Claims about the sign-in, not the user, that a request may name for the ID token. */
const idTokenClaims: ReadonlySet<string> = new Set(['acr', 'auth_time'])

const maxParameterCharacters = 4000
const maxClaims = 100

function membersOf(value: unknown): UncheckedObject {
  return isObject(value) ? value : {}
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
