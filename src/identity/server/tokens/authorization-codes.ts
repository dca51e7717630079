/** Authorization codes: exchanged only with the `redirect_uri` of their authorization request (RFC 6749, 4.1.3). */
import type { Payload } from 'oidc-provider'
import { errors } from '../provider/load.ts'
import { currentContext } from '../provider/request-state.ts'
import type { Parameters } from '../requests/form.ts'

/**
 * Marks an authorization request without `redirect_uri`. oidc-provider fills in the only registered one, and then no longer
 * knows that the client omitted it. Clients cannot send this parameter.
 */
export const omittedRedirectUri = 'portico_without_redirect_uri'

/** The normalized parameters of an authorization request, marked if they lack a `redirect_uri`. */
export async function markOmittedRedirectUri(
  sent: Parameters,
  normalize: (parameters: Parameters) => Promise<Parameters>,
): Promise<Parameters> {
  const parameters = await normalize(sent.filter(([name]) => name !== omittedRedirectUri))
  // A pushed request was marked when it was pushed.
  const isComplete = parameters.some(([name]) => name === 'redirect_uri' || name === 'request_uri')
  return isComplete ? parameters : [...parameters, [omittedRedirectUri, 'yes']]
}

/** The payload of a code with the mark of its request. */
export function codeToStore(code: Payload): Payload {
  const isMarked = currentContext()?.oidc.params[omittedRedirectUri] !== undefined
  return isMarked ? { ...code, redirectUriOmitted: true } : code
}

/** Throws `invalid_request` for an exchange without the `redirect_uri` that its authorization request had. */
export function requireRedirectUri({ clientId, redirectUriOmitted }: Payload): void {
  const ctx = currentContext()
  if (ctx?.oidc.route !== 'token' || clientId !== ctx.oidc.client.clientId) return
  // The body as it was sent: in the parameters, oidc-provider may already have filled in the registered one.
  if (ctx.oidc.body?.redirect_uri || redirectUriOmitted === true) return
  throw new errors.InvalidRequest('redirect_uri is missing: the authorization request had it')
}
