import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { fetchKeys, isPublicAddress } from '../../src/auth/fetch-keys.ts'
import { type OutsideIssuer, outsideIssuerReader } from '../../src/auth/outside-issuer.ts'

const issuer: OutsideIssuer = {
  issuer: 'https://id.example.com',
  jwksUri: 'https://id.example.com/jwks',
  audience: 'api',
  user: 'email',
}
const good: JWTPayload = {
  sub: 'u-1',
  email: 'Ann@Example.com',
  email_verified: true,
  scope: 'read:post nonsense',
}

async function setup(given: Partial<OutsideIssuer> = {}) {
  const clock = { now: Date.parse('2026-01-01T00:00:00Z'), version: 1 }
  const pairs = new Map(
    await Promise.all(
      ['one', 'two'].map(async kid => [kid, await generateKeyPair('ES256', { extractable: true })] as const),
    ),
  )
  const published = new Set(['one'])
  const fetched: string[] = []
  const asked: string[] = []
  const reader = outsideIssuerReader({
    issuers: [{ ...issuer, ...given }],
    scopes: new Set(['read:post', 'write:post']),
    now: () => clock.now,
    version: () => clock.version,
    async fetchKeys(address) {
      fetched.push(address)
      const keys = [...pairs].filter(([kid]) => published.has(kid))
      return {
        keys: await Promise.all(
          keys.map(async ([kid, pair]) => ({ ...(await exportJWK(pair.publicKey)), kid, alg: 'ES256' })),
        ),
      }
    },
    findById: id => (id === 7 ? { id, role: 'user' } : undefined),
    findByEmail: email => {
      asked.push(email)
      return email === 'ann@example.com' ? { id: 7, role: 'user' } : undefined
    },
  })
  const token = async (
    claims: JWTPayload = good,
    { kid = 'one', signer = 'one', header = {}, exp = 600 } = {},
  ) => {
    const key = pairs.get(signer)?.privateKey
    assert.ok(key)
    return new SignJWT({ iss: issuer.issuer, aud: issuer.audience, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid, ...header })
      .setExpirationTime(Math.floor(clock.now / 1000) + exp)
      .sign(key)
  }
  const read = async (text: string) => reader.read({ place: 'bearer', text })
  return { clock, published, fetched, asked, token, read, reader }
}

test('a token of a trusted issuer stands for the account with its address, with the scopes that are known', async () => {
  const { token, read, asked } = await setup()
  const principal = await read(await token())
  assert.equal(principal?.userId, 7)
  assert.deepEqual([...(principal?.access.scopes ?? [])], ['read:post'])
  assert.equal(principal?.budgetKey, 'user:7:issuer:https://id.example.com')
  assert.deepEqual(asked, ['ann@example.com'])
})

test('an address that the issuer has not verified stands for nobody', async () => {
  const { token, read, asked } = await setup()
  for (const email_verified of [false, undefined, 'true', 1]) {
    assert.equal(await read(await token({ ...good, email_verified })), null)
  }
  assert.equal(await read(await token({ ...good, email: ['ann@example.com'] })), null)
  assert.deepEqual(asked, [])
})

test('by `sub` only an id of an account counts', async () => {
  const { token, read } = await setup({ user: 'sub' })
  assert.equal((await read(await token({ sub: '7' })))?.userId, 7)
  for (const sub of ['8', '07', '7 ', '7.0', '', '-7', '1e1', '99999999999999999999']) {
    assert.equal(await read(await token({ sub })), null, sub)
  }
})

test('what is not signed for us, by that issuer, in time, is refused', async () => {
  const { token, read } = await setup()
  assert.equal(await read(await token({ ...good, aud: 'another' })), null)
  assert.equal(await read(await token(good, { exp: -1 })), null)
  assert.equal(await read(await token(good, { signer: 'two' })), null)
  assert.equal(await read(await token({ ...good, nbf: 4_000_000_000 })), null)
  const [header = '', payload = '', signature = ''] = (await token()).split('.')
  const none = Buffer.from('{"alg":"none"}').toString('base64url')
  assert.equal(await read(`${none}.${payload}.${signature}`), null)
  const other = Buffer.from(
    JSON.stringify({ ...good, iss: issuer.issuer, aud: 'api', exp: 4_000_000_000 }),
  ).toString('base64url')
  assert.equal(await read(`${header}.${other}.${signature}`), null)
})

test('what is of no trusted issuer is left to other readers, and nobody is asked', async () => {
  const { token, read, fetched, reader } = await setup()
  assert.equal(await read(await token({ ...good, iss: 'https://evil.example' })), undefined)
  assert.equal(await read('opaque'), undefined)
  assert.equal(await read('a.b.c'), undefined)
  assert.equal(reader.read({ place: 'key', text: await token() }), undefined)
  assert.deepEqual(fetched, [])
})

test('keys are fetched once, again for an unknown one, but not at every wrong token', async () => {
  const { token, read, fetched, published, clock } = await setup()
  await read(await token())
  await read(await token({ ...good, sub: 'u-2' }))
  assert.equal(fetched.length, 1)
  const rotated = await token(good, { kid: 'two', signer: 'two' })
  for (let count = 0; count < 5; count++) assert.equal(await read(rotated), null)
  assert.equal(fetched.length, 1)
  published.add('two')
  clock.now += 61_000
  assert.equal((await read(rotated))?.userId, 7)
  assert.equal(fetched.length, 2)
})

test('a token is checked once, until it expires or an account changes', async () => {
  const { token, reader, asked, clock } = await setup()
  const text = await token()
  await reader.read({ place: 'bearer', text })
  assert.ok(!(reader.read({ place: 'bearer', text }) instanceof Promise))
  assert.equal(asked.length, 1)
  clock.version++
  assert.equal((await reader.read({ place: 'bearer', text }))?.userId, 7)
  assert.equal(asked.length, 2)
  clock.now += 601_000
  assert.equal(await reader.read({ place: 'bearer', text }), null)
})

test('a token whose key its issuer has taken back is refused within twenty minutes, however long it lives', async () => {
  const { clock, published, token, read, fetched } = await setup()
  const text = await token(good, { exp: 86_400 })
  assert.equal((await read(text))?.userId, 7)
  published.delete('one')
  published.add('two')
  clock.now += 601_000
  assert.equal(await read(text), null)
  assert.equal(fetched.length, 2)
  assert.equal((await read(await token(good, { kid: 'two', signer: 'two' })))?.userId, 7)
})

test('keys that cannot be fetched refuse tokens, and are asked for again', async () => {
  let tries = 0
  const reader = outsideIssuerReader({
    issuers: [issuer],
    scopes: new Set(),
    version: () => 1,
    fetchKeys: () => Promise.reject(new Error(`try ${++tries}`)),
    findById: () => undefined,
    findByEmail: () => undefined,
  })
  const text = `${Buffer.from('{"alg":"ES256"}').toString('base64url')}.${Buffer.from(JSON.stringify({ iss: issuer.issuer })).toString('base64url')}.AA`
  assert.equal(await reader.read({ place: 'bearer', text }), null)
  assert.equal(await reader.read({ place: 'bearer', text }), null)
  assert.equal(tries, 2)
})

test('only addresses that anybody can reach are public', () => {
  for (const address of ['8.8.8.8', '1.1.1.1', '172.32.0.1', '2606:4700::1111', '192.0.1.1']) {
    assert.ok(isPublicAddress(address), address)
  }
  for (const address of [
    '127.0.0.1',
    '127.255.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'ff02::1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    'localhost',
    '',
    '2130706433',
    '0x7f.1',
  ]) {
    assert.ok(!isPublicAddress(address), address)
  }
})

test('keys are fetched by https from public addresses only, however they are written', async () => {
  for (const address of [
    'http://id.example.com/jwks',
    'https://127.0.0.1/jwks',
    'https://[::1]/jwks',
    'https://[::ffff:127.0.0.1]/jwks',
    'https://2130706433/jwks',
    'https://0x7f.1/jwks',
    'https://0177.0.0.1/jwks',
    'https://localhost/jwks',
    'file:///etc/passwd',
  ]) {
    await assert.rejects(fetchKeys(address), /https only|not public|not at a public/, address)
  }
})
