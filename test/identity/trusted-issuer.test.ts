import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'
import { keyFetcher } from '../../src/identity/fetch-keys.ts'
import { type TrustedIssuer, trustedIssuerReader } from '../../src/identity/trusted-issuer.ts'

const issuer: TrustedIssuer = {
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

async function setup(overrides: Partial<TrustedIssuer> = {}, { hasKid = true } = {}) {
  /** `during`: called while an account is looked up. */
  const clock = { now: Date.parse('2026-01-01T00:00:00Z'), version: 1, during: () => {} }
  const pairs = new Map(
    await Promise.all(
      ['one', 'two'].map(async kid => [kid, await generateKeyPair('ES256', { extractable: true })] as const),
    ),
  )
  const published = new Set(['one'])
  const fetched: string[] = []
  const lookUps: string[] = []
  const reader = trustedIssuerReader({
    issuers: [{ ...issuer, ...overrides }],
    scopes: new Set(['read:post', 'write:post']),
    claims: ['org_id', 'level', 'staff', 'absent', 'nested', 'long', 'nul', '__proto__'],
    now: () => clock.now,
    version: () => clock.version,
    async fetchKeys(address) {
      fetched.push(address)
      const keys = [...pairs].filter(([kid]) => published.has(kid))
      return {
        keys: await Promise.all(
          keys.map(async ([kid, pair]) => ({
            ...(await exportJWK(pair.publicKey)),
            ...(hasKid && { kid }),
            alg: 'ES256',
          })),
        ),
      }
    },
    findById: id => (id === 7 ? { id, role: 'user', disabled: false } : undefined),
    findByEmail: email => {
      lookUps.push(email)
      clock.during()
      return email === 'ann@example.com' ? { id: 7, role: 'user', disabled: false } : undefined
    },
  })
  const token = async (
    claims: JWTPayload = good,
    { kid = 'one', signer = 'one', header = {}, exp = 600, ends = true } = {},
  ) => {
    const key = pairs.get(signer)?.privateKey
    assert.ok(key)
    const created = new SignJWT({ iss: issuer.issuer, aud: issuer.audience, ...claims })
    if (ends) created.setExpirationTime(Math.floor(clock.now / 1000) + exp)
    return created.setProtectedHeader({ alg: 'ES256', kid, ...header }).sign(key)
  }
  const read = async (text: string) => reader.read({ place: 'bearer', text })
  return { clock, published, fetched, lookUps, token, read, reader }
}

test('a token identifies the account with its address, limited to the known scopes', async () => {
  const { token, read, lookUps } = await setup()
  const principal = await read(await token())
  assert.equal(principal?.userId, 7)
  assert.deepEqual([...(principal?.access.scopes ?? [])], ['read:post'])
  assert.equal(principal?.budgetKey, 'user:7:issuer:https://id.example.com')
  assert.deepEqual(lookUps, ['ann@example.com'])
})

test('a principal keeps the claims that rules name, if they have the type of a field', async () => {
  const { token, read } = await setup()
  const claims = {
    org_id: 'acme',
    level: 3,
    staff: true,
    nested: { org_id: 'acme' },
    long: 'x'.repeat(1001),
    nul: 'a\u0000b',
    other: 'not named',
  }
  const principal = await read(await token({ ...good, ...claims }))
  assert.deepEqual(
    [...(principal?.claims?.values ?? [])],
    [
      ['org_id', 'acme'],
      ['level', 3],
      ['staff', true],
    ],
  )
  const same = await read(await token({ ...good, ...claims }, { exp: 601 }))
  assert.equal(same?.claims?.key, principal?.claims?.key)
  const other = await read(await token({ ...good, ...claims, org_id: 'other' }))
  assert.notEqual(other?.claims?.key, principal?.claims?.key)
  assert.equal((await read(await token()))?.claims, undefined)
})

test('a token without `kid` is verified with each key', async () => {
  const { token, read, published } = await setup()
  published.add('two')
  const header = { kid: undefined }
  for (const signer of ['one', 'two']) {
    assert.equal((await read(await token(good, { signer, header })))?.userId, 7, signer)
  }
  assert.equal(await read(await token({ ...good, aud: 'another' }, { signer: 'two', header })), null)
  published.delete('two')
  const { token: foreign } = await setup()
  assert.equal(await read(await foreign(good, { header })), null)
})

test('`exp` beyond the year 9999 becomes the last date that a database can store', async () => {
  const { token, read, clock } = await setup()
  assert.equal((await read(await token()))?.expiresAt, clock.now + 600_000)
  for (const exp of [1e12, 1e15, 1e300]) {
    const { expiresAt = 0 } = (await read(await token(good, { exp }))) ?? {}
    assert.equal(new Date(expiresAt).toISOString(), '9999-12-31T23:59:59.999Z', String(exp))
  }
})

test('a token without `exp` is refused', async () => {
  const { token, read } = await setup()
  assert.equal(await read(await token(good, { ends: false })), null)
})

test('an account that changes during its look-up is looked up again', async () => {
  const { token, read, lookUps, clock } = await setup()
  const text = await token()
  clock.during = () => {
    clock.version++
    clock.during = () => {}
  }
  for (const count of [1, 2, 2]) {
    assert.equal((await read(text))?.userId, 7)
    assert.equal(lookUps.length, count)
  }
})

test('an address that the issuer has not verified matches no account', async () => {
  const { token, read, lookUps } = await setup()
  for (const email_verified of [false, undefined, 'true', 1]) {
    assert.equal(await read(await token({ ...good, email_verified })), null)
  }
  assert.equal(await read(await token({ ...good, email: ['ann@example.com'] })), null)
  assert.deepEqual(lookUps, [])
})

test('with `user: sub`, only the id of an account matches', async () => {
  const { token, read } = await setup({ user: 'sub' })
  assert.equal((await read(await token({ sub: '7' })))?.userId, 7)
  for (const sub of ['8', '07', '7 ', '7.0', '', '-7', '1e1', '99999999999999999999']) {
    assert.equal(await read(await token({ sub })), null, sub)
  }
})

test('a token with a wrong audience, signature or time is refused', async () => {
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

test('a clock that is ahead of ours by up to 30 seconds is tolerated, an expired token is not', async () => {
  const { token, read, clock } = await setup()
  const at = (seconds: number) => Math.floor(clock.now / 1000) + seconds
  assert.equal((await read(await token({ ...good, nbf: at(20), iat: at(20) })))?.userId, 7)
  assert.equal(await read(await token({ ...good, nbf: at(120) })), null)
  assert.equal(await read(await token(good, { exp: -10 })), null)
})

test('scopes are read from `scope`, or else from `scp`, as a text or as a list', async () => {
  const { token, read } = await setup()
  const scopes = ['read:post', 'write:post']
  for (const claims of [
    { scope: scopes.join(' ') },
    { scope: scopes },
    { scp: scopes.join(' ') },
    { scp: scopes },
    { scope: null, scp: scopes },
    { scope: scopes, scp: 'read:user' },
    { scope: [...scopes, 7, null, 'unknown:thing'] },
  ]) {
    const principal = await read(await token({ ...good, scope: undefined, ...claims }))
    assert.deepEqual([...(principal?.access.scopes ?? [])].sort(), scopes, JSON.stringify(claims))
  }
  for (const scope of [{}, 7, true, [scopes]])
    assert.deepEqual((await read(await token({ ...good, scope })))?.access.scopes, new Set(), String(scope))
})

test('a token that is bound to a key is refused, because no proof of possession is checked', async () => {
  const { token, read, lookUps } = await setup()
  const bindings = [{ jkt: 'x'.repeat(43) }, { 'x5t#S256': 'x'.repeat(43) }, { jwk: {} }, {}, null]
  for (const cnf of bindings) {
    await assert.rejects(read(await token({ ...good, cnf })), /bound to a key/, JSON.stringify(cnf))
  }
  // Not even the account is looked up, and nothing is cached.
  assert.deepEqual(lookUps, [])
  assert.equal((await read(await token()))?.userId, 7)
  // The claims of a token that another key has signed do not matter.
  assert.equal(await read(await token({ ...good, cnf: {} }, { signer: 'two' })), null)
})

test('a token of another issuer is left to other readers, and no keys are fetched', async () => {
  const { token, read, fetched, reader } = await setup()
  assert.equal(await read(await token({ ...good, iss: 'https://evil.example' })), undefined)
  assert.equal(await read('opaque'), undefined)
  assert.equal(await read('a.b.c'), undefined)
  assert.equal(reader.read({ place: 'key', text: await token() }), undefined)
  assert.deepEqual(fetched, [])
})

test('keys are fetched once, and again for an unknown `kid`, but not for every wrong token', async () => {
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

test('keys are fetched again for a token without `kid` that no known key has signed', async () => {
  for (const kid of ['one', undefined]) {
    const { token, read, fetched, published, clock } = await setup({}, { hasKid: kid !== undefined })
    const header = { kid: undefined }
    assert.equal((await read(await token(good, { header })))?.userId, 7)
    const rotated = await token(good, { signer: 'two', header })
    for (let count = 0; count < 5; count++) assert.equal(await read(rotated), null)
    assert.equal(fetched.length, 1)
    published.add('two')
    published.delete('one')
    clock.now += 61_000
    assert.equal((await read(rotated))?.userId, 7)
    assert.equal(fetched.length, 2)
    // While both keys are published, neither verifies it.
    published.add('one')
    const { token: foreign } = await setup()
    clock.now += 61_000
    assert.equal(await read(await foreign(good, { header })), null)
    assert.equal(fetched.length, 3)
  }
})

test('a token is verified once, until it expires or an account changes', async () => {
  const { token, reader, lookUps, clock } = await setup()
  const text = await token()
  await reader.read({ place: 'bearer', text })
  assert.ok(!(reader.read({ place: 'bearer', text }) instanceof Promise))
  assert.equal(lookUps.length, 1)
  clock.version++
  assert.equal((await reader.read({ place: 'bearer', text }))?.userId, 7)
  assert.equal(lookUps.length, 2)
  clock.now += 601_000
  assert.equal(await reader.read({ place: 'bearer', text }), null)
})

test('a token whose key its issuer has withdrawn is refused within twenty minutes, whatever its expiry', async () => {
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

/** A server with an issuer’s keys, which counts its requests, and a reader that fetches from it. */
async function withServer(
  use: (fixture: {
    readonly server: { status: number; requests: number; published: JWK[] }
    readonly clock: { now: number }
    readonly notes: (string | undefined)[]
    token(kid?: string): Promise<string>
    /** The user that the token stands for. */
    who(text: string): Promise<number | undefined>
  }) => Promise<void>,
) {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const key = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }
  const server = { status: 200, requests: 0, published: [key] as JWK[] }
  const http = createServer((_req, res) => {
    server.requests++
    res.statusCode = server.status
    res.end(JSON.stringify({ keys: server.published }))
  })
  await once(http.listen(0, '127.0.0.1'), 'listening')
  const clock = { now: Date.parse('2026-01-01T00:00:00Z') }
  const notes: (string | undefined)[] = []
  const jwksUri = `http://127.0.0.1:${(http.address() as AddressInfo).port}/`
  const reader = trustedIssuerReader({
    issuers: [{ ...issuer, jwksUri, user: 'sub' }],
    scopes: new Set(),
    claims: [],
    version: () => 1,
    now: () => clock.now,
    async fetchKeys(address) {
      const answer = await fetch(address)
      if (answer.ok) return answer.json()
      throw new Error(`status ${answer.status}`)
    },
    onChange: (named, trouble) => void notes.push(`${named}: ${trouble ?? 'again'}`),
    findById: id => ({ id, role: 'user', disabled: false }),
    findByEmail: () => undefined,
  })
  let created = 0
  try {
    await use({
      server,
      clock,
      notes,
      token: (kid = 'one') =>
        new SignJWT({ iss: issuer.issuer, aud: issuer.audience, sub: String(++created), exp: 2_000_000_000 })
          .setProtectedHeader({ alg: 'ES256', kid })
          .sign(privateKey),
      who: async text => (await reader.read({ place: 'bearer', text }))?.userId ?? undefined,
    })
  } finally {
    http.closeAllConnections()
    http.close()
  }
}

test('if keys cannot be fetched, tokens are refused, and the retries back off', async () => {
  await withServer(async ({ server, clock, notes, token, who }) => {
    server.status = 503
    const text = await token()
    const attemptedAt: number[] = []
    const start = clock.now
    for (let second = 0; second <= 300; second++) {
      clock.now = start + second * 1000
      const before = server.requests
      for (let count = 0; count < 5; count++) assert.equal(await who(text), undefined)
      assert.ok(server.requests <= before + 1, 'one attempt at a time')
      if (server.requests > before) attemptedAt.push(second)
    }
    // The pauses double from 1 s, up to a minute.
    assert.deepEqual(attemptedAt, [0, 2, 5, 10, 19, 36, 69, 130, 191, 252])
    assert.deepEqual(notes, ['https://id.example.com: status 503'])
    server.status = 200
    clock.now += 61_000
    assert.equal(await who(text), 1)
    assert.deepEqual(notes.slice(1), ['https://id.example.com: again'])
    // A later failure begins with a short pause again.
    server.status = 503
    clock.now += 601_000
    assert.equal(await who(await token()), undefined)
    server.status = 200
    clock.now += 1001
    assert.equal(await who(await token()), 3)
    assert.equal(notes.length, 4)
  })
})

test('concurrent tokens share one attempt to fetch the keys', async () => {
  await withServer(async ({ server, token, who }) => {
    const texts = await Promise.all(Array.from({ length: 20 }, () => token()))
    server.status = 500
    assert.ok((await Promise.all(texts.map(who))).every(user => user === undefined))
    assert.equal(server.requests, 1)
  })
})

test('a document without keys counts as a failed attempt', async () => {
  await withServer(async ({ server, token, who, notes }) => {
    server.published = ['nonsense'] as never
    for (let count = 0; count < 5; count++) assert.equal(await who(await token()), undefined)
    assert.deepEqual([server.requests, notes.length], [1, 1])
  })
})

test('an unknown key does not affect known ones, even if the keys cannot be fetched again', async () => {
  await withServer(async ({ server, clock, token, who }) => {
    assert.equal(await who(await token()), 1)
    server.status = 503
    clock.now += 61_000
    const unknown = await token('two')
    for (let count = 0; count < 5; count++) assert.equal(await who(unknown), undefined)
    assert.equal(server.requests, 2)
    assert.equal(await who(await token()), 3)
    assert.equal(server.requests, 2)
  })
})

test('keys are fetched only over https and from public addresses, however the URL is spelt', async () => {
  const fetchKeys = keyFetcher()
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
    await assert.rejects(fetchKeys(address), /https only|does not have a public address/, address)
  }
})
