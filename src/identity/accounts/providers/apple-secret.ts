/** Apple's client secret: a JWT that the client signs itself. */
import { importPKCS8, SignJWT } from 'jose'

export interface AppleKey {
  readonly teamId: string
  readonly keyId: string
  readonly clientId: string
  /** In PEM. */
  readonly privateKey: string
}

/** Apple allows six months; one request needs only minutes. */
const lifetimeSeconds = 300

/** A new client secret: a JWT with ES256, valid for five minutes. */
export async function appleSecret(
  { teamId, keyId, clientId, privateKey }: AppleKey,
  nowMs: number,
): Promise<string> {
  const key = await importPKCS8(privateKey, 'ES256')
  const issuedAt = Math.floor(nowMs / 1000)
  return new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid: keyId })
    .setIssuer(teamId)
    .setSubject(clientId)
    .setAudience('https://appleid.apple.com')
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + lifetimeSeconds)
    .sign(key)
}
