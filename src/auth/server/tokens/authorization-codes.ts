/** Authorization codes: exchanged only with the `redirect_uri` of their authorization request (RFC 6749, 4.1.3). */
import { errors } from '../provider/load.ts'
import { currentContext } from '../provider/request-state.ts'
import type { Parameters } from '../requests/form.ts'

/**
 * Marks an authorization request without `redirect_uri`. oidc-provider fills in the only registered one, and from then on
 * does not know that the client left it out. Clients cannot send this parameter.
 */
export const omittedRedirectUri = 'portico_without_redirect_uri'

/** The parameters of an authorization request as `normalize` makes them of what was sent, marked where they lack an address. */
export async function markOmittedRedirectUri(
  sent: Parameters,
  normalize: (own: Parameters) => Promise<Parameters>,
): Promise<Parameters> {
  const made = await normalize(sent.filter(([name]) => name !== omittedRedirectUri))
  // A pushed request was marked when it was pushed.
  const isComplete = made.some(([name]) => name === 'redirect_uri' || name === 'request_uri')
  return isComplete ? made : [...made, [omittedRedirectUri, 'yes']]
}

type Payload = Record<string, unknown>

/** A code as it is stored: with the mark of its request. */
export function codeToStore(code: Payload): Payload {
  const isMarked = currentContext()?.oidc.params[omittedRedirectUri] !== undefined
  return isMarked ? { ...code, redirectUriOmitted: true } : code
}

/** Throws `invalid_request` for an exchange that lacks the address that its code was requested with. */
export function requireRedirectUri({ clientId, redirectUriOmitted }: Payload): void {
  const ctx = currentContext()
  if (ctx?.oidc.route !== 'token' || clientId !== ctx.oidc.client.clientId) return
  // The body as it was sent: in the parameters oidc-provider may have filled in the registered address already.
  if (ctx.oidc.body?.redirect_uri || redirectUriOmitted === true) return
  throw new errors.InvalidRequest('redirect_uri is missing: the authorization request had it')
}
