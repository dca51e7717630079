/** Apps of the service's own makers: their users are asked to sign in, not for consent. */
import type { Context } from 'oidc-provider'

/**
 * Marks an authorization request of which `prompt=consent` was added here, not sent: see `authorizationRequest`. Clients
 * cannot send this parameter.
 */
export const impliedConsent = 'portico_implied_consent'

const loopback = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?=[:/]|$)/

/**
 * RFC 8252, 8.6: any program of the user's machine can take the place of a public app that is reached there, and anybody
 * can ask for a device code in the name of a public app (RFC 8628, 5.4 and 5.6), so consent is asked for. Not where the
 * service itself runs on that machine, as in development.
 */
function mayBeImpersonated({ oidc }: Context): boolean {
  const { client, params, provider } = oidc
  if (client.clientAuthMethod !== 'none' || loopback.test(provider.issuer)) return false
  // A device has none.
  const address = params.redirect_uri
  return typeof address !== 'string' || !address.startsWith('https:')
}

/** Whether the request goes on without a consent page. `prompt=consent` asks for one all the same. */
export function needsNoConsent(ctx: Context): boolean {
  const { client, prompts, params } = ctx.oidc
  if (client.first_party !== true || mayBeImpersonated(ctx)) return false
  return !prompts.has('consent') || params[impliedConsent] !== undefined
}
