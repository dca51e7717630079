/**
 * Signing keys. The newest key of each algorithm signs. Older ones remain published and trusted until every token that
 * they have signed has expired.
 */

import { createPublicKey, generateKeyPair, hash, type KeyObject, type webcrypto } from 'node:crypto'
import { promisify } from 'node:util'
import type { EpochMs } from '../../../base/epoch-ms.ts'
import type { Records, StoredRecord } from '../../../base/records.ts'

const generate = promisify(generateKeyPair)

const recordKind = 'SigningKeys'
const recordId = 'all'
/** How long a retired key stays published after the longest token has expired. */
const marginMs = 60 * 60 * 1000

export interface SigningKey {
  /** Private, with `kid`, `alg` and `use` (RFC 7517, 4). */
  readonly jwk: webcrypto.JsonWebKey & { readonly kid: string; readonly alg: 'ES256' | 'RS256' }
  readonly createdAt: EpochMs
  /** When it stopped signing; null while it signs. */
  readonly retiredAt: number | null
  /** When it stops being trusted; set on retirement. */
  readonly endsAt?: number
}

/** Every OpenID Connect client supports RS256 (Core 1.0, 15.1); ES256 signs access tokens. */
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

/** The stored keys, the newest first. */
function keysIn({ payload }: StoredRecord): readonly SigningKey[] {
  return JSON.parse(payload) as readonly SigningKey[]
}

/** The record of the keys; creates it if there is none. */
async function loadRecord(records: Records, now: number): Promise<StoredRecord> {
  const record = await records.get(recordKind, recordId)
  if (record) return record
  const payload = JSON.stringify(await newKeys(now))
  // If another process has stored its keys first, those keys are used.
  await records.add({ kind: recordKind, id: recordId, payload, expiresAt: null })
  return loadRecord(records, now)
}

/** The keys; creates them if there are none. */
export async function loadKeys(records: Records, now = Date.now()): Promise<readonly SigningKey[]> {
  return keysIn(await loadRecord(records, now))
}

/** The key in retirement. A key that was retired before keeps its end. `trustMs`: how long it is still trusted. */
function retired(key: SigningKey, now: number, trustMs: number): SigningKey {
  return key.retiredAt === null ? { ...key, retiredAt: now, endsAt: now + trustMs } : key
}

/** Whether signatures of the key are still accepted. */
export function isTrusted({ endsAt }: SigningKey, now: number): boolean {
  return endsAt === undefined || now < endsAt
}

/**
 * Creates new keys, which sign from now on, and returns their ids. `maxTokenSeconds`: the longest lifetime of a token:
 * retired keys are trusted for this long and an hour more. `atOnce`: the older keys are deleted, and their tokens end now.
 * Parallel rotations happen one after the other.
 */
export async function rotateKeys(
  records: Records,
  maxTokenSeconds: number,
  now = Date.now(),
  atOnce = false,
): Promise<readonly string[]> {
  const trustMs = maxTokenSeconds * 1000 + marginMs
  const fresh = await newKeys(now)
  for (let isDone = false; !isDone; ) {
    const record = await loadRecord(records, now)
    const retiring = keysIn(record)
      .map(key => retired(key, now, trustMs))
      .filter(key => isTrusted(key, now))
    const keys = atOnce ? fresh : [...fresh, ...retiring]
    isDone = await records.swap(record, record.payload, JSON.stringify(keys))
  }
  return fresh.map(({ jwk }) => jwk.kid)
}

/** Changes with the keys: see `Records.version`. */
export function keysVersion(records: Records): number {
  return records.version(recordKind)
}

/** The public key, to verify signatures with. */
export function publicKey({ jwk }: SigningKey): KeyObject {
  const { kty, crv, x, y, n, e } = jwk
  const parts = kty === 'EC' ? { kty, crv, x, y } : { kty, n, e }
  return createPublicKey({ key: parts as webcrypto.JsonWebKey, format: 'jwk' })
}
