/** DPoP proofs: the sender of a bound access token has the key to which the token is bound (RFC 9449, 4.3 and 7.1). */

import { hash } from 'node:crypto'
import {
  type CryptoKey,
  calculateJwkThumbprint,
  decodeProtectedHeader,
  importJWK,
  type JWK,
  type JWTPayload,
  jwtVerify,
} from 'jose'
import { Cache, CacheBound } from '../base/cache.ts'
import type { Records } from '../base/records.ts'
import { dpopAlgorithms, dpopRefusal } from './dpop-challenge.ts'

/** The maximum distance of a proof's `iat` from now, the same as at the token endpoint. */
const windowMs = 300_000
const maxProofCharacters = 8192
const maxKeys = 10_000

const recordKind = 'DpopProof'

/** The private members of a key (RFC 7518, 6.2.2, 6.3.2 and 6.4). */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** The request that a proof belongs to. */
export interface ProvenRequest {
  readonly method: string
  readonly path: string
  /** The `DPoP` header; Node joins repeated headers with a comma. */
  readonly proof: unknown
}

export interface ProofsOptions {
  readonly records: Records
  /** The service's own address, without a trailing slash. Never taken from a request. */
  readonly issuer: () => string | undefined
  readonly now: () => number
}

interface ProofHeader {
  readonly alg: string
  readonly jwk: JWK
}

function invalid(fault: string, hint?: string): Error {
  return dpopRefusal('invalid_dpop_proof', fault, hint)
}

function readHeader(proof: string): ProofHeader {
  const { alg, typ, jwk } = decodeHeader(proof)
  if (typ !== 'dpop+jwt') throw invalid('The type of the proof is not dpop+jwt')
  if (alg === undefined || !dpopAlgorithms.includes(alg)) {
    throw invalid('The algorithm of the proof is not supported')
  }
  if (typeof jwk !== 'object' || jwk === null) throw invalid('The proof has no public key in jwk')
  if (privateMembers.some(name => name in jwk)) throw invalid('The proof has a private key in jwk')
  return { alg, jwk: jwk as JWK }
}

function decodeHeader(proof: string) {
  try {
    return decodeProtectedHeader(proof)
  } catch {
    throw invalid('The proof is not a JWT')
  }
}

/** RFC 3986, 6.2.2, without query and fragment. */
function normalizedUrl(address: string): string | undefined {
  const url = URL.parse(address)
  if (url === null) return undefined
  const path = url.pathname.replace(/%[0-9a-f]{2}/gi, triplet => triplet.toUpperCase())
  return url.origin + path
}

/** Checks proofs. Caches imported keys, and stores proofs so that none works twice. */
export class Proofs {
  readonly #options: ProofsOptions
  readonly #keys = new Cache<string, CryptoKey>(new CacheBound('dpop_keys', maxKeys))

  constructor(options: ProofsOptions) {
    this.#options = options
  }

  /** Throws UNAUTHORIZED unless the request proves possession of the key with this thumbprint, for this token. */
  async check(request: ProvenRequest, token: string, thumbprint: string): Promise<void> {
    const { proof } = request
    if (proof === undefined) throw invalid('The header DPoP with a proof is missing')
    if (typeof proof !== 'string' || proof.includes(',')) throw invalid('There must be exactly one proof')
    if (proof.length > maxProofCharacters) throw invalid('The proof is too long')
    const header = readHeader(proof)
    const claims = await this.#verify(proof, header, thumbprint)
    this.#checkClaims(claims, request, token)
    await this.#markUsed(claims, thumbprint)
  }

  async #verify(proof: string, { alg, jwk }: ProofHeader, thumbprint: string): Promise<JWTPayload> {
    const cacheKey = `${alg} ${thumbprint}`
    if ((await thumbprintOf(jwk)) !== thumbprint) {
      throw dpopRefusal('invalid_token', 'The token is bound to another key')
    }
    try {
      const key = this.#keys.get(cacheKey) ?? (await importJWK(jwk, alg))
      if (key instanceof Uint8Array || key.type !== 'public') throw new TypeError('not a public key')
      // RFC 9449, 4.3: `exp` and `nbf` are checked where present, `iat` below.
      const now = new Date(this.#options.now())
      const { payload } = await jwtVerify(proof, key, {
        algorithms: [alg],
        typ: 'dpop+jwt',
        currentDate: now,
      })
      this.#keys.set(cacheKey, key)
      return payload
    } catch {
      throw invalid('The signature of the proof is wrong')
    }
  }

  #checkClaims(
    { htm, htu, iat, jti, ath }: JWTPayload,
    { method, path }: ProvenRequest,
    token: string,
  ): void {
    if (typeof jti !== 'string' || jti === '') throw invalid('The proof has no jti')
    if (typeof iat !== 'number' || Math.abs(this.#options.now() - iat * 1000) > windowMs) {
      throw invalid('The iat of the proof is not recent enough')
    }
    if (htm !== method) throw invalid('The htm of the proof is not the method of this request')
    const url = normalizedUrl((this.#options.issuer() ?? '') + path)
    if (typeof htu !== 'string' || url === undefined || normalizedUrl(htu) !== url) {
      throw invalid('The htu of the proof is not the address of this request', `It must be ${url}`)
    }
    if (ath !== hash('sha256', token, 'base64url')) {
      throw invalid('The ath of the proof is not the hash of the token')
    }
  }

  /** RFC 9449, 11.1: the proof is stored for all nodes as long as it could be sent again. */
  async #markUsed({ iat = 0, jti }: JWTPayload, thumbprint: string): Promise<void> {
    const id = hash('sha256', JSON.stringify([thumbprint, jti]), 'base64url')
    const expiresAt = iat * 1000 + windowMs + 1000
    const isNew = await this.#options.records.add({ kind: recordKind, id, payload: '{}', expiresAt })
    if (!isNew) throw invalid('The proof was used already')
  }
}

async function thumbprintOf(jwk: JWK): Promise<string> {
  try {
    return await calculateJwkThumbprint(jwk)
  } catch {
    throw invalid('The jwk of the proof is not a valid public key')
  }
}
