import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import { createBySystem } from '../../../../src/identity/bootstrap.ts'
import { rotateKeys } from '../../../../src/identity/server/tokens/signing-keys.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { createRun } from '../../../../src/server/serve/store.ts'
import { earlyInMinute } from '../../../engine/cluster/window.ts'
import blog from '../../../models/blog.ts'
import {
  type App,
  clientCredentials,
  type Fixture,
  newTokens,
  post,
  redirectUri,
  withFixture,
} from '../../conformance/server.ts'
import { recordsOfOtherProcess } from '../../encryption/other-process.ts'

const minimal = { name: 'Mine', redirect_uris: [redirectUri] }

function ownToken(url: string, app: App, more = {}) {
  return post(`${url}/oauth/token`, {
    grant_type: 'client_credentials',
    scope: 'read:post',
    ...clientCredentials(app),
    ...more,
  })
}

function tokensOf(fixture: Fixture, app: App, scope = 'offline_access read:post write:post read:user') {
  return newTokens(fixture, app, { browser: fixture.browser(), person: fixture.ann, scope })
}

const status = async (fixture: Fixture, token: string | undefined, path = '/api/v1/posts') =>
  (await fixture.call(path, { headers: { Authorization: `Bearer ${token}` } })).status

test('an app is created with defaults, shows its secret once, and cannot choose its client id', async () => {
  await withFixture({}, async ({ call, ann }) => {
    const created = await call('/api/v1/oauth_apps', { method: 'POST', key: ann.key, body: minimal })
    assert.equal(created.status, 201)
    assert.match(String(created.json.client_id), /^app_[A-Za-z0-9_-]{20}$/)
    assert.match(String(created.json.client_secret), /^ps_[A-Za-z0-9_-]{43}$/)
    const { type, scopes, default_scopes, scope_separator, access_token_format } = created.json
    assert.deepEqual(
      [type, scopes, default_scopes, scope_separator, access_token_format],
      ['confidential', null, null, null, null],
    )
    const read = await call(`/api/v1/oauth_apps/${created.json.id}`, { key: ann.key })
    const { client_secret: _shown, ...rest } = created.json
    assert.deepEqual(read.json, rest)
    for (const field of ['client_id', 'user_id']) {
      const refused = await call('/api/v1/oauth_apps', {
        method: 'POST',
        key: ann.key,
        body: { ...minimal, [field]: 'x' },
      })
      assert.deepEqual([refused.status, refused.code], [400, 'VALIDATION_FAILED'], field)
    }
    const publicApp = await call('/api/v1/oauth_apps', {
      method: 'POST',
      key: ann.key,
      body: { ...minimal, type: 'public' },
    })
    assert.ok(!('client_secret' in publicApp.json))
    const patched = await call(`/api/v1/oauth_apps/${created.json.id}`, {
      method: 'PATCH',
      key: ann.key,
      body: { type: 'public' },
    })
    assert.equal(patched.status, 400)
  })
})

test('a user may have 500 apps, and an app 50 secrets', async () => {
  await withFixture({}, async ({ call, ann, ben, deployment }) => {
    const app = await call('/api/v1/oauth_apps', { method: 'POST', key: ann.key, body: minimal })
    const model = checkModel(blog)
    const store = await deployment.openStore(model)
    const run = createRun(createGuard(model), store)
    const created = Array.from({ length: 499 }, (_, at) =>
      createBySystem(run, 'oauth_apps', minimal, { user_id: ann.id, client_id: `app_${at}` }),
    )
    const secrets = Array.from({ length: 49 }, (_, at) =>
      createBySystem(
        run,
        'oauth_app_secrets',
        {},
        { app_id: Number(app.json.id), hash: `${at}`, prefix: 'ps_x' },
      ),
    )
    await Promise.all([...created, ...secrets])
    await store.close()
    const refusals = await Promise.all([
      call('/api/v1/oauth_apps', { method: 'POST', key: ann.key, body: minimal }),
      call('/api/v1/oauth_apps', { method: 'POST', key: ann.key, body: { ...minimal, type: 'public' } }),
      call('/api/v1/oauth_app_secrets', { method: 'POST', key: ann.key, body: { app_id: app.json.id } }),
    ])
    for (const { code, text } of refusals) assert.equal(code, 'CONFLICT', text)
    const other = await call('/api/v1/oauth_apps', { method: 'POST', key: ben.key, body: minimal })
    assert.equal(other.status, 201)
  })
})

test('GraphQL creates an app with its secret too', async () => {
  await withFixture({}, async ({ call, ann }) => {
    const query =
      'mutation ($uris: JSON!) { createOauthApp(name: "G", redirectUris: $uris) { clientId clientSecret } }'
    const created = await call('/graphql', {
      method: 'POST',
      key: ann.key,
      body: { query, variables: { uris: [redirectUri] } },
    })
    const { createOauthApp: app } = (created.json.data ?? {}) as { createOauthApp?: Record<string, string> }
    assert.match(String(app?.clientSecret), /^ps_/, created.text)
    assert.match(String(app?.clientId), /^app_/)
  })
})

test('only its owner can see, delete or rotate an app', async () => {
  await withFixture({}, async fixture => {
    const { call, ben } = fixture
    const { id } = await fixture.app()
    const listed = await call('/api/v1/oauth_apps', { key: ben.key })
    assert.deepEqual(listed.json.data, [])
    assert.equal((await call(`/api/v1/oauth_apps/${id}`, { key: ben.key })).status, 404)
    assert.equal((await call(`/api/v1/oauth_apps/${id}`, { method: 'DELETE', key: ben.key })).status, 404)
    const taken = await call('/api/v1/oauth_app_secrets', {
      method: 'POST',
      key: ben.key,
      body: { app_id: id },
    })
    assert.equal(taken.status, 400, taken.text)
    assert.ok(!taken.text.includes('ps_'))
    assert.equal((await call('/api/v1/oauth_apps')).status, 401)
  })
})

test('default scopes must be among the scopes', async () => {
  await withFixture({}, async ({ call, ann }) => {
    const body = { ...minimal, scopes: ['read:post'], default_scopes: ['write:post'] }
    const created = await call('/api/v1/oauth_apps', { method: 'POST', key: ann.key, body })
    assert.equal(created.code, 'VALIDATION_FAILED')
    assert.match(created.text, /default_scopes/)
  })
})

test('default scopes stay among the scopes, whichever of the two is changed, and by whichever method', async () => {
  await withFixture({}, async fixture => {
    const { call, ann, ben } = fixture
    const { id } = await fixture.app({
      scopes: ['openid', 'write:post', 'read:user'],
      default_scopes: ['read:post', 'read:user'],
    })
    const path = `/api/v1/oauth_apps/${id}`
    const graphql = (extraArgs: string) =>
      call('/graphql', {
        method: 'POST',
        key: ann.key,
        body: { query: `mutation { updateOauthApp(id: "${id}", ${extraArgs}) { id } }` },
      })
    const refused: readonly object[] = [
      { default_scopes: ['write:user'] },
      { default_scopes: ['read:post', 'openid', 'email'] },
      { scopes: ['openid', 'write:post'] },
      { scopes: [] },
      { scopes: ['read:post', 'read:user'], default_scopes: ['write:post'] },
    ]
    for (const body of refused) {
      const patched = await call(path, { method: 'PATCH', key: ann.key, body })
      assert.deepEqual([patched.status, patched.code], [400, 'VALIDATION_FAILED'], JSON.stringify(body))
      assert.match(patched.text, /"field":"default_scopes"/)
    }
    const put = { ...minimal, scopes: ['read:user'], default_scopes: ['write:user'] }
    assert.equal((await call(path, { method: 'PUT', key: ann.key, body: put })).status, 400)
    assert.match((await graphql('scopes: ["openid"]')).text, /VALIDATION_FAILED/)
    assert.match((await graphql('defaultScopes: ["write:user"]')).text, /VALIDATION_FAILED/)
    // The refusal reveals nothing of the app to another user.
    for (const body of refused) {
      assert.equal((await call(path, { method: 'PATCH', key: ben.key, body })).status, 404)
    }
    const taken: readonly object[] = [
      { default_scopes: ['write:post', 'read:post'] },
      { scopes: ['write:post', 'read:user'] },
      { scopes: null },
      { default_scopes: ['write:user'] },
      { default_scopes: null },
      { scopes: ['read:post'] },
      { name: 'Other' },
    ]
    for (const body of taken) {
      const patched = await call(path, { method: 'PATCH', key: ann.key, body })
      assert.equal(patched.status, 200, `${JSON.stringify(body)} ${patched.text}`)
    }
    assert.doesNotMatch((await graphql('defaultScopes: ["read:post"]')).text, /errors/)
    // PUT replaces both.
    const replaced = await call(path, {
      method: 'PUT',
      key: ann.key,
      body: { ...minimal, default_scopes: ['write:user'] },
    })
    assert.equal(replaced.status, 200, replaced.text)
  })
})

test('an invalid redirect URI is refused on creation and on update', async () => {
  await withFixture({}, async fixture => {
    const { call, ann } = fixture
    const { id } = await fixture.app()
    const path = `/api/v1/oauth_apps/${id}`
    const wrong = [
      '',
      'callback',
      '/callback',
      '//app.example.com/cb',
      'http://app.example.com/cb',
      'https://app.example.com/cb#part',
      'https://user@app.example.com/cb',
      'https://*.example.com/cb\\n',
      'https://app.example.com/ cb',
      'javascript:alert(1)',
      'data:text/html,x',
      'file:///etc/passwd',
      'HTTPS://app.example.com/cb',
      'http://localhost.example.com/cb',
      'http://127.0.0.1.example.com/cb',
      'myapp://cb',
    ]
    for (const uri of wrong) {
      const body = { ...minimal, redirect_uris: [redirectUri, uri] }
      const statuses = [
        await call('/api/v1/oauth_apps', { method: 'POST', key: ann.key, body }),
        await call(path, { method: 'PATCH', key: ann.key, body: { redirect_uris: body.redirect_uris } }),
        await call(path, { method: 'PUT', key: ann.key, body }),
      ].map(({ status, code }) => `${status} ${code}`)
      assert.deepEqual(statuses, Array(3).fill('400 VALIDATION_FAILED'), uri)
      const query = `mutation ($uris: JSON!) { updateOauthApp(id: "${id}", redirectUris: $uris) { id } }`
      const variables = { uris: body.redirect_uris }
      const changed = await call('/graphql', { method: 'POST', key: ann.key, body: { query, variables } })
      assert.match(changed.text, /VALIDATION_FAILED/, uri)
    }
  })
})

test('a deleted app, a deleted user and a lost role restrict a token at once', async () => {
  await withFixture({}, async fixture => {
    const { call, admin, ann } = fixture
    const [one, two] = [await fixture.app(), await fixture.app()]
    const ofOne = await tokensOf(fixture, one)
    const ofTwo = await tokensOf(fixture, two)
    assert.equal(await status(fixture, ofOne.access_token), 200)
    await call(`/api/v1/oauth_apps/${one.id}`, { method: 'DELETE', key: ann.key })
    assert.equal(await status(fixture, ofOne.access_token), 401)
    assert.equal(await status(fixture, ofTwo.access_token), 200)
    const other = await newTokens(fixture, two, {
      browser: fixture.browser(),
      person: fixture.ben,
      scope: 'read:post',
    })
    assert.equal(await status(fixture, other.access_token), 200)
    await call(`/api/v1/users/${fixture.ben.id}`, { method: 'DELETE', key: admin.key })
    assert.equal(await status(fixture, other.access_token), 401)
  })
})

for (const format of ['opaque', 'jwt'] as const) {
  test(`${format} tokens can be read with and introspected until they are revoked`, async () => {
    await withFixture({}, async fixture => {
      const app = await fixture.app({ access_token_format: format })
      const { access_token = '', refresh_token = '' } = await tokensOf(fixture, app)
      assert.equal(access_token.split('.').length, format === 'jwt' ? 3 : 1)
      assert.equal(await status(fixture, access_token), 200)
      const before = await post(`${fixture.url}/oauth/introspect`, {
        token: access_token,
        ...clientCredentials(app),
      })
      assert.equal(before.json.active, true, before.text)
      assert.equal(before.json.scope, 'offline_access read:post write:post read:user')
      assert.equal(before.json.aud, fixture.url)
      assert.equal(before.json.sub, String(fixture.ann.id))
      assert.equal(
        (await post(`${fixture.url}/oauth/revoke`, { token: access_token, ...clientCredentials(app) }))
          .status,
        200,
      )
      assert.equal(await status(fixture, access_token), 401)
      const after = await post(`${fixture.url}/oauth/introspect`, {
        token: access_token,
        ...clientCredentials(app),
      })
      assert.deepEqual(after.json, { active: false })
      assert.equal(typeof refresh_token, 'string')
    })
  })
}

test('new signing keys keep live tokens valid, and sign new ones without a restart', async () => {
  await withFixture({ 'oauth.accessTokenFormat': 'jwt' }, async fixture => {
    const app = await fixture.app()
    const { access_token: old = '' } = await tokensOf(fixture, app)
    const store = await fixture.deployment.openStore(checkModel(blog))
    await rotateKeys(await recordsOfOtherProcess(store, fixture.deployment), 3600)
    await store.close()
    assert.equal(await status(fixture, old), 200)
    const { access_token: fresh = '' } = await tokensOf(fixture, app)
    assert.notEqual(fresh.split('.')[0], old.split('.')[0])
    assert.equal(await status(fixture, fresh), 200)
    const { keys } = (await fixture.call('/oauth/jwks')).json as { keys: { kid: string; d?: string }[] }
    assert.equal(keys.length, 4)
    assert.ok(keys.every(key => !('d' in key)))
  })
})

test('a client-credentials token has its scopes and no user', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const { json } = await ownToken(fixture.url, app, { scope: 'read:post read:user write:post' })
    const headers = { Authorization: `Bearer ${json.access_token}` }
    const posts = await fixture.call('/api/v1/posts', { headers })
    assert.equal(posts.status, 200)
    assert.match(String(posts.headers.get('cache-control')), /private/)
    const users = await fixture.call('/api/v1/users', { headers })
    assert.deepEqual([users.status, users.code], [403, 'FORBIDDEN'])
    const body = { title: 'x' }
    assert.equal((await fixture.call('/api/v1/posts', { method: 'POST', headers, body })).status, 403)
    assert.equal((await fixture.call('/api/v1/me', { headers })).status, 403)
    const { json: narrow } = await ownToken(fixture.url, app, { scope: 'read:user' })
    const refused = await fixture.call('/api/v1/posts', {
      headers: { Authorization: `Bearer ${narrow.access_token}` },
    })
    assert.deepEqual([refused.status, refused.code], [403, 'INSUFFICIENT_SCOPE'])
    assert.match(
      String(refused.headers.get('www-authenticate')),
      /scope="read:post".*resource_metadata="http/,
    )
  })
})

test('with refreshReplay set, an identical refresh request gets the same response', async () => {
  await withFixture({ 'oauth.refreshReplay': '60 s' }, async fixture => {
    const app = await fixture.app()
    const { refresh_token = '' } = await tokensOf(fixture, app)
    const form = { grant_type: 'refresh_token', refresh_token, ...clientCredentials(app) }
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => post(`${fixture.url}/oauth/token`, form)),
    )
    assert.deepEqual(
      answers.map(answer => answer.status),
      [200, 200, 200, 200, 200],
    )
    const [first] = answers
    for (const { json } of answers) assert.deepEqual(json, first?.json)
    assert.equal(await status(fixture, String(first?.json.access_token)), 200)
    const other = await post(`${fixture.url}/oauth/token`, { ...form, scope: 'read:post' })
    assert.deepEqual([other.status, other.json.error], [400, 'invalid_grant'])
  })
})

test('failed requests at the token endpoint have a tighter budget', async () => {
  await withFixture({ rateLimit: { user: 1000, address: 1000, token: 3 } }, async fixture => {
    await earlyInMinute()
    const app = await fixture.app()
    const wrong = { ...app, client_secret: 'ps_guess' }
    const statuses: number[] = []
    for (let guess = 0; guess < 4; guess++) statuses.push((await ownToken(fixture.url, wrong)).status)
    assert.deepEqual(statuses, [401, 401, 401, 429])
    const limited = await ownToken(fixture.url, app)
    assert.equal(limited.status, 429)
    assert.match(String(limited.headers.get('retry-after')), /^\d+$/)
    assert.equal(limited.headers.get('x-ratelimit-limit'), '3')
    assert.equal((await fixture.call('/oauth/jwks')).status, 200)
  })
})

test('apps register themselves only with the initial access token, and their secret is stored as a hash', async () => {
  const body = {
    redirect_uris: ['https://app.example/cb'],
    client_name: 'Self',
    token_endpoint_auth_method: 'client_secret_post',
  }
  await withFixture({}, async ({ call }) => {
    assert.equal((await call('/oauth/register', { method: 'POST', body })).status, 404)
  })
  const token = 'an-initial-access-token-that-is-long'
  await withFixture({ 'oauth.registrationToken': token }, async ({ call, url }) => {
    assert.equal((await call('/oauth/register', { method: 'POST', body })).status, 401)
    assert.equal((await call('/oauth/register', { method: 'POST', body, key: 'x'.repeat(36) })).status, 401)
    const created = await call('/oauth/register', { method: 'POST', body, key: token })
    assert.equal(created.status, 201, created.text)
    const { client_id, client_secret } = created.json as { client_id: string; client_secret: string }
    const form = {
      grant_type: 'authorization_code',
      code: 'x',
      redirect_uri: 'https://app.example/cb',
      client_id,
    }
    const right = await post(`${url}/oauth/token`, { ...form, client_secret })
    assert.equal(right.json.error, 'invalid_grant', right.text)
    const wrong = await post(`${url}/oauth/token`, { ...form, client_secret: `${client_secret}x` })
    assert.equal(wrong.json.error, 'invalid_client')
  })
})
