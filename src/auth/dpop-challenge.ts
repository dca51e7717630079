/** What whoever sends a DPoP-bound token is told (RFC 9449, 7.1). */
import { ApiError } from '../errors.ts'

/** The signature algorithms that proofs may have; by the client's own key, so never a shared secret. */
export const dpopAlgorithms: readonly string[] = ['ES256', 'Ed25519', 'EdDSA']

/** UNAUTHORIZED with a challenge. `fault`: printable ASCII without quotes; `hint`: what would be right. */
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
