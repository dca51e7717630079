/** DPoP (RFC 9449) with unmodified clients, and with forged or replayed proofs. */
import assert from 'node:assert/strict'
import { hash, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { WebSocket } from 'ws'
import { serve } from '../../../../src/server/serve/serve.ts'
import blog from '../../../models/blog.ts'
import {
  type App,
  authorize,
  clientCredentials,
  type Fixture,
  post,
  redirectUri,
  withFixture,
} from '../server.ts'

const scope = 'openid offline_access read:user read:post'

interface Bound {
  readonly app: App
  readonly configuration: openid.Configuration
  readonly handle: openid.DPoPHandle
  readonly keys: oauth.CryptoKeyPair
  readonly tokens: openid.TokenEndpointResponse
}

/** Ann’s tokens, bound to a new key. */
async function boundTokens(fixture: Fixture, values = {}): Promise<Bound> {
  const app = await fixture.app(values)
  const configuration = await openid.discovery(
    new URL(fixture.url),
    app.client_id,
    app.client_secret,
    undefined,
    {
      execute: [openid.allowInsecureRequests],
    },
  )
  const keys = await openid.randomDPoPKeyPair('ES256')
  const handle = openid.getDPoPHandle(configuration, keys)
  const verifier = openid.randomPKCECodeVerifier()
  const address = openid.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope,
    state: 'state',
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  const callbackUrl = await authorize(fixture.browser(), address, fixture.ann)
  const checks = { pkceCodeVerifier: verifier, expectedState: 'state' }
  const tokens = await openid.authorizationCodeGrant(configuration, callbackUrl, checks, undefined, {
    DPoP: handle,
  })
  return { app, configuration, handle, keys, tokens }
}

interface ProofParts {
  readonly header?: Record<string, unknown>
  readonly claims?: Record<string, unknown>
}

type Keys = { readonly privateKey: oauth.CryptoKey; readonly publicKey: oauth.CryptoKey }

/** A valid proof of `GET /api/v1/me`, except for `parts`. */
async function proof(url: string, token: string, keys: Keys, { header = {}, claims = {} }: ProofParts = {}) {
  const jwk = await exportJWK(keys.publicKey)
  const right = {
    htm: 'GET',
    htu: `${url}/api/v1/me`,
    iat: Math.floor(Date.now() / 1000),
    jti: randomUUID(),
    ath: hash('sha256', token, 'base64url'),
  }
  return new SignJWT({ ...right, ...claims })
    .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk, ...header })
    .sign(keys.privateKey, { crit: { x: true } })
}

const me = (url: string, headers: HeadersInit) => fetch(`${url}/api/v1/me`, { headers })

async function assertRefused(response: Response, error: string): Promise<string> {
  const text = await response.text()
  assert.equal(response.status, 401, text)
  const challenge = response.headers.get('www-authenticate') ?? ''
  assert.match(challenge, /^DPoP /)
  assert.ok(challenge.includes(`error="${error}"`), challenge)
  assert.match(challenge, /algs="ES256 [^"]*"/)
  assert.match(challenge, /resource_metadata="/)
  return text
}

for (const format of ['opaque', 'jwt'] as const) {
  test(`openid-client and oauth4webapi call REST and GraphQL with a bound token (${format})`, async () => {
    await withFixture({}, async fixture => {
      const { configuration, handle, keys, tokens } = await boundTokens(fixture, {
        access_token_format: format,
      })
      assert.equal(tokens.token_type, 'dpop')
      const { access_token: token } = tokens
      const send = (path: string, method = 'GET', body?: string, headers = {}) =>
        openid.fetchProtectedResource(
          configuration,
          token,
          new URL(fixture.url + path),
          method,
          body ?? null,
          new Headers(headers),
          { DPoP: handle },
        )
      for (let round = 0; round < 3; round++) {
        const answer = await send('/api/v1/me?fields=email')
        assert.equal((await answer.json()).email, fixture.ann.email)
      }
      const json = { 'Content-Type': 'application/json' }
      const posted = await send('/graphql', 'POST', '{"query":"{ me { email } }"}', json)
      assert.equal((await posted.json()).data.me.email, fixture.ann.email)
      const graphqlAnswer = await send('/graphql?query=%7Bme%7Bemail%7D%7D', 'GET', undefined, {
        Accept: 'application/json',
      })
      assert.equal((await graphqlAnswer.json()).data.me.email, fixture.ann.email)

      const forbidden = await send('/api/v1/posts', 'POST', '{"title":"t","body":"b"}', json).then(
        response => response,
        (error: oauth.WWWAuthenticateChallengeError) => error.response,
      )
      assert.equal(forbidden.status, 403)
      assert.match(
        forbidden.headers.get('www-authenticate') ?? '',
        /^DPoP .*error="insufficient_scope", scope="write:post"/,
      )

      const other = oauth.DPoP({}, keys)
      const second = await oauth.protectedResourceRequest(
        token,
        'GET',
        new URL(`${fixture.url}/api/v1/me`),
        undefined,
        null,
        {
          DPoP: other,
          [oauth.allowInsecureRequests]: true,
        },
      )
      assert.equal(second.status, 200)
    })
  })
}

test('a bound token is refreshed with its key only, is introspected with it, and is refused once revoked', async () => {
  await withFixture({}, async fixture => {
    const { app, configuration, handle, keys, tokens } = await boundTokens(fixture)
    const introspection = await openid.tokenIntrospection(configuration, tokens.access_token)
    assert.equal(introspection.token_type, 'DPoP')
    assert.equal((introspection.cnf as { jkt: string }).jkt, await handle.calculateThumbprint())
    const refreshed = await openid.refreshTokenGrant(configuration, tokens.refresh_token ?? '', undefined, {
      DPoP: handle,
    })
    const token = refreshed.access_token
    const ok = await me(fixture.url, {
      Authorization: `DPoP ${token}`,
      DPoP: await proof(fixture.url, token, keys),
    })
    assert.equal(ok.status, 200)
    await post(`${fixture.url}/oauth/revoke`, { token, ...clientCredentials(app) })
    const late = { Authorization: `DPoP ${token}`, DPoP: await proof(fixture.url, token, keys) }
    await assertRefused(await me(fixture.url, late), 'invalid_token')
  })
})

test('a bound token is refused as a bearer token, and an unbound token or an API key with the DPoP scheme', async () => {
  await withFixture({}, async fixture => {
    const { url, ann } = fixture
    const { app, keys, tokens } = await boundTokens(fixture)
    const bound = tokens.access_token
    const dpop = await proof(url, bound, keys)
    await assertRefused(await me(url, { Authorization: `Bearer ${bound}`, DPoP: dpop }), 'invalid_token')
    await assertRefused(await me(url, { Authorization: `Bearer ${bound}` }), 'invalid_token')
    await assertRefused(await me(url, { Authorization: `DPoP ${ann.key}`, DPoP: dpop }), 'invalid_token')
    const plain = await post(`${url}/oauth/token`, {
      grant_type: 'client_credentials',
      scope: 'read:post',
      ...clientCredentials(app),
    })
    const unbound = String(plain.json.access_token)
    const ofUnbound = await proof(url, unbound, keys)
    await assertRefused(await me(url, { Authorization: `DPoP ${unbound}`, DPoP: ofUnbound }), 'invalid_token')
    const two = await me(url, { Authorization: `DPoP ${bound}`, DPoP: dpop, 'X-API-Key': ann.key })
    assert.equal(two.status, 400)
  })
})

test('an invalid proof is refused with invalid_dpop_proof, and does not use up a valid one', async () => {
  await withFixture({}, async fixture => {
    const { url } = fixture
    const { keys, tokens } = await boundTokens(fixture)
    const token = tokens.access_token
    const now = Math.floor(Date.now() / 1000)
    const stranger = await generateKeyPair('ES256', { extractable: true })
    const rows: readonly (readonly [name: string, parts: ProofParts])[] = [
      ['another method', { claims: { htm: 'POST' } }],
      ['no method', { claims: { htm: undefined } }],
      ['another path', { claims: { htu: `${url}/api/v1/posts` } }],
      ['another host', { claims: { htu: 'https://other.example/api/v1/me' } }],
      ['not an address', { claims: { htu: '/api/v1/me' } }],
      ['an old proof', { claims: { iat: now - 301 } }],
      ['a future proof', { claims: { iat: now + 330 } }],
      ['no time', { claims: { iat: undefined } }],
      ['a malformed time', { claims: { iat: 'now' } }],
      ['no id', { claims: { jti: undefined } }],
      ['an empty id', { claims: { jti: '' } }],
      ['no hash', { claims: { ath: undefined } }],
      ['the hash of another token', { claims: { ath: hash('sha256', `${token}x`, 'base64url') } }],
      ['another type', { header: { typ: 'JWT' } }],
      ['expired', { claims: { exp: now - 100 } }],
      ['a private key', { header: { jwk: await exportJWK(stranger.privateKey) } }],
      ['no key', { header: { jwk: undefined } }],
      ['a malformed key', { header: { jwk: 'key' } }],
      ['an unknown critical header', { header: { crit: ['x'], x: 1 } }],
    ]
    for (const [name, parts] of rows) {
      const sent = await proof(url, token, keys, parts)
      const answer = await me(url, { Authorization: `DPoP ${token}`, DPoP: sent })
      assert.equal(answer.status, 401, name)
      await assertRefused(answer, 'invalid_dpop_proof')
    }
    const right = await proof(url, token, keys)
    const [head = '', body = '', signature = ''] = right.split('.')
    const none = Buffer.from(JSON.stringify({ alg: 'none', typ: 'dpop+jwt' })).toString('base64url')
    const broken = [
      undefined,
      '',
      'x',
      'a.b.c',
      `${none}.${body}.`,
      `${head}.${body}.AAAA${signature.slice(4)}`,
    ]
    for (const sent of [...broken, `${right}, ${right}`, 'x'.repeat(9000)]) {
      const headers = { Authorization: `DPoP ${token}`, ...(sent === undefined ? {} : { DPoP: sent }) }
      await assertRefused(await me(url, headers), 'invalid_dpop_proof')
    }
    const ofStranger = { Authorization: `DPoP ${token}`, DPoP: await proof(url, token, stranger) }
    await assertRefused(await me(url, ofStranger), 'invalid_token')
    const text = await assertRefused(
      await me(url, {
        Authorization: `DPoP ${token}`,
        DPoP: await proof(url, token, keys, { claims: { htu: 'https://other.example/api/v1/me' } }),
      }),
      'invalid_dpop_proof',
    )
    assert.ok(text.includes(`${url}/api/v1/me`), text)
    const last = await me(url, { Authorization: `DPoP ${token}`, DPoP: right })
    assert.equal(last.status, 200, 'the wrong proofs have used up the right one')
  })
})

test('a proof works once, on all nodes together, across restarts, and for concurrent requests', async () => {
  const baseUrl = 'http://api.example.com'
  await withFixture({ baseUrl }, async fixture => {
    const otherService = await serve(blog, {
      port: 0,
      host: '127.0.0.1',
      ...fixture.deployment.settings,
      logLevel: 'silent',
      rateLimit: 'off',
      baseUrl,
    })
    try {
      const app = await fixture.app()
      const keys = await generateKeyPair('ES256', { extractable: true })
      const issued = await post(
        `${fixture.url}/oauth/token`,
        { grant_type: 'client_credentials', scope: 'read:post', ...clientCredentials(app) },
        {
          DPoP: await proof(baseUrl, '', keys, { claims: { htm: 'POST', htu: `${baseUrl}/oauth/token` } }),
        },
      )
      assert.equal(issued.json.token_type, 'DPoP', issued.text)
      const token = String(issued.json.access_token)
      const send = (url: string, sent: string, headers = {}) =>
        fetch(`${url}/api/v1/posts`, { headers: { Authorization: `DPoP ${token}`, DPoP: sent, ...headers } })
      const make = () => proof(baseUrl, token, keys, { claims: { htu: `${baseUrl}/api/v1/posts` } })

      const sent = await make()
      const forged = { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https' }
      assert.equal((await send(fixture.url, sent, forged)).status, 200)
      await assertRefused(await send(otherService.url, sent), 'invalid_dpop_proof')
      await assertRefused(await send(fixture.url, sent), 'invalid_dpop_proof')
      const evil = await proof(baseUrl, token, keys, { claims: { htu: 'https://evil.example/api/v1/posts' } })
      await assertRefused(await send(fixture.url, evil, forged), 'invalid_dpop_proof')
      await fixture.restart()
      await assertRefused(await send(fixture.url, sent), 'invalid_dpop_proof')

      const racing = await make()
      const urls = Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0 ? fixture.url : otherService.url,
      )
      const statuses = await Promise.all(urls.map(async url => (await send(url, racing)).status))
      assert.equal(statuses.filter(status => status === 200).length, 1, statuses.join())
    } finally {
      await otherService.close()
    }
  })
})

test('of concurrent uses of one proof, the token endpoint accepts one', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const keys = await generateKeyPair('ES256', { extractable: true })
    const sent = await proof(fixture.url, '', keys, {
      claims: { htm: 'POST', htu: `${fixture.url}/oauth/token` },
    })
    const form = { grant_type: 'client_credentials', scope: 'read:post', ...clientCredentials(app) }
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => post(`${fixture.url}/oauth/token`, form, { DPoP: sent })),
    )
    const statuses = answers.map(({ status }) => status)
    assert.equal(statuses.filter(status => status === 200).length, 1, statuses.join())
    assert.equal(statuses.filter(status => status === 400).length, 19, statuses.join())
  })
})

test('of concurrent uses of one proof, userinfo and the pushed-request endpoint accept one', async () => {
  await withFixture({}, async fixture => {
    const { url } = fixture
    const { app, keys, tokens } = await boundTokens(fixture)
    const many = <T>(request: () => Promise<T>) => Promise.all(Array.from({ length: 20 }, request))
    const userinfo = `${url}/oauth/userinfo`
    const DPoP = await proof(url, tokens.access_token, keys, { claims: { htu: userinfo } })
    const headers = { Authorization: `DPoP ${tokens.access_token}`, DPoP }
    const read = await many(async () => (await fetch(userinfo, { headers })).status)
    assert.deepEqual(read.toSorted(), [200, ...Array.from({ length: 19 }, () => 401)])
    const par = `${url}/oauth/par`
    const sent = { DPoP: await proof(url, '', keys, { claims: { htm: 'POST', htu: par } }) }
    const form = { response_type: 'code', redirect_uri: redirectUri, scope, ...clientCredentials(app) }
    const pushed = await many(async () => {
      const { status, json } = await post(par, form, sent)
      return status === 201 ? 'accepted' : json.error
    })
    assert.deepEqual(pushed.toSorted(), ['accepted', ...Array.from({ length: 19 }, () => 'invalid_request')])
  })
})

/** The first message of the server, or how it closes the connection. */
function first(socket: WebSocket, init: object | undefined): Promise<string> {
  return new Promise(resolve => {
    socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload: init })))
    socket.on('message', data => resolve(String(data)))
    socket.on('close', (code, reason) => resolve(`${code} ${reason}`))
    socket.on('unexpected-response', (_request, response) => resolve(`${response.statusCode}`))
    socket.on('error', () => {})
  })
}

test('subscriptions take the proof with the upgrade request, or with the request for server-sent events', async () => {
  await withFixture({}, async fixture => {
    const { url, ann } = fixture
    const { app, keys, tokens } = await boundTokens(fixture)
    const token = tokens.access_token
    const claims = { htu: `${url}/graphql` }
    const open = (headers = {}) =>
      new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { headers })
    const right = { Authorization: `DPoP ${token}`, DPoP: await proof(url, token, keys, { claims }) }
    assert.equal(await first(open({ Authorization: `DPoP ${token}` }), undefined), '401')
    for (const Authorization of [`DPoP ${token}`, `Bearer ${token}`]) {
      const DPoP = await proof(url, token, keys, { claims })
      assert.match(await first(open(), { Authorization, DPoP }), /^4403 .*opens the WebSocket/)
    }
    const socket = open(right)
    assert.match(await first(socket, undefined), /connection_ack/)
    const stream = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: {
        Authorization: `DPoP ${token}`,
        DPoP: await proof(url, token, keys, { claims: { ...claims, htm: 'POST' } }),
        Accept: 'text/event-stream',
        'Content-Type': 'application/json',
      },
      body: '{"query":"subscription { newPost { title } }"}',
    })
    assert.equal(stream.status, 200)
    const subscribe = { id: '1', type: 'subscribe', payload: { query: 'subscription { newPost { title } }' } }
    socket.send(JSON.stringify(subscribe))
    // Longer than the interval at which credentials are checked again.
    await new Promise(resolve => setTimeout(resolve, 1200))
    const message = new Promise<string>(resolve => socket.on('message', data => resolve(String(data))))
    const values = { title: 'seen', body: 'b', author_id: ann.id }
    await fixture.call('/api/v1/posts', { method: 'POST', key: ann.key, body: values })
    assert.match(await message, /"next".*seen/)
    const closed = new Promise<number>(resolve => socket.on('close', resolve))
    await post(`${url}/oauth/revoke`, { token, ...clientCredentials(app) })
    assert.equal(await closed, 4403)
    const text = await stream.text()
    assert.match(text, /seen[\s\S]*UNAUTHORIZED/)
  })
})
