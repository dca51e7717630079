/**
 * Access tokens as JWTs (RFC 9068). oidc-provider stores a token under a random id, as it does for opaque tokens. The
 * client gets a JWT whose `jti` is the hash of that id, so a JWT can be introspected and revoked, and other servers need
 * only our public keys to verify one.
 */
import { randomBytes } from 'node:crypto'
import type { Client, Model } from 'oidc-provider'
import { secretHash } from '../secret.ts'
import { grantHash } from './deny-list.ts'
import { jwtPart, looksLikeJwt, type TokenSigner } from './jwt.ts'
import { authTimeOfRequest } from './sign-in-time.ts'

export interface JwtParts {
  readonly issuer: string
  readonly signer: TokenSigner
}

/** Precedes the `jti` of a JWT in requests in which oidc-provider would refuse a JWT. Only this process knows it. */
const handlePrefix = `${randomBytes(24).toString('base64url')}~`

/**
 * The token of an introspection or revocation request as oidc-provider accepts it: it refuses any text that begins with the
 * header of a JWT, signed or not. Tokens of others are inactive instead (RFC 7662, 2.2; RFC 7009, 2.2).
 */
export function handleOf(token: string, { signer, issuer }: JwtParts): string {
  if (jwtPart(token, 0) === undefined) return token
  const claims = signer.verify(token, issuer, Date.now())
  return claims ? handlePrefix + claims.jti : 'unknown'
}

/** The id of the record of a token that is a valid JWT, or the handle of one. */
export function jwtRecordId(token: string, { signer, issuer }: JwtParts): string | undefined {
  if (token.startsWith(handlePrefix)) return token.slice(handlePrefix.length)
  return looksLikeJwt(token) ? signer.verify(token, issuer, Date.now())?.jti : undefined
}

/** A token that oidc-provider issues. */
export interface IssuedToken extends Model {
  client?: Client
  jkt?: string
}

/** The JWT of a token. `value`, `times`: the id and the times that oidc-provider has assigned. */
export function jwtOf(
  token: IssuedToken,
  value: string,
  { iat, exp }: { readonly iat: number; readonly exp: number },
  { issuer, signer }: JwtParts,
): string {
  const { accountId, clientId, scope, grantId, jkt } = token
  const authTime = accountId === undefined ? undefined : authTimeOfRequest()
  return signer.sign({
    iss: issuer,
    aud: issuer,
    // RFC 9068, 2.2: without a user, the client itself.
    sub: accountId ?? String(clientId),
    client_id: String(clientId),
    iat,
    exp,
    jti: secretHash(value),
    scope: scope ?? '',
    ...(grantId === undefined ? undefined : { grant_id: grantHash(grantId) }),
    ...(authTime === undefined ? undefined : { auth_time: authTime }),
    ...(jkt === undefined ? undefined : { cnf: { jkt } }),
  })
}
