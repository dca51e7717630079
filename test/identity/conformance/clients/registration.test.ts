/** Dynamic registration (RFC 7591 and 7592): with an unmodified client, and with metadata that must be refused. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import * as client from 'openid-client'
import {
  allowInsecureRequests,
  dynamicClientRegistration,
  fetchUserInfo,
  skipSubjectCheck,
} from 'openid-client'
import type { Answer } from '../../../server/serve/service.ts'
import { authorize, type Fixture, post, withFixture } from '../server.ts'

const token = 'an-initial-access-token-that-is-long'
const on = { 'oauth.registrationToken': token } as const
const callback = 'https://app.example.com/cb'

function register({ call }: Fixture, body: object, key = token): Promise<Answer> {
  return call('/oauth/register', { method: 'POST', key, body })
}

type RegisteredClient = Readonly<Record<string, string>> & { readonly redirect_uris: readonly string[] }

async function registerClient(fixture: Fixture, body: object = {}): Promise<RegisteredClient> {
  const created = await register(fixture, { redirect_uris: [callback], ...body })
  assert.equal(created.status, 201, created.text)
  return created.json as unknown as RegisteredClient
}

/** Redirect URIs that are refused for users’ apps too, and some more. */
const wrongUris = [
  'http://app.example.com/cb',
  'http://127.0.0.1.example.com/cb',
  'http://localhost.example.com/cb',
  'http://[::2]/cb',
  'http://0.0.0.0/cb',
  'https://app.example.com/cb#fragment',
  'https://user@app.example.com/cb',
  'https://user:pass@app.example.com/cb',
  'https://app.example.com\\@evil.example/cb',
  'https://app.example.com/cb with a space',
  'https://app.example.com/\ncb',
  'https://',
  '//app.example.com/cb',
  '/cb',
  'javascript:alert(1)',
  'javascript://app.example.com/%0aalert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  'vbscript:x',
  'blob:https://app.example.com/x',
  'about:blank',
  'myapp:/cb',
  'com.example.app://cb#x',
  'HTTPS://app.example.com/cb',
  'https://аpp.example.com/cb',
  '',
  null,
  7,
  {},
  [callback],
  `https://app.example.com/${'x'.repeat(3000)}`,
]

test('openid-client registers itself, and signs a user in with its registration', async () => {
  await withFixture(on, async fixture => {
    const redirect = 'http://127.0.0.1:9/callback'
    for (const token_endpoint_auth_method of ['client_secret_post', 'client_secret_basic', 'none']) {
      const config = await dynamicClientRegistration(
        new URL(fixture.url),
        {
          client_name: 'Registers itself',
          redirect_uris: [redirect],
          token_endpoint_auth_method,
          scope: 'openid profile read:post',
        },
        undefined,
        { initialAccessToken: token, execute: [allowInsecureRequests] },
      )
      const metadata = config.clientMetadata()
      assert.equal(metadata.client_name, 'Registers itself')
      assert.equal(metadata.scope, 'openid profile read:post')
      assert.equal(
        typeof metadata.client_secret,
        token_endpoint_auth_method === 'none' ? 'undefined' : 'string',
      )
      const verifier = client.randomPKCECodeVerifier()
      const address = client.buildAuthorizationUrl(config, {
        redirect_uri: redirect,
        scope: 'openid profile read:post',
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state: 'a state',
      })
      const callbackUrl = await authorize(fixture.browser(), address, fixture.ann)
      const tokens = await client.authorizationCodeGrant(config, callbackUrl, {
        pkceCodeVerifier: verifier,
        expectedState: 'a state',
      })
      assert.equal(
        (await fetchUserInfo(config, tokens.access_token, skipSubjectCheck)).name,
        fixture.ann.name,
      )
      assert.equal((await fixture.call('/api/v1/posts', { key: tokens.access_token })).status, 200)
      assert.equal(
        (await fixture.call('/api/v1/users', { key: tokens.access_token })).code,
        'INSUFFICIENT_SCOPE',
      )
    }
  })
})

test('without the initial access token nothing is registered, and the errors reveal nothing', async () => {
  await withFixture(on, async fixture => {
    for (const body of [{ redirect_uris: [callback] }, { redirect_uris: ['http://evil'] }, {}]) {
      for (const key of ['', 'x'.repeat(36), token.slice(1), `${token}x`, fixture.admin.key]) {
        const answer = await register(fixture, body, key)
        assert.ok(answer.status === 401 || answer.status === 400, answer.text)
        assert.ok(!answer.text.includes('redirect_uris'), answer.text)
        assert.ok(!('client_id' in answer.json))
      }
    }
  })
  await withFixture({}, async ({ call }) => {
    for (const [method, path] of [
      ['POST', ''],
      ['GET', '/abc'],
      ['PUT', '/abc'],
      ['DELETE', '/abc'],
    ] as const) {
      const body = method === 'POST' || method === 'PUT' ? { redirect_uris: [callback] } : undefined
      assert.equal((await call(`/oauth/register${path}`, { method, body, key: token })).status, 404)
    }
    const { json } = await call('/.well-known/openid-configuration')
    assert.ok(!('registration_endpoint' in json))
  })
})

test('an invalid redirect URI is refused for self-registered apps too', async () => {
  await withFixture(on, async fixture => {
    for (const uri of wrongUris) {
      const body = { name: 'x', type: 'public', redirect_uris: [callback, uri] }
      const own = await fixture.call('/api/v1/oauth_apps', { method: 'POST', key: fixture.ann.key, body })
      assert.equal(own.code, 'VALIDATION_FAILED', `${uri}`)
      for (const more of [{}, { application_type: 'native' }, { application_type: 'web' }]) {
        for (const redirect_uris of [[uri], [callback, uri]]) {
          const answer = await register(fixture, { redirect_uris, ...more })
          assert.deepEqual(
            [answer.status, answer.json.error],
            [400, 'invalid_redirect_uri'],
            `${uri}: ${answer.text}`,
          )
        }
        const goodbye = { redirect_uris: [callback], post_logout_redirect_uris: [uri], ...more }
        assert.equal((await register(fixture, goodbye)).json.error, 'invalid_redirect_uri', `${uri}`)
      }
    }
    const many = Array.from({ length: 60 }, (_, index) => `https://app.example.com/${index}`)
    assert.equal((await register(fixture, { redirect_uris: many })).json.error, 'invalid_redirect_uri')
    assert.equal((await register(fixture, {})).json.error, 'invalid_redirect_uri')
    for (const uri of [callback, 'http://127.0.0.1/cb', 'http://localhost:8080/cb', 'com.example.app:/cb'])
      assert.deepEqual((await registerClient(fixture, { redirect_uris: [uri] })).redirect_uris, [uri])
  })
})

const wrongMetadata: readonly object[] = [
  { scope: 'read:post no:such' },
  { scope: ['read:post'] },
  { scope: 'x'.repeat(5000) },
  { grant_types: ['implicit'] },
  { grant_types: ['password'] },
  { grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:jwt-bearer'] },
  { grant_types: 'authorization_code' },
  { response_types: ['token'] },
  { response_types: ['code id_token'] },
  { response_types: ['none'] },
  { grant_types: ['client_credentials'], response_types: ['code'] },
  { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://app.example.com/jwks' },
  { token_endpoint_auth_method: 'client_secret_jwt' },
  { token_endpoint_auth_method: 'tls_client_auth' },
  { token_endpoint_auth_method: 'none', grant_types: ['client_credentials', 'authorization_code'] },
  { subject_type: 'pairwise' },
  { id_token_signed_response_alg: 'none' },
  { id_token_signed_response_alg: 'HS256' },
  { dpop_bound_access_tokens: 'yes' },
  { client_name: 'x'.repeat(101) },
  { client_name: 7 },
  { client_name: ['x'] },
  { client_uri: 'javascript:alert(1)' },
  { client_uri: 'ftp://app.example.com' },
  { policy_uri: 'javascript:alert(1)' },
  { tos_uri: 'data:text/html,x' },
  ...[
    'http://app.example.com/logo.png',
    'https://127.0.0.1/logo.png',
    'https://2130706433/logo.png',
    'https://0x7f.1/logo.png',
    'https://[::1]/logo.png',
    'https://[::ffff:10.0.0.1]/logo.png',
    'https://10.0.0.1/logo.png',
    'https://169.254.169.254/latest/meta-data',
    'https://localhost/logo.png',
    'https://router.local/reboot',
    'https://metadata.google.internal/x',
    'https://user@app.example.com/logo.png',
    'https://app.example.com@10.0.0.1/logo.png',
    'data:image/svg+xml,x',
    'javascript:alert(1)',
    `https://app.example.com/${'x'.repeat(3000)}`,
  ].map(logo_uri => ({ logo_uri })),
]

test('invalid metadata is refused, and the error names it', async () => {
  await withFixture(on, async fixture => {
    for (const more of wrongMetadata) {
      const answer = await register(fixture, { redirect_uris: [callback], ...more })
      const details = `${JSON.stringify(more).slice(0, 200)}: ${answer.text}`
      assert.deepEqual([answer.status, answer.json.error], [400, 'invalid_client_metadata'], details)
      assert.ok(
        Object.keys(more).some(name => String(answer.json.error_description).includes(name)),
        details,
      )
      assert.match(String(answer.json.error_description), /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    }
    const logo = { logo_uri: 'https://127.0.0.1/x', name: 'x', redirect_uris: [callback] }
    const own = await fixture.call('/api/v1/oauth_apps', { method: 'POST', key: fixture.ann.key, body: logo })
    assert.equal(own.code, 'VALIDATION_FAILED')
    for (const body of ['[]', 'null', '"x"', '{', ''] as const) {
      const response = await fetch(`${fixture.url}/oauth/register`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body,
      })
      assert.equal(response.status, 400, body)
      assert.equal(((await response.json()) as { error: string }).error, 'invalid_client_metadata')
    }
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json\ta', '']) {
      const response = await fetch(`${fixture.url}/oauth/register`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': type },
        body: JSON.stringify({ redirect_uris: [callback] }),
      })
      assert.equal(response.status, 400, type)
    }
  })
})

test('client metadata cannot cause outgoing requests or set internal fields', async () => {
  let calls = 0
  const listener = createServer((_req, res) => {
    calls++
    res.end('{}')
  })
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  const inner = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/x`
  try {
    await withFixture(on, async fixture => {
      const { client_id: victim } = await fixture.app()
      const hash = 'a'.repeat(43)
      const registration = await registerClient(fixture, {
        jwks_uri: inner,
        jwks: { keys: [] },
        sector_identifier_uri: inner,
        request_uris: [inner],
        initiate_login_uri: inner,
        backchannel_logout_uri: inner,
        policy_uri: inner,
        tos_uri: inner,
        software_statement: 'x.y.z',
        client_id: victim,
        client_secret: 'chosen by the client itself',
        client_secret_expires_at: 1,
        registration_access_token: 'chosen',
        secret_hashes: [{ hash }],
        app_id: 1,
        default_scopes: ['write:user'],
        access_token_format: 'jwt',
        id_token_encrypted_response_alg: 'RSA-OAEP',
        ['__proto__']: { polluted: true },
        constructor: { prototype: { polluted: true } },
      })
      assert.notEqual(registration.client_id, victim)
      assert.notEqual(registration.client_secret, 'chosen by the client itself')
      for (const name of [
        'jwks_uri',
        'sector_identifier_uri',
        'request_uris',
        'app_id',
        'secret_hashes',
        'default_scopes',
        'access_token_format',
        'software_statement',
      ])
        assert.ok(!(name in registration), name)
      const { client_id = '', client_secret = '' } = registration
      const chosen = await post(`${fixture.url}/oauth/introspect`, {
        token: 'x',
        client_id,
        client_secret: 'chosen by the client itself',
      })
      assert.equal(chosen.json.error, 'invalid_client')
      const right = await post(`${fixture.url}/oauth/introspect`, { token: 'x', client_id, client_secret })
      assert.deepEqual(right.json, { active: false })
      const departure = await fixture
        .browser()
        .open(
          `/oauth/authorize?client_id=${client_id}&redirect_uri=${callback}&scope=read:post&request_uri=${inner}`,
        )
      assert.ok('location' in departure || departure.status === 400)
    })
    assert.equal(calls, 0)
  } finally {
    listener.closeAllConnections()
    await new Promise(resolve => listener.close(resolve))
  }
})

test('any metadata gets a response of RFC 7591, and no invalid redirect URI is registered', async () => {
  await withFixture(on, async fixture => {
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(...wrongUris.filter(uri => typeof uri === 'string')),
      fc.constant(callback),
    )
    const names = [
      'redirect_uris',
      'client_name',
      'scope',
      'grant_types',
      'response_types',
      'logo_uri',
      'client_uri',
      'policy_uri',
      'tos_uri',
      'token_endpoint_auth_method',
      'post_logout_redirect_uris',
      'id_token_signed_response_alg',
      'application_type',
      'contacts',
      'default_max_age',
    ]
    const metadata = fc.dictionary(
      fc.constantFrom(...names),
      fc.oneof(value, fc.array(value, { maxLength: 3 })),
    )
    await fc.assert(
      fc.asyncProperty(metadata, async body => {
        const answer = await register(fixture, body)
        assert.ok(
          answer.status === 201 || answer.status === 400,
          `${answer.status} ${answer.text} ${JSON.stringify(body)}`,
        )
        if (answer.status === 400) return assert.match(String(answer.json.error), /^invalid_/)
        for (const uri of answer.json.redirect_uris as string[]) assert.equal(uri, callback)
      }),
      { numRuns: 150 },
    )
  })
})

test('a registration is read, changed and deleted with its own token only', async () => {
  await withFixture(on, async fixture => {
    const { call, url } = fixture
    const first = await registerClient(fixture, {
      scope: 'read:post',
      client_name: 'One',
      grant_types: ['client_credentials'],
      redirect_uris: [],
    })
    const other = await registerClient(fixture, { client_name: 'Other' })
    const path = new URL(first.registration_client_uri ?? '').pathname
    assert.equal(path, `/oauth/register/${first.client_id}`)
    assert.equal(first.registration_client_uri, url + path)
    const key = first.registration_access_token ?? ''
    const read = await call(path, { key })
    assert.equal(read.status, 200, read.text)
    assert.equal(read.json.client_name, 'One')
    // The service stores only a hash of the secret.
    assert.ok(!('client_secret' in read.json) && !read.text.includes('hash'), read.text)
    const ownApp = await fixture.app()
    for (const [wrong, refusedPath] of [
      ['x'.repeat(43), path],
      [token, path],
      [fixture.admin.key, path],
      [undefined, path],
      [key, `/oauth/register/${ownApp.client_id}`],
    ] as const) {
      for (const method of ['GET', 'PUT', 'DELETE'] as const) {
        const body = method === 'PUT' ? { client_id: first.client_id, redirect_uris: [callback] } : undefined
        const answer = await call(refusedPath, { method, body, ...(wrong !== undefined && { key: wrong }) })
        assert.ok(
          answer.status === 401 || answer.status === 400,
          `${method} ${refusedPath}: ${answer.status} ${answer.text}`,
        )
        assert.ok(!('client_id' in answer.json))
        // Using a token for another client revokes it.
        if (wrong === key) assert.equal((await call(path, { key })).status, 401)
      }
    }
    const otherKey = other.registration_access_token ?? ''
    const otherPath = new URL(other.registration_client_uri ?? '').pathname
    const change = (body: object, with_ = otherKey) =>
      call(otherPath, {
        method: 'PUT',
        key: with_,
        body: { client_id: other.client_id, redirect_uris: [callback], ...body },
      })
    for (const [body, error] of [
      [{ redirect_uris: ['http://evil.example'] }, 'invalid_redirect_uri'],
      [{ scope: 'no:such' }, 'invalid_client_metadata'],
      [{ logo_uri: 'https://10.0.0.1/x' }, 'invalid_client_metadata'],
      [{ client_id: ownApp.client_id }, 'invalid_request'],
      [{ client_secret: 'wrong' }, 'invalid_request'],
    ] as const) {
      const answer = await change(body)
      assert.deepEqual([answer.status, answer.json.error], [400, error], answer.text)
    }
    const changed = await change({
      client_name: 'New name',
      scope: 'read:post',
      client_secret: other.client_secret,
    })
    assert.equal(changed.status, 200, changed.text)
    assert.equal(changed.json.client_name, 'New name')
    assert.ok(!('client_secret' in changed.json))
    assert.equal((await call(otherPath, { key: otherKey })).status, 401, 'the old token is used up')
    const fresh = String(changed.json.registration_access_token)
    assert.equal((await call(otherPath, { key: fresh })).json.client_name, 'New name')
    const credentials = { client_id: other.client_id ?? '', client_secret: other.client_secret ?? '' }
    assert.deepEqual((await post(`${url}/oauth/introspect`, { token: 'x', ...credentials })).json, {
      active: false,
    })
    const deletion = await call(otherPath, { method: 'DELETE', key: fresh })
    assert.equal(deletion.status, 204, deletion.text)
    assert.equal((await call(otherPath, { key: fresh })).status, 401)
    assert.equal(
      (await post(`${url}/oauth/introspect`, { token: 'x', ...credentials })).json.error,
      'invalid_client',
    )
  })
})

for (const format of ['opaque', 'jwt'] as const) {
  test(`deleting a registration revokes the app’s tokens: ${format}`, async () => {
    await withFixture({ ...on, 'oauth.accessTokenFormat': format }, async fixture => {
      const registration = await registerClient(fixture, {
        redirect_uris: ['http://127.0.0.1:9/callback'],
        scope: 'openid offline_access read:post',
      })
      const { client_id = '', client_secret = '', registration_access_token: key = '' } = registration
      const address = new URL(
        `${fixture.url}/oauth/authorize?${new URLSearchParams({ client_id, state: 's', response_type: 'code' })}`,
      )
      const callbackUrl = await authorize(fixture.browser(), address, fixture.ann)
      const form = {
        client_id,
        client_secret,
        code: callbackUrl.searchParams.get('code') ?? '',
        redirect_uri: 'http://127.0.0.1:9/callback',
      }
      const { json } = await post(`${fixture.url}/oauth/token`, form)
      const access = String(json.access_token)
      assert.equal((await fixture.call('/api/v1/posts', { key: access })).status, 200, JSON.stringify(json))
      const deletion = await fixture.call(`/oauth/register/${client_id}`, { method: 'DELETE', key })
      assert.equal(deletion.status, 204, deletion.text)
      assert.equal((await fixture.call('/api/v1/posts', { key: access })).status, 401)
      const refresh = {
        grant_type: 'refresh_token',
        refresh_token: String(json.refresh_token),
        client_id,
        client_secret,
      }
      assert.equal((await post(`${fixture.url}/oauth/token`, refresh)).json.error, 'invalid_client')
    })
  })
}

test('of concurrent updates with one registration token, only one gets the next token', async () => {
  await withFixture(on, async fixture => {
    const registration = await registerClient(fixture)
    const { client_id = '', registration_access_token: key = '' } = registration
    const path = `/oauth/register/${client_id}`
    const body = { client_id, redirect_uris: [callback] }
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => fixture.call(path, { method: 'PUT', key, body })),
    )
    const nextTokens = answers
      .map(({ json }) => json.registration_access_token)
      .filter(token => token !== undefined)
    assert.equal(nextTokens.length, 1, answers.map(({ status, text }) => `${status} ${text}`).join('\n'))
    assert.equal((await fixture.call(path, { key })).status, 401)
    assert.equal((await fixture.call(path, { key: String(nextTokens[0]) })).status, 200)
  })
})
