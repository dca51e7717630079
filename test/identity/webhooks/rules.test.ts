/** Webhooks as a collection, over HTTP: what they may subscribe to, and who may create, see and change which. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chosen } from '../../chosen.ts'
import blog from '../../models/blog.ts'
import type { Answer } from '../../server/serve/service.ts'
import { postgresRowSecurity } from '../../setups/postgres.ts'
import { setups } from '../../setups/setups.ts'
import {
  clientCredentials,
  type Fixture,
  inOtherProcess,
  newTokens,
  post,
  withFixture,
} from '../conformance/server.ts'
import { createWebhook, delivery, narrowKey, path, postWebhook } from './webhooks.ts'

const settings = { autoMigrate: true, quotas: { keys: 1000 } }

interface Details {
  readonly error: { readonly details?: readonly { readonly field: string; readonly message: string }[] }
}

function faultsOf({ json, text, code }: Answer): readonly { field: string; message: string }[] {
  assert.equal(code, 'VALIDATION_FAILED', text)
  return (json as unknown as Details).error.details ?? []
}

const cases: readonly [name: string, run: (fixture: Fixture) => Promise<void>][] = [
  [
    'only the response that creates a webhook has its secret',
    async fixture => {
      const { call, ann } = fixture
      const created = await postWebhook(fixture, ann.key, { types: ['post.*'], collections: ['posts'] })
      assert.equal(created.status, 201, created.text)
      const { id, secret, ...rest } = created.json
      assert.match(String(secret), /^whsec_[A-Za-z0-9+/]{43}=$/)
      const expected = { url: 'https://example.com/hook', types: ['post.*'], collections: ['posts'] }
      assert.deepEqual(
        [rest.url, rest.types, rest.collections, rest.enabled, rest.scopes, rest.user_id, rest.paused_at],
        [expected.url, expected.types, expected.collections, true, null, ann.id, null],
      )
      for (const internal of ['grant', 'position', 'secret_version', 'failing_since']) {
        assert.ok(!(internal in created.json), internal)
      }
      for (const url of [`${path}/${id}`, path]) {
        const read = await call(url, { key: ann.key })
        assert.equal(read.status, 200, read.text)
        assert.ok(!read.text.includes('whsec_') && !read.text.includes('"secret"'), read.text)
      }
      const stored = await fixture.deployment.dump()
      assert.ok(!stored.includes(String(secret)) && !stored.includes(String(secret).slice(6, 40)))
    },
  ],
  [
    'GraphQL shows the secret too, and has no subscription to deliveries',
    async ({ call, ann }) => {
      const query = `mutation { createWebhook(url: "https://example.com", types: ["post.created"]) { id secret enabled } }`
      const created = await call('/graphql', { method: 'POST', key: ann.key, body: { query } })
      assert.match(created.text, /"secret":"whsec_/)
      const introspection = '{ __schema { subscriptionType { fields { name } } } }'
      const { text } = await call('/graphql', {
        method: 'POST',
        key: ann.key,
        body: { query: introspection },
      })
      assert.ok(text.includes('"newWebhook"') && !/Delivery/.test(text), text)
    },
  ],
  [
    'all faults are reported at once, with suggestions',
    async fixture => {
      const { ann } = fixture
      const wrong = await postWebhook(fixture, ann.key, {
        url: 'http://10.0.0.1/',
        types: ['post.create', 'post.*', 'webhook_delivery.created', 'user'],
        collections: ['post', 'webhook_deliveries'],
      })
      const faults = faultsOf(wrong)
      assert.deepEqual(
        faults.map(({ field }) => field),
        ['url', 'types/0', 'types/2', 'types/3', 'collections/0', 'collections/1'],
      )
      assert.match(faults[1]?.message ?? '', /Did you mean `post.created`\?/)
      assert.match(faults[4]?.message ?? '', /Did you mean `posts`\?/)
      for (const values of [
        { types: [] },
        { types: ['*', '*'] },
        { types: 'post.*' },
        { types: Array.from({ length: 101 }, (_, at) => `post.${at}`) },
        { collections: [] },
        { scopes: null },
        { grant: 'x' },
        { position: 0 },
        { url: `https://example.com/${'x'.repeat(2048)}` },
      ]) {
        const refused = await postWebhook(fixture, ann.key, values)
        assert.equal(refused.code, 'VALIDATION_FAILED', JSON.stringify(values).slice(0, 80))
      }
      const type = ['user.created', 'user.*', 'webhook.paused', 'webhook.*', 'api_key.deleted', '*']
      assert.equal((await postWebhook(fixture, ann.key, { types: type })).status, 201)
    },
  ],
  [
    'webhooks and deliveries of other users are not found',
    async fixture => {
      const { call, ann, ben, admin } = fixture
      const id = await createWebhook(fixture, ann.key)
      const n = await delivery(fixture, id)
      const item = `${path}/${id}`
      for (const { key } of [ben, admin]) {
        for (const [method, url, body] of [
          ['GET', item, undefined],
          ['PATCH', item, { enabled: false }],
          ['PUT', item, { url: 'https://example.com', types: ['*'] }],
          ['DELETE', item, undefined],
          ['GET', `${item}/deliveries`, undefined],
          ['GET', `${item}/deliveries/${n}`, undefined],
          ['GET', `/api/v1/webhook_deliveries/${n}`, undefined],
          ['POST', `${item}/rotate_secret`, undefined],
          ['POST', `${item}/test`, undefined],
          ['POST', `${item}/enable`, undefined],
          ['POST', `${item}/deliveries/${n}/redeliver`, undefined],
        ] as const) {
          const refused = await call(url, { method, key, body })
          assert.deepEqual([refused.status, refused.code], [404, 'NOT_FOUND'], `${method} ${url}`)
        }
        assert.equal(((await call(path, { key })).json.data as unknown[]).length, 0)
      }
      assert.equal((await call(path)).status, 401)
      assert.equal((await call(`${item}/test`, { method: 'POST' })).status, 401)
      assert.equal((await call(item, { key: ann.key })).status, 200)
    },
  ],
  [
    'no user can write deliveries, and their changes are not events',
    async fixture => {
      const { call, ann, admin } = fixture
      const id = await createWebhook(fixture, ann.key)
      const before = await inOtherProcess(fixture, async (_, store) => store.changes.last())
      const n = await delivery(fixture, id)
      const item = `/api/v1/webhook_deliveries/${n}`
      for (const { key } of [ann, admin]) {
        for (const [method, url] of [
          ['POST', '/api/v1/webhook_deliveries'],
          ['PATCH', item],
          ['PUT', item],
          ['DELETE', item],
        ] as const) {
          assert.equal((await call(url, { method, key, body: {} })).status, 405, `${method} ${url}`)
        }
        const query = `mutation { deleteWebhookDelivery(id: ${n}) }`
        const refused = await call('/graphql', { method: 'POST', key, body: { query } })
        assert.match(refused.text, /Cannot query field \\"deleteWebhookDelivery/)
      }
      assert.equal((await call(item, { key: ann.key })).status, 200)
      assert.equal(await inOtherProcess(fixture, async (_, store) => store.changes.last()), before)
      assert.equal((await call(`${path}/${id}`, { method: 'DELETE', key: ann.key })).status, 204)
      assert.equal((await call(item, { key: ann.key })).status, 404)
      const after = await inOtherProcess(fixture, async (_, store) => store.changes.after(before, 10))
      assert.deepEqual(
        after.map(({ collection, kind }) => [collection, kind]),
        [['webhooks', 'deleted']],
      )
    },
  ],
  [
    'deleting a webhook or its owner deletes its secret',
    async fixture => {
      const { call, ann, ben, admin } = fixture
      const count = (): Promise<number> =>
        inOtherProcess(fixture, async (_, store) => (await store.records.all('WebhookSecret')).length)
      const before = await count()
      const first = await createWebhook(fixture, ann.key)
      await createWebhook(fixture, ben.key)
      assert.equal(await count(), before + 2)
      assert.equal((await call(`${path}/${first}`, { method: 'DELETE', key: ann.key })).status, 204)
      assert.equal(await count(), before + 1)
      const deleted = await call(`/api/v1/users/${ben.id}`, { method: 'DELETE', key: admin.key })
      assert.equal(deleted.status, 204, deleted.text)
      assert.equal(await count(), before)
    },
  ],
  [
    'only an app’s owner can create its webhook, its own token cannot, and deleting the app deletes it',
    async fixture => {
      const { call, url, ann, cleo } = fixture
      const app = await fixture.app({ scopes: ['read:post', 'write:webhook'] })
      const foreign = await postWebhook(fixture, cleo.key, { app_id: app.id })
      assert.deepEqual(
        faultsOf(foreign).map(({ field }) => field),
        ['app_id'],
      )
      const id = await createWebhook(fixture, ann.key, { app_id: app.id })
      const moved = await call(`${path}/${id}`, { method: 'PATCH', key: ann.key, body: { app_id: null } })
      assert.deepEqual(
        faultsOf(moved).map(({ field }) => field),
        ['app_id'],
      )
      const form = {
        ...clientCredentials(app),
        grant_type: 'client_credentials',
        scope: 'write:webhook read:post',
      }
      const { json } = await post(`${url}/oauth/token`, form)
      const byItself = await postWebhook(fixture, String(json.access_token), { types: ['post.*'] })
      assert.deepEqual([byItself.status, byItself.code], [403, 'FORBIDDEN'], byItself.text)
      const deleted = await call(`/api/v1/oauth_apps/${app.id}`, { method: 'DELETE', key: ann.key })
      assert.equal(deleted.status, 204, deleted.text)
      assert.equal((await call(`${path}/${id}`, { key: ann.key })).status, 404)
    },
  ],
  [
    'a credential that is limited to scopes creates webhooks within them',
    async fixture => {
      const { call, ann } = fixture
      const { key } = await narrowKey(fixture, ann.key, ['write:webhook', 'read:post'])
      const created = await postWebhook(fixture, key, { types: ['post.created'] })
      assert.equal(created.status, 201, created.text)
      assert.deepEqual(created.json.scopes, ['read:post', 'write:webhook'])
      for (const [values, scope] of [
        [{ types: ['user.*'] }, 'read:user'],
        [{ types: ['*'], collections: ['posts', 'users'] }, 'read:user'],
        [{ types: ['post.*', 'api_key.created'] }, 'read:api_key'],
      ] as const) {
        const refused = await postWebhook(fixture, key, structuredClone(values) as never)
        assert.deepEqual([refused.status, refused.code], [403, 'INSUFFICIENT_SCOPE'], refused.text)
        assert.match(refused.headers.get('www-authenticate') ?? '', new RegExp(`scope="${scope}"`))
      }
      assert.equal((await postWebhook(fixture, key, { types: ['*'] })).status, 201)
      const reader = await narrowKey(fixture, ann.key, ['read:webhook', 'read:post'])
      assert.equal((await postWebhook(fixture, reader.key)).code, 'INSUFFICIENT_SCOPE')
      assert.equal((await call(`${path}/${created.json.id}`, { key: reader.key })).status, 200)
    },
  ],
  [
    'only a credential with all scopes of a webhook can change its URL and events; the webhook keeps its scopes',
    async fixture => {
      const { call, ann } = fixture
      const change = (id: unknown, key: string, body: object) =>
        call(`${path}/${id}`, { method: 'PATCH', key, body })
      const wide = await createWebhook(fixture, ann.key, { types: ['post.*'] })
      const narrow = await narrowKey(fixture, ann.key, ['write:webhook', 'read:post'])
      const middle = await narrowKey(fixture, ann.key, ['write:webhook', 'read:post', 'read:user'])
      for (const body of [
        { url: 'https://evil.example.com' },
        { types: ['*'] },
        { collections: ['posts'] },
      ]) {
        const refused = await change(wide, narrow.key, body)
        assert.deepEqual([refused.status, refused.code], [403, 'FORBIDDEN'], refused.text)
      }
      const put = { method: 'PUT', key: narrow.key, body: { url: 'https://example.com', types: ['*'] } }
      assert.equal((await call(`${path}/${wide}`, put)).code, 'FORBIDDEN')
      assert.equal((await change(wide, narrow.key, { enabled: false, description: 'x' })).status, 200)
      assert.equal((await change(wide, ann.key, { types: ['user.*'] })).status, 200)
      const created = await postWebhook(fixture, middle.key, { types: ['user.*'] })
      assert.equal(
        (await change(created.json.id, narrow.key, { types: ['post.*'] })).code,
        'INSUFFICIENT_SCOPE',
      )
      assert.equal((await change(created.json.id, middle.key, { types: ['post.*'] })).status, 200)
      const beyond = await change(created.json.id, ann.key, { types: ['api_key.*'] })
      assert.deepEqual(
        faultsOf(beyond).map(({ field }) => field),
        ['types'],
      )
      const after = await call(`${path}/${created.json.id}`, { key: ann.key })
      assert.deepEqual(after.json.scopes, ['read:post', 'read:user', 'write:webhook'])
      assert.deepEqual(
        faultsOf(await change(created.json.id, ann.key, { url: 'https://[::1]/' }))[0]?.field,
        'url',
      )
    },
  ],
  [
    'an app’s access token creates webhooks of its user, within its scopes',
    async fixture => {
      const { call, ann } = fixture
      const app = await fixture.app({ scopes: ['read:post', 'write:webhook'], default_scopes: ['read:post'] })
      const tokens = await newTokens(fixture, app, {
        browser: fixture.browser(),
        person: ann,
        scope: 'read:post write:webhook',
      })
      const created = await postWebhook(fixture, String(tokens.access_token), { types: ['post.*'] })
      assert.equal(created.status, 201, created.text)
      assert.deepEqual([created.json.user_id, created.json.app_id], [ann.id, null])
      assert.deepEqual(created.json.scopes, ['read:post', 'write:webhook'])
      const { id } = created.json
      const wider = { method: 'PATCH', key: ann.key, body: { types: ['user.*'] } }
      assert.equal((await call(`${path}/${id}`, wider)).code, 'VALIDATION_FAILED')
    },
  ],
]

for (const setup of chosen(new Set([...setups, postgresRowSecurity]))) {
  test(`webhooks (${setup.name})`, async t => {
    const use = async (fixture: Fixture) => {
      for (const [name, run] of cases) await t.test(name, () => run(fixture))
    }
    await withFixture(settings, use, blog, setup)
  })
}

test('a user may have as many webhooks as the setting allows', async () => {
  await withFixture({ quotas: { webhooks: 3 } }, async fixture => {
    const { call, ann, ben } = fixture
    const created = await Promise.all(Array.from({ length: 10 }, () => postWebhook(fixture, ann.key)))
    assert.equal(created.filter(({ status }) => status === 201).length, 3)
    for (const { status, code } of created) assert.ok(status === 201 || code === 'CONFLICT')
    await createWebhook(fixture, ben.key)
    const { json } = await call(path, { key: ann.key })
    const [first] = json.data as readonly { readonly id: number }[]
    assert.equal((await call(`${path}/${first?.id}`, { method: 'DELETE', key: ann.key })).status, 204)
    await createWebhook(fixture, ann.key)
  })
})

test('with allowPrivate set, private addresses and http are accepted', async () => {
  await withFixture({ webhooks: { allowPrivate: true } }, async fixture => {
    await createWebhook(fixture, fixture.ann.key, { url: 'http://127.0.0.1:9/hook' })
    const named = await postWebhook(fixture, fixture.ann.key, { url: 'http://user:word@127.0.0.1:9/' })
    assert.equal(named.code, 'VALIDATION_FAILED')
  })
})
