/** Passkeys of an authenticator made here, which signs what it is asked to (Web Authentication Level 3, 6.3.3). */
import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import { createPasskeys } from '../../../src/auth/accounts/passkeys.ts'
import type { Records } from '../../../src/records.ts'
import { type Fixture, withFixture } from './fixture.ts'

const issuer = 'https://id.example.com'
const credential = Buffer.from('a credential').toString('base64url')
const userId = 7

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}

/** COSE, RFC 9053, 7.1.1: an EC2 key for ES256. */
function coseKey(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  const [head, between] = [Buffer.from('a5010203262001215820', 'hex'), Buffer.from('225820', 'hex')]
  return Buffer.concat([head, Buffer.from(x, 'base64url'), between, Buffer.from(y, 'base64url')])
}

function assertion(key: KeyObject, challenge: string, counter: number): string {
  const client = JSON.stringify({ type: 'webauthn.get', challenge, origin: issuer, crossOrigin: false })
  const data = Buffer.alloc(37)
  sha256('id.example.com').copy(data)
  // The user was there, and was verified.
  data[32] = 0b101
  data.writeUInt32BE(counter, 33)
  const signature = sign('sha256', Buffer.concat([data, sha256(client)]), key)
  return JSON.stringify({
    id: credential,
    rawId: credential,
    type: 'public-key',
    clientExtensionResults: {},
    response: {
      clientDataJSON: Buffer.from(client).toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: signature.toString('base64url'),
    },
  })
}

async function desk({ base }: Fixture, records: Records = base.records) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const stored = {
    userId,
    name: 'My phone',
    publicKey: coseKey(publicKey).toString('base64url'),
    counter: 1,
    transports: [],
    createdAt: base.now(),
  }
  const id = sha256(credential).toString('base64url')
  const payload = JSON.stringify(stored)
  await base.records.put({ kind: 'Passkey', id, payload, expiresAt: null, owner: String(userId) })
  const passkeys = createPasskeys({
    records,
    tokens: base.tokens,
    issuer,
    rpName: 'Example',
    now: base.now,
  })
  const answer = async (counter: number) => {
    const { challenge } = (await passkeys.requestOptions()) as { challenge: string }
    const proof = await passkeys.verify(assertion(privateKey, challenge, counter), async () => 7)
    if (proof !== undefined) assert.equal(proof.at, 7)
    return proof?.userId
  }
  return { passkeys, answer, id }
}

test('an authenticator signs its owner in, and one whose counter went back does not', async () => {
  await withFixture({}, async fixture => {
    const { answer, passkeys } = await desk(fixture)
    assert.equal(await answer(5), userId)
    assert.equal(await answer(6), userId)
    assert.equal(await answer(4), undefined)
    assert.equal((await passkeys.list(userId)).length, 1)
  })
})

test('a passkey that is removed while it signs somebody in is not brought back', async () => {
  await withFixture({}, async fixture => {
    const { records } = fixture.base
    let remove = async (): Promise<unknown> => undefined
    const watched = new Proxy(records, {
      get(target, name: keyof Records) {
        if (name !== 'get') return target[name].bind(target)
        return async (kind: string, id: string) => {
          const found = await target.get(kind, id)
          await remove()
          return found
        }
      },
    })
    const { answer, passkeys, id } = await desk(fixture, watched)
    remove = () => records.delete('Passkey', id)
    await answer(2)
    assert.deepEqual(await passkeys.list(userId), [])
  })
})
