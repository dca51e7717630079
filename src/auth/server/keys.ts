/**
 * Signing keys. The newest of each algorithm signs; older ones are published and trusted until everything that they have
 * signed has expired, and no longer.
 */
import { createPublicKey, generateKeyPair, hash, type KeyObject, type webcrypto } from 'node:crypto'
import { promisify } from 'node:util'
import type { Records, StoredRecord } from '../../records.ts'

const generate = promisify(generateKeyPair)

const KIND = 'SigningKeys'
const ID = 'all'
/** How long a retired key stays published beyond the longest token, in milliseconds. */
const MARGIN = 60 * 60 * 1000

export interface SigningKey {
  /** Private, with `kid`, `alg` and `use` (RFC 7517, 4). */
  readonly jwk: webcrypto.JsonWebKey & { readonly kid: string; readonly alg: 'ES256' | 'RS256' }
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** When it stopped signing; null while it signs. */
  readonly retiredAt: number | null
  /** From when on it is trusted no more; stored when it is retired, so those of older versions have none. */
  readonly endsAt?: number
}

/** RS256 is what every OpenID Connect client takes (Core 1.0, 15.1); ES256 signs access tokens. */
async function newKeys(now: number): Promise<readonly SigningKey[]> {
  const [ec, rsa] = await Promise.all([
    generate('ec', { namedCurve: 'P-256' }),
    generate('rsa', { modulusLength: 2048 }),
  ])
  return [keyOf(ec.privateKey, 'ES256', now), keyOf(rsa.privateKey, 'RS256', now)]
}

function keyOf(key: KeyObject, alg: 'ES256' | 'RS256', createdAt: number): SigningKey {
  const jwk = key.export({ format: 'jwk' })
  const kid = hash('sha256', JSON.stringify([jwk.kty, jwk.crv, jwk.x, jwk.y, jwk.n]), 'base64url').slice(
    0,
    16,
  )
  return { jwk: { ...jwk, kid, alg, use: 'sig' }, createdAt, retiredAt: null }
}

/** The keys as they are stored, the newest first. */
function keysIn({ payload }: StoredRecord): readonly SigningKey[] {
  return JSON.parse(payload) as readonly SigningKey[]
}

/** The record of the keys; made when there is none. */
async function stored(records: Records, now: number): Promise<StoredRecord> {
  const found = await records.get(KIND, ID)
  if (found) return found
  const payload = JSON.stringify(await newKeys(now))
  // Another process may have been faster: then its keys count.
  await records.add({ kind: KIND, id: ID, payload, expiresAt: null })
  return stored(records, now)
}

/** The keys; made when there are none. */
export async function loadKeys(records: Records, now = Date.now()): Promise<readonly SigningKey[]> {
  return keysIn(await stored(records, now))
}

/** Whether what the key has signed is still taken. */
export function isTrusted({ endsAt }: SigningKey, now: number): boolean {
  return endsAt === undefined || now < endsAt
}

/**
 * New keys sign from now on. `longest`: the longest life of a token in seconds; what was retired longer ago
 * is forgotten. `atOnce`: the older keys end now, and what they signed with them. Returns the ids of the new keys. Of several rotations at once each retires the keys of the one before.
 */
export async function rotateKeys(
  records: Records,
  longest: number,
  now = Date.now(),
  atOnce = false,
): Promise<readonly string[]> {
  const life = longest * 1000 + MARGIN
  const made = await newKeys(now)
  for (let isDone = false; !isDone; ) {
    const found = await stored(records, now)
    const kept = keysIn(found)
      .map(key => (key.retiredAt === null ? { ...key, retiredAt: now, endsAt: now + life } : key))
      .filter(key => (key.retiredAt ?? now) > now - life && isTrusted(key, now))
    const keys = atOnce ? made : [...made, ...kept]
    isDone = await records.swap(found, found.payload, JSON.stringify(keys))
  }
  return made.map(({ jwk }) => jwk.kid)
}

/** Changes with the keys: see `Records.version`. */
export function keysVersion(records: Records): number {
  return records.version(KIND)
}

/** The public half, to check signatures with. */
export function publicKey({ jwk }: SigningKey): KeyObject {
  const { kty, crv, x, y, n, e } = jwk
  const parts = kty === 'EC' ? { kty, crv, x, y } : { kty, n, e }
  return createPublicKey({ key: parts as webcrypto.JsonWebKey, format: 'jwk' })
}
