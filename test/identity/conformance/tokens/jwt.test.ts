/** Forged and altered JWTs are refused as access tokens on every path. */
import assert from 'node:assert/strict'
import {
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  type webcrypto,
} from 'node:crypto'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { type Fixture, newTokens, withFixture } from '../server.ts'

type Claims = Readonly<Record<string, unknown>>

interface Jwt {
  readonly header: Claims
  readonly payload: Claims
}

const jwtSettings = { 'oauth.accessTokenFormat': 'jwt' } as object
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

function decode(token: string): Jwt {
  const [header, payload] = token.split('.').map(part => Buffer.from(part, 'base64url').toString())
  return { header: JSON.parse(header ?? ''), payload: JSON.parse(payload ?? '') }
}

const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const edwards = generateKeyPairSync('ed25519')

function signedWith(key: KeyObject, algorithm: string, text: string): string {
  const digest = algorithm === 'EdDSA' ? null : 'sha256'
  const padding = algorithm === 'PS256' ? { padding: 6, saltLength: 32 } : {}
  return sign(digest, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363', ...padding }).toString('base64url')
}

/** Signs with a key that the service has never seen. */
function forged({ header, payload }: Jwt, key: KeyObject = elliptic.privateKey): string {
  const text = `${encode(header)}.${encode(payload)}`
  return `${text}.${signedWith(key, String(header.alg), text)}`
}

function withHmac({ header, payload }: Jwt, secret: string | Buffer): string {
  const text = `${encode({ ...header, alg: 'HS256' })}.${encode(payload)}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

interface Jwks {
  readonly keys: readonly Record<string, unknown>[]
}

/** Every way in which a public key could be mistaken for a shared secret. */
function secretsFrom({ keys }: Jwks): (string | Buffer)[] {
  return keys.flatMap(jwk => {
    const key = createPublicKey({ key: jwk as webcrypto.JsonWebKey, format: 'jwk' })
    const pem = key.export({ type: 'spki', format: 'pem' }).toString()
    return [
      pem,
      pem.trim(),
      key.export({ type: 'spki', format: 'der' }),
      JSON.stringify(jwk),
      String(jwk.kid),
      '',
    ]
  })
}

function corpus(good: string, jwks: Jwks, keysUrl: string): ReadonlyMap<string, string> {
  const { header, payload } = decode(good)
  const [head = '', body = '', signature = ''] = good.split('.')
  const now = Math.floor(Date.now() / 1000)
  const own = {
    ...elliptic.publicKey.export({ format: 'jwk' }),
    kid: String(header.kid),
    alg: 'ES256',
    use: 'sig',
  }
  const forgeries = new Map<string, string>()
  for (const alg of ['none', 'None', 'NONE', 'nOnE', '']) {
    const unsigned = `${encode({ ...header, alg })}.${encode(payload)}`
    forgeries.set(`alg ${alg} without a signature`, `${unsigned}.`)
    forgeries.set(`alg ${alg} with two parts`, unsigned)
    forgeries.set(`alg ${alg} with the old signature`, `${unsigned}.${signature}`)
  }
  for (const [index, secret] of secretsFrom(jwks).entries())
    forgeries.set(`HS256 with the public key, ${index}`, withHmac({ header, payload }, secret))
  forgeries.set('ES256 by another key', forged({ header: { ...header, alg: 'ES256' }, payload }))
  forgeries.set(
    'RS256 by another key',
    forged({ header: { ...header, alg: 'RS256' }, payload }, rsa.privateKey),
  )
  forgeries.set(
    'PS256 by another key',
    forged({ header: { ...header, alg: 'PS256' }, payload }, rsa.privateKey),
  )
  forgeries.set(
    'EdDSA by another key',
    forged({ header: { ...header, alg: 'EdDSA' }, payload }, edwards.privateKey),
  )
  const headers: Record<string, Claims> = {
    jwk: { jwk: own },
    jku: { jku: keysUrl },
    x5u: { x5u: keysUrl },
    x5c: { x5c: ['MIIB'] },
    'unknown kid': { kid: 'nothing' },
    'kid as a path': { kid: '../../../../dev/null' },
    'kid as SQL': { kid: "' UNION SELECT 'secret' --" },
    'kid as a URL': { kid: keysUrl },
    'kid as an object': { kid: { $ne: null } },
    'kid __proto__': { kid: '__proto__' },
    'no kid': { kid: undefined },
    crit: { crit: ['exp'] },
    'crit with an unknown header': { crit: ['made-up'], 'made-up': true },
    'crit, empty': { crit: [] },
    b64: { b64: false, crit: ['b64'] },
    'typ JWT': { typ: 'JWT' },
    'no typ': { typ: undefined },
    'typ with another suffix': { typ: 'id_token+jwt' },
  }
  for (const [name, changed] of Object.entries(headers)) {
    forgeries.set(
      `header ${name}, forged`,
      forged({ header: { ...header, alg: 'ES256', ...changed }, payload }),
    )
    forgeries.set(
      `header ${name}, old signature`,
      `${encode({ ...header, ...changed })}.${body}.${signature}`,
    )
  }
  const claims: Record<string, Claims> = {
    'another issuer': { iss: 'https://evil.example' },
    'issuer with a slash': { iss: `${payload.iss}/` },
    'another audience': { aud: 'https://evil.example' },
    'another user': { sub: '1' },
    'more scopes': { scope: 'read:user write:user write:post' },
    'a later expiry': { exp: now + 1e7 },
    expired: { exp: now - 3600 },
    'not yet': { nbf: now + 3600 },
    'no expiry': { exp: undefined },
    'an expiry as a string': { exp: '9999999999' },
  }
  for (const [name, changed] of Object.entries(claims)) {
    forgeries.set(
      `claim ${name}, forged`,
      forged({ header: { ...header, alg: 'ES256' }, payload: { ...payload, ...changed } }),
    )
    forgeries.set(
      `claim ${name}, old signature`,
      `${head}.${encode({ ...payload, ...changed })}.${signature}`,
    )
  }
  for (const length of [0, 1, head.length, head.length + 1, head.length + 10, good.length - signature.length])
    forgeries.set(`cut at ${length}`, good.slice(0, length))
  const last = good.at(-3) === 'A' ? 'B' : 'A'
  forgeries.set('cut by one', good.slice(0, -1))
  forgeries.set('one character changed', `${good.slice(0, -3)}${last}${good.slice(-2)}`)
  forgeries.set('no signature', `${head}.${body}.`)
  forgeries.set('no payload', `${head}..${signature}`)
  forgeries.set('no header', `.${body}.${signature}`)
  forgeries.set('a fourth part', `${good}.x`)
  forgeries.set('five parts', `${head}.${body}.${signature}.${body}.${signature}`)
  forgeries.set('padded', `${good}==`)
  forgeries.set('zeros for a signature', `${head}.${body}.${Buffer.alloc(64).toString('base64url')}`)
  forgeries.set('a short signature', `${head}.${body}.AA`)
  forgeries.set('a header that is not an object', `${encode('x')}.${body}.${signature}`)
  forgeries.set('a header that is null', `${encode(null)}.${body}.${signature}`)
  forgeries.set(
    'a payload that is an array',
    forged({ header: { ...header, alg: 'ES256' }, payload: [] as never }),
  )
  forgeries.set('no JSON', `${Buffer.from('{').toString('base64url')}.${body}.${signature}`)
  forgeries.set('very long', `${head}.${'A'.repeat(9000)}.${signature}`)
  forgeries.set('only dots', '...')
  return forgeries
}

const paths = ['/api/v1/me', '/api/v1/posts', '/api/v1/posts/1', '/docs', '/nothing']

async function isRefused({ url }: Fixture, name: string, token: string): Promise<void> {
  for (const path of paths) {
    const response = await fetch(url + path, { headers: { Authorization: `Bearer ${token}` } })
    const text = await response.text()
    assert.equal(response.status, 401, `${name} at ${path}: ${text}`)
    assert.doesNotMatch(text, /signature|\bkid\b|\balg|jose|issuer|audience/i, name)
  }
  const graphql = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: '{"query":"{ posts { id } }"}',
  })
  assert.equal(graphql.status, 401, `${name} at /graphql: ${await graphql.text()}`)
  const info = await fetch(`${url}/oauth/userinfo`, { headers: { Authorization: `Bearer ${token}` } })
  assert.ok([400, 401].includes(info.status), `${name} at userinfo: ${info.status}`)
}

/** A server that counts requests for its keys. */
async function withKeyServer(use: (url: string, requestCount: () => number) => Promise<void>): Promise<void> {
  let count = 0
  const body = JSON.stringify({ keys: [elliptic.publicKey.export({ format: 'jwk' })] })
  const server = createServer((_request, response) => {
    count++
    response.end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  try {
    await use(`http://127.0.0.1:${address.port}/jwks`, () => count)
  } finally {
    await new Promise(resolve => server.close(resolve))
  }
}

test('a JWT that is not exactly ours is refused, without fetching any key', async () => {
  await withKeyServer(async (keysUrl, requestCount) => {
    await withFixture(jwtSettings, async fixture => {
      const app = await fixture.app()
      const options = { browser: fixture.browser(), person: fixture.ann, scope: 'openid read:user read:post' }
      const tokens = await newTokens(fixture, app, options)
      const good = tokens.access_token ?? ''
      assert.equal(good.split('.').length, 3)
      const jwks = (await (await fetch(`${fixture.url}/oauth/jwks`)).json()) as Jwks
      assert.ok(jwks.keys.length > 0)
      for (const key of jwks.keys) for (const secret of ['d', 'p', 'q', 'k']) assert.ok(!(secret in key))

      const wrong = corpus(good, jwks, keysUrl)
      assert.ok(wrong.size > 90, `${wrong.size}`)
      // An ID token is for the app, not for the API.
      for (const [name, token] of [...wrong, ['an ID token', tokens.id_token ?? ''] as const])
        await isRefused(fixture, name, token)
      assert.equal(requestCount(), 0)
      const me = await fetch(`${fixture.url}/api/v1/me`, { headers: { Authorization: `Bearer ${good}` } })
      assert.equal(me.status, 200)
    })
  })
})

test('a JWT access token has the form of RFC 9068', async () => {
  await withFixture(jwtSettings, async fixture => {
    const app = await fixture.app()
    const options = { browser: fixture.browser(), person: fixture.ann, scope: 'read:user,read:post' }
    const { access_token = '' } = await newTokens(fixture, app, options)
    const { header, payload } = decode(access_token)
    assert.equal(header.typ, 'at+jwt')
    assert.notEqual(header.alg, 'none')
    assert.equal(payload.iss, fixture.url)
    assert.equal(payload.client_id, app.client_id)
    assert.equal(payload.sub, String(fixture.ann.id))
    assert.deepEqual(String(payload.scope).split(' ').sort(), ['read:post', 'read:user'])
    assert.equal(typeof payload.jti, 'string')
    assert.equal(Number(payload.exp) - Number(payload.iat), 3600)
    assert.ok(payload.aud)
    assert.doesNotMatch(JSON.stringify(payload), /@example\.com|password|Ann/)
  })
})

test('a wrong opaque token is refused without details', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const options = { browser: fixture.browser(), person: fixture.ann }
    const { access_token = '' } = await newTokens(fixture, app, options)
    const last = access_token.endsWith('a') ? 'b' : 'a'
    for (const token of [
      `${access_token.slice(0, -1)}${last}`,
      access_token.slice(0, -1),
      `${access_token}x`,
      access_token.toUpperCase(),
      'x',
      'x'.repeat(43),
      'x'.repeat(5000),
    ])
      await isRefused(fixture, token.slice(0, 60), token)
  })
})
