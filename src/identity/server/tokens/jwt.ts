/** JWT access tokens (RFC 9068), signed and verified with our own keys, synchronously. */

import { createPrivateKey, type KeyObject, sign, verify } from 'node:crypto'
import { isObject, parseJson, type UncheckedObject } from '../../../base/json.ts'
import { isTrusted, publicKey, type SigningKey } from './signing-keys.ts'

export interface AccessClaims {
  readonly iss: string
  readonly aud: string
  readonly sub: string
  readonly client_id: string
  /** Seconds since 1970. */
  readonly iat: number
  readonly exp: number
  readonly jti: string
  /** When the user signed in: RFC 9068, 2.2.1. */
  readonly auth_time?: number
  /** Separated by spaces. */
  readonly scope: string
  /** The hash of the user's grant: see `deny-list.ts`. A private claim; tokens without a user have none. */
  readonly grant_id?: string
  readonly cnf?: { readonly jkt: string }
}

const algorithm = 'ES256'
const tokenType = 'at+jwt'
/** RFC 7515, 3.1: three parts in base64url. */
const grammar = /^[A-Za-z0-9_-]{1,4096}\.[A-Za-z0-9_-]{1,8192}\.[A-Za-z0-9_-]{1,1024}$/

/** Whether a text has the form of a signed JWT. Says nothing about its contents. */
export function looksLikeJwt(text: string): boolean {
  return grammar.test(text)
}

/** A part of a JWT as an object; undefined if it is not one. */
export function jwtPart(text: string, index: 0 | 1): UncheckedObject | undefined {
  const part = parseJson(Buffer.from(text.split('.')[index] ?? '', 'base64url').toString())
  return isObject(part) ? part : undefined
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Signs and verifies with a fixed set of keys. */
export class TokenSigner {
  readonly #kid: string
  readonly #private: KeyObject
  readonly #public: ReadonlyMap<string, { readonly key: SigningKey; readonly object: KeyObject }>

  /** `keys`: the newest first. */
  constructor(keys: readonly SigningKey[]) {
    const es256Keys = keys.filter(({ jwk }) => jwk.alg === algorithm)
    const [newest] = es256Keys
    if (!newest) throw new Error('There is no ES256 key to sign access tokens with.')
    this.#kid = newest.jwk.kid
    this.#private = createPrivateKey({ key: newest.jwk, format: 'jwk' })
    this.#public = new Map(es256Keys.map(key => [key.jwk.kid, { key, object: publicKey(key) }]))
  }

  sign(claims: AccessClaims): string {
    const signed = `${encoded({ alg: algorithm, typ: tokenType, kid: this.#kid })}.${encoded(claims)}`
    const signature = sign('sha256', Buffer.from(signed), { key: this.#private, dsaEncoding: 'ieee-p1363' })
    return `${signed}.${signature.toString('base64url')}`
  }

  /** The claims of a token of ours that is valid now; undefined for any other text. */
  verify(token: string, issuer: string, now: number): AccessClaims | undefined {
    if (!looksLikeJwt(token)) return undefined
    const header = jwtPart(token, 0)
    // RFC 8725, 3.1 and 3.11. No `crit` extension is supported, so any must be refused (RFC 7515, 4.1.11).
    if (header?.alg !== algorithm || header.typ !== tokenType || 'crit' in header) return undefined
    const signingKey = typeof header.kid === 'string' ? this.#public.get(header.kid) : undefined
    if (signingKey === undefined || !isTrusted(signingKey.key, now) || !isSigned(token, signingKey.object))
      return undefined
    const claims = jwtPart(token, 1) as AccessClaims | undefined
    return claims && isCurrent(claims, issuer, now) ? claims : undefined
  }
}

function isSigned(token: string, key: KeyObject): boolean {
  const end = token.lastIndexOf('.')
  const signature = Buffer.from(token.slice(end + 1), 'base64url')
  // Only the canonical encoding: base64url leaves bits unused at the end.
  if (signature.toString('base64url') !== token.slice(end + 1)) return false
  return verify('sha256', Buffer.from(token.slice(0, end)), { key, dsaEncoding: 'ieee-p1363' }, signature)
}

function isCurrent({ iss, aud, exp, iat, jti, sub }: AccessClaims, issuer: string, now: number): boolean {
  const seconds = now / 1000
  return (
    iss === issuer &&
    aud === issuer &&
    typeof jti === 'string' &&
    typeof sub === 'string' &&
    Number.isFinite(exp) &&
    exp > seconds &&
    Number.isFinite(iat) &&
    iat <= seconds + 60
  )
}
