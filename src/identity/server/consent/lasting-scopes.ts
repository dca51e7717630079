/**
 * The scopes with which an app gets lasting access, or can change the account or create credentials. Granting one takes a
 * recent sign-in, as those writes do in a session: with a stolen cookie, an app would be a way around that.
 */
import type { Context } from 'oidc-provider'
import { recentSignInMs } from '../../../engine/plan/recent-sign-in.ts'
import { requestedScopes } from './claims.ts'
import { needsNoConsent } from './first-party.ts'

/** A refresh token outlives the session. */
const refreshScope = 'offline_access'

const lastingScopes: ReadonlySet<string> = new Set([
  refreshScope,
  ...['user', 'api_key', 'oauth_app', 'oauth_app_secret', 'webhook'].map(singular => `write:${singular}`),
])

export function hasLastingScope(scopes: Iterable<string>): boolean {
  return [...scopes].some(scope => lastingScopes.has(scope))
}

/** `signedInAt`: in seconds since 1970. */
export function isRecent(signedInAt: number | undefined): boolean {
  return Date.now() - (signedInAt ?? 0) * 1000 < recentSignInMs
}

/**
 * Whether an authorization request needs a more recent sign-in. A first-party app that asks for no consent gets scopes silently,
 * but its token does not count as a recent sign-in: see `Principal.signedInAt`.
 */
export function needsRecentSignIn(ctx: Context): boolean {
  const { session, params } = ctx.oidc
  if (session.accountId === undefined || isRecent(session.loginTs)) return false
  const scopes = requestedScopes(params)
  return needsNoConsent(ctx) ? scopes.includes(refreshScope) : hasLastingScope(scopes)
}
