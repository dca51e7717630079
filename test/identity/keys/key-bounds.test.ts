/** A key that expires cannot create a key that expires later, or be extended, by REST or GraphQL. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fixture, newTokens, withFixture } from '../conformance/server.ts'

const dayMs = 86_400_000
const soon = new Date(Date.now() + dayMs).toISOString()
const sooner = new Date(Date.now() + dayMs / 2).toISOString()
const later = new Date(Date.now() + 2 * dayMs).toISOString()

interface CreatedKey {
  readonly id: number
  readonly key: string
  readonly expires_at: string | null
}

async function createKey({ call }: Fixture, key: string, body: object = {}): Promise<CreatedKey> {
  const created = await call('/api/v1/api_keys', { method: 'POST', key, body: { name: 'a key', ...body } })
  assert.equal(created.status, 201, created.text)
  return created.json as unknown as CreatedKey
}

function graphql({ call }: Fixture, key: string, query: string) {
  return call('/graphql', { method: 'POST', key, body: { query } })
}

test('a key that a key creates expires with it, or earlier', async () => {
  await withFixture({}, async fixture => {
    const { call, ann } = fixture
    const short = await createKey(fixture, ann.key, { expires_at: soon, scopes: ['write:api_key'] })
    assert.equal((await createKey(fixture, short.key)).expires_at, soon)
    assert.equal((await createKey(fixture, short.key, { expires_at: soon })).expires_at, soon)
    assert.equal((await createKey(fixture, short.key, { expires_at: sooner })).expires_at, sooner)
    for (const expires_at of [later, null]) {
      const body = { name: 'longer', expires_at }
      const refused = await call('/api/v1/api_keys', { method: 'POST', key: short.key, body })
      assert.equal(refused.code, 'FORBIDDEN', refused.text)
      assert.ok(refused.text.includes(soon) && refused.text.includes('expires_at'), refused.text)
    }
    const child = await createKey(fixture, short.key, { expires_at: sooner, scopes: ['write:api_key'] })
    const grandchild = { method: 'POST', key: child.key, body: { name: 'x', expires_at: soon } }
    assert.equal((await call('/api/v1/api_keys', grandchild)).code, 'FORBIDDEN')
    const byGraphql = await graphql(
      fixture,
      short.key,
      `mutation { createApiKey(name: "x", expiresAt: "${later}") { apiKey: id } }`,
    )
    assert.match(byGraphql.text, /FORBIDDEN/)
    const inherited = await graphql(
      fixture,
      short.key,
      'mutation { createApiKey(name: "x") { id expiresAt } }',
    )
    assert.ok(inherited.text.includes(soon), inherited.text)
  })
})

test('a key that an app’s token creates has its scopes, except those that only such a token can have', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({ scopes: null })
    const { access_token: token = '' } = await newTokens(fixture, app, {
      browser: fixture.browser(),
      person: fixture.ann,
      scope: 'openid profile email offline_access read:post write:api_key',
    })
    const created = await fixture.call('/api/v1/api_keys', {
      method: 'POST',
      key: token,
      body: { name: 'a key' },
    })
    assert.equal(created.status, 201, created.text)
    assert.deepEqual(created.json.scopes, ['read:post', 'write:api_key'])
  })
})

test('a key prolongs no key that has more scopes than it has; it may shorten one', async () => {
  await withFixture({}, async fixture => {
    const { call, ann } = fixture
    const narrow = await createKey(fixture, ann.key, { scopes: ['write:api_key', 'read:post'] })
    const bounds = { all: ['*'], wider: ['read:post', 'write:user'], equal: ['read:post'] }
    const prolong = async (scopes: readonly string[], key: string, method = 'PATCH') => {
      const { id } = await createKey(fixture, ann.key, { scopes, expires_at: soon })
      const name = method === 'PUT' && { name: 'x' }
      const shorter = { method: 'PATCH', key, body: { expires_at: sooner } }
      assert.equal((await call(`/api/v1/api_keys/${id}`, shorter)).status, 200)
      const longer = { method, key, body: { ...name, expires_at: null } }
      return call(`/api/v1/api_keys/${id}`, longer)
    }
    for (const method of ['PATCH', 'PUT']) {
      for (const scopes of [bounds.all, bounds.wider]) {
        const refused = await prolong(scopes, narrow.key, method)
        assert.equal(refused.code, 'FORBIDDEN', refused.text)
        assert.ok(refused.text.includes(`scope ${scopes.at(-1)}`), refused.text)
      }
      assert.equal((await prolong(bounds.equal, narrow.key, method)).status, 200)
      assert.equal((await prolong(bounds.all, ann.key, method)).status, 200)
    }
    const { id } = await createKey(fixture, ann.key, { expires_at: soon })
    const mutation = `mutation { updateApiKey(id: ${id}, expiresAt: null) { id } }`
    assert.match((await graphql(fixture, narrow.key, mutation)).text, /FORBIDDEN/)
  })
})

test('an app prolongs no key that its user made', async () => {
  await withFixture({}, async fixture => {
    const { call, ann } = fixture
    const app = await fixture.app({ scopes: ['openid', 'read:post', 'write:api_key', 'offline_access'] })
    const options = { browser: fixture.browser(), person: ann, scope: 'openid write:api_key offline_access' }
    const tokens = await newTokens(fixture, app, { ...options, parameters: { prompt: 'consent' } })
    const key = tokens.access_token ?? ''
    const own = await createKey(fixture, ann.key, { scopes: ['write:api_key'], expires_at: soon })
    const change = (id: number, expires_at: string) =>
      call(`/api/v1/api_keys/${id}`, { method: 'PATCH', key, body: { expires_at } })
    assert.equal((await change(own.id, later)).code, 'FORBIDDEN')
    const ofApp = await createKey(fixture, key, { expires_at: soon })
    assert.equal((await change(ofApp.id, later)).status, 200)
  })
})

test('a key extends neither itself nor another key; it may shorten both, and rename them', async () => {
  await withFixture({}, async fixture => {
    const { call, ann, ben } = fixture
    const short = await createKey(fixture, ann.key, { expires_at: soon })
    const endless = await createKey(fixture, ann.key)
    const longer = await createKey(fixture, ann.key, { expires_at: later })
    const change = (id: number, method: string, body: object) =>
      call(`/api/v1/api_keys/${id}`, { method, key: short.key, body })
    for (const { id } of [short, longer]) {
      for (const expires_at of [null, new Date(Date.now() + 3 * dayMs).toISOString()]) {
        assert.equal((await change(id, 'PATCH', { expires_at })).code, 'FORBIDDEN')
        assert.equal((await change(id, 'PUT', { name: 'x', expires_at })).code, 'FORBIDDEN')
      }
      assert.equal(
        (await change(id, 'PUT', { name: 'x' })).code,
        'FORBIDDEN',
        'PUT without expires_at removes the expiry',
      )
    }
    assert.match(
      (
        await graphql(
          fixture,
          short.key,
          `mutation { updateApiKey(id: ${short.id}, expiresAt: null) { id } }`,
        )
      ).text,
      /FORBIDDEN/,
    )
    assert.equal((await change(short.id, 'PATCH', { name: 'renamed' })).status, 200)
    assert.equal(
      (await change(endless.id, 'PUT', { name: 'renamed' })).status,
      200,
      'it had no expiry before',
    )
    assert.equal((await change(longer.id, 'PATCH', { name: 'renamed', expires_at: later })).status, 200)
    assert.equal((await change(longer.id, 'PATCH', { expires_at: sooner })).status, 200)
    assert.equal((await change(short.id, 'PATCH', { expires_at: sooner })).status, 200)
    assert.equal(
      (await change(short.id, 'PATCH', { expires_at: soon })).code,
      'FORBIDDEN',
      'it stays shortened',
    )
    const bens = await createKey(fixture, ben.key, { expires_at: sooner })
    assert.equal((await change(bens.id, 'PATCH', { expires_at: null })).code, 'NOT_FOUND')
    // A key without an expiry may extend others.
    const free = await call(`/api/v1/api_keys/${short.id}`, {
      method: 'PATCH',
      key: ann.key,
      body: { expires_at: null },
    })
    assert.equal(free.status, 200, free.text)
  })
})

for (const format of ['opaque', 'jwt'] as const) {
  test(`a key that an app’s token creates expires with the token’s grant: ${format}`, async () => {
    await withFixture({ 'oauth.accessTokenFormat': format }, async fixture => {
      const { ann, call } = fixture
      const app = await fixture.app({ scopes: ['write:api_key', 'offline_access'], default_scopes: null })
      for (const [scope, life] of [
        ['write:api_key', 3600],
        ['write:api_key offline_access', 2_592_000],
      ] as const) {
        const options = { browser: fixture.browser(), person: ann, scope, parameters: { prompt: 'consent' } }
        const { access_token: key = '' } = await newTokens(fixture, app, options)
        const { expires_at } = await createKey(fixture, key)
        const left = (Date.parse(String(expires_at)) - Date.now()) / 1000
        assert.ok(left > life - 120 && left <= life + 5, `${scope}: ${left}`)
        const body = { name: 'x', expires_at: new Date(Date.now() + (life + 600) * 1000).toISOString() }
        assert.equal((await call('/api/v1/api_keys', { method: 'POST', key, body })).code, 'FORBIDDEN')
        assert.equal(
          (await call('/api/v1/api_keys', { method: 'POST', key, body: { name: 'x', expires_at: null } }))
            .code,
          'FORBIDDEN',
        )
      }
    })
  })
}
