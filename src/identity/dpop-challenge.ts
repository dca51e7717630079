/** Challenges to senders of DPoP-bound tokens (RFC 9449, 7.1). */
import { ApiError } from '../base/errors.ts'

/** The signature algorithms of proofs. Asymmetric only: the client signs with its own key. */
export const dpopAlgorithms: readonly string[] = ['ES256', 'Ed25519', 'EdDSA']

/** UNAUTHORIZED with a challenge. `fault`: printable ASCII without quotes; `hint`: what to do instead. */
export function dpopRefusal(
  error: 'invalid_token' | 'invalid_dpop_proof',
  fault: string,
  hint = '',
): ApiError {
  const challenge = `DPoP realm="api", error="${error}", error_description="${fault}", algs="${dpopAlgorithms.join(' ')}"`
  return new ApiError('UNAUTHORIZED', `${fault}.${hint === '' ? '' : ` ${hint}`}`, {
    headers: { 'WWW-Authenticate': challenge },
  })
}
