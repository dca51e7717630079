/** First-party apps: their users sign in, but are not asked for consent. */
import type { Context } from 'oidc-provider'

/**
 * Marks an authorization request to which `authorizationRequest` has added `prompt=consent`. Clients cannot send this
 * parameter.
 */
export const impliedConsent = 'portico_implied_consent'

const loopback = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?=[:/]|$)/

/**
 * Whether another program can pose as the app: any program on the user's machine can take the place of a public app that
 * runs there (RFC 8252, 8.6), and anybody can request a device code in the name of a public app (RFC 8628, 5.4 and 5.6).
 * This does not matter if the service itself runs on that machine, as in development.
 */
function mayBeImpersonated({ oidc }: Context): boolean {
  const { client, params, provider } = oidc
  if (client.clientAuthMethod !== 'none' || loopback.test(provider.issuer)) return false
  // A device request has none.
  const address = params.redirect_uri
  return typeof address !== 'string' || !address.startsWith('https:')
}

/** Whether the request continues without a consent page. An explicit `prompt=consent` shows the page. */
export function needsNoConsent(ctx: Context): boolean {
  const { client, prompts, params } = ctx.oidc
  if (client.first_party !== true || mayBeImpersonated(ctx)) return false
  return !prompts.has('consent') || params[impliedConsent] !== undefined
}
