/** DPoP proofs, each claim by itself (RFC 9449, 4.3); `conformance/oauth` tests them with clients. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, hash, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import { calculateJwkThumbprint, exportJWK, type JWK, SignJWT } from 'jose'
import type { NewRecord, Records } from '../../src/base/records.ts'
import { Proofs } from '../../src/identity/dpop.ts'

const start = Date.parse('2026-01-01T00:00:00Z')
const token = 'a-token'
const path = '/posts/1'
const issuer = 'https://a.example'

interface Key {
  readonly privateKey: KeyObject
  readonly jwk: JWK
  readonly thumbprint: string
}

async function newKey(): Promise<Key> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = await exportJWK(publicKey)
  return { privateKey, jwk, thumbprint: await calculateJwkThumbprint(jwk) }
}

const key = await newKey()
let ids = 0

interface Changes {
  /** Undefined removes the claim. */
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
  readonly by?: Key
}

/** A proof that is valid except for these changes. */
function proofWith({ claims = {}, header = {}, by = key }: Changes = {}): Promise<string> {
  const ath = hash('sha256', token, 'base64url')
  const all = { jti: `${++ids}`, htm: 'GET', htu: issuer + path, iat: start / 1000, ath, ...claims }
  const present = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  return new SignJWT(present)
    .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: by.jwk, ...header })
    .sign(by.privateKey)
}

/** Checks proofs against records that are written with a delay. */
function open() {
  const state = { now: start }
  const stored = new Map<string, NewRecord>()
  const add = async (record: NewRecord) => {
    await Promise.resolve()
    if (stored.has(record.id)) return false
    stored.set(record.id, record)
    return true
  }
  const proofs = new Proofs({
    records: { add } as unknown as Records,
    issuer: () => issuer,
    now: () => state.now,
  })
  const check = (proof: unknown, thumbprint = key.thumbprint) =>
    proofs.check({ method: 'GET', path, proof }, token, thumbprint)
  return { state, stored, check }
}

test('a proof works once', async () => {
  const { check } = open()
  const proof = await proofWith()
  await check(proof)
  await assert.rejects(check(proof), /was used already/)
  const again = await proofWith()
  const outcomes = await Promise.allSettled([check(again), check(again), check(again)])
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
})

test('a proof is remembered for as long as it could be sent again', async () => {
  const { check, stored } = open()
  await check(await proofWith())
  await check(await proofWith({ claims: { iat: start / 1000 + 300 } }))
  const ends = [...stored.values()].map(({ expiresAt }) => (expiresAt ?? 0) - start)
  for (const [at, longest] of [300_000, 600_000].entries()) {
    assert.ok(Number(ends[at]) > longest && Number(ends[at]) < longest + 10_000, `${ends[at]} ms`)
  }
})

test('two keys may use the same id', async () => {
  const { check } = open()
  const other = await newKey()
  await check(await proofWith({ claims: { jti: 'same' } }))
  await check(await proofWith({ claims: { jti: 'same' }, by: other }), other.thumbprint)
})

test('`iat` may differ by five minutes in either direction', async () => {
  const { check } = open()
  for (const seconds of [-300, 300]) await check(await proofWith({ claims: { iat: start / 1000 + seconds } }))
  for (const seconds of [-301, 301]) {
    await assert.rejects(
      check(await proofWith({ claims: { iat: start / 1000 + seconds } })),
      /iat of the proof/,
    )
  }
})

const wrong: readonly (readonly [what: string, changes: Changes, message: RegExp])[] = [
  ['another method', { claims: { htm: 'POST' } }, /htm of the proof/],
  ['no method', { claims: { htm: undefined } }, /htm of the proof/],
  ['another path', { claims: { htu: `${issuer}/posts/2` } }, /htu of the proof/],
  ['another host', { claims: { htu: `https://b.example${path}` } }, /htu of the proof/],
  ['another token', { claims: { ath: hash('sha256', 'other', 'base64url') } }, /ath of the proof/],
  ['no token', { claims: { ath: undefined } }, /ath of the proof/],
  ['no id', { claims: { jti: undefined } }, /no jti/],
  ['no time', { claims: { iat: undefined } }, /iat of the proof/],
  ['another type', { header: { typ: 'JWT' } }, /type of the proof is not dpop\+jwt/],
  ['a private key', { header: { jwk: { ...key.jwk, d: 'AA' } } }, /private key/],
  ['no key', { header: { jwk: undefined } }, /no public key/],
  ['another key', { by: await newKey() }, /bound to another key/],
  ['another’s signature', { header: { jwk: key.jwk }, by: await newKey() }, /signature of the proof/],
  ['an expired proof', { claims: { exp: start / 1000 - 1 } }, /signature of the proof/],
]

for (const [what, changes, message] of wrong) {
  test(`${what} is refused, and its jti stays unused`, async () => {
    const { check, stored } = open()
    await assert.rejects(check(await proofWith(changes)), message)
    assert.equal(stored.size, 0)
  })
}

test('`htu` is compared without query and fragment, after normalization (RFC 9449, 4.3; RFC 3986, 6.2.2)', async () => {
  const { check } = open()
  for (const htu of [`${issuer}${path}?a=1#b`, `HTTPS://A.example:443${path}`]) {
    await check(await proofWith({ claims: { htu } }))
  }
})

test('a request needs exactly one proof, of at most the permitted length', async () => {
  const { check } = open()
  await assert.rejects(check(undefined), /is missing/)
  const proof = await proofWith()
  await assert.rejects(check(`${proof}, ${proof}`), /must be exactly one proof/)
  await assert.rejects(check('x'.repeat(8193)), /too long/)
  await assert.rejects(check('x'), /not a JWT/)
})
