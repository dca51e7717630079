/** API keys as a collection, over HTTP: who may create, see, change and revoke which. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import { createKey } from '../../../src/identity/bootstrap.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { readSettings } from '../../../src/server/config/config.ts'
import { createRun, openStore } from '../../../src/server/serve/store.ts'
import blog from '../../models/blog.ts'
import { type Answer, type TestService, withService } from '../../server/serve/service.ts'

const unlimited = { rateLimit: 'off' } as const
const path = '/api/v1/api_keys'

/** Creates a key for any user, as the command line does. */
async function keyFor(
  { file }: TestService,
  userId: number,
  scopes: readonly string[] = ['*'],
): Promise<string> {
  const model = checkModel(blog)
  const store = await openStore(model, readSettings({ given: { database: file }, environment: {} }))
  try {
    return await createKey(createRun(createGuard(model), store), userId, { name: 'Theirs', scopes })
  } finally {
    await store.close()
  }
}

async function createUser({ call, key }: TestService, name: string): Promise<number> {
  const body = { name, email: `${name}@example.com` }
  const { json } = await call('/api/v1/users', { method: 'POST', key, body })
  return Number(json.id)
}

function postKey({ call }: TestService, by: string, body: object = {}): Promise<Answer> {
  return call(path, { method: 'POST', key: by, body: { name: 'test', ...body } })
}

const data = ({ json }: Answer) => json.data as readonly Record<string, unknown>[]

test('a key with fewer scopes has fewer rights than its creator, and cannot pass on more', async () => {
  await withService(unlimited, async service => {
    const { call } = service
    const bob = await keyFor(service, await createUser(service, 'bob'))
    const created = await postKey(service, bob, { scopes: ['read:post', 'write:api_key', 'read:user'] })
    assert.equal(created.status, 201, created.text)
    const key = String(created.json.key)
    assert.equal((await call('/api/v1/posts', { key })).status, 200)
    const post = { method: 'POST', key, body: { title: 'x' } }
    assert.equal((await call('/api/v1/posts', post)).code, 'INSUFFICIENT_SCOPE')
    for (const scopes of [['*'], ['write:post'], ['read:post', 'write:user']]) {
      const more = await postKey(service, key, { scopes })
      assert.deepEqual([more.status, more.code], [403, 'FORBIDDEN'], more.text)
    }
    const less = await postKey(service, key, { scopes: ['read:api_key', 'read:post'] })
    assert.deepEqual([less.status, less.json.scopes], [201, ['read:api_key', 'read:post']])
    for (const scopes of [[], ['read:nothing'], ['read:post', 'read:post'], 'read:post', {}]) {
      assert.equal(
        (await postKey(service, key, { scopes })).code,
        'VALIDATION_FAILED',
        JSON.stringify(scopes),
      )
    }
  })
})

test('a key that may only read keys cannot create, change or revoke one', async () => {
  await withService(unlimited, async service => {
    const { call } = service
    const created = await postKey(service, service.key, { scopes: ['read:api_key'] })
    const key = String(created.json.key)
    const item = `${path}/${created.json.id}`
    assert.equal((await call(item, { key })).status, 200)
    for (const [method, url, body] of [
      ['POST', path, { name: 'x', scopes: ['read:api_key'] }],
      ['PATCH', item, { name: 'x' }],
      ['PUT', item, { name: 'x' }],
      ['DELETE', item, undefined],
    ] as const) {
      const refused = await call(url, { method, key, body })
      assert.deepEqual([refused.status, refused.code], [403, 'INSUFFICIENT_SCOPE'], method)
      assert.match(refused.headers.get('www-authenticate') ?? '', /scope="write:api_key"/)
    }
    const other = await postKey(service, service.key, { scopes: ['read:post'] })
    assert.equal((await call(path, { key: String(other.json.key) })).code, 'INSUFFICIENT_SCOPE')
  })
})

test('the name and expiry of a key can be changed, nothing else; an expiry in the past ends the key at once', async () => {
  await withService(unlimited, async service => {
    const { call } = service
    const created = await postKey(service, service.key)
    const [key, item] = [String(created.json.key), `${path}/${created.json.id}`]
    const change = (body: object) => call(item, { method: 'PATCH', key: service.key, body })
    const renamed = await change({ name: 'New', expires_at: '2099-01-01T00:00:00Z' })
    assert.deepEqual(
      [renamed.status, renamed.json.name, renamed.json.expires_at, renamed.json.key],
      [200, 'New', '2099-01-01T00:00:00.000Z', undefined],
    )
    assert.equal((await call('/api/v1/me', { key })).status, 200)
    for (const [body, code] of [
      [{ scopes: ['read:post'] }, 'immutable'],
      [{ scopes: ['*'] }, 'immutable'],
      [{ user_id: 1 }, 'read_only'],
      [{ prefix: 'pk_' }, 'read_only'],
      [{ hash: 'x' }, 'unknown_field'],
      [{ key: 'x' }, 'unknown_field'],
    ] as const) {
      const { json, status } = await change(body)
      const { details } = json.error as { details: { code: string }[] }
      assert.deepEqual([status, details.map(entry => entry.code)], [400, [code]])
    }
    assert.equal((await change({ expires_at: '2001-01-01T00:00:00Z' })).status, 200)
    assert.equal((await call('/api/v1/me', { key })).code, 'UNAUTHORIZED')
    assert.equal((await change({ expires_at: null })).status, 200)
    assert.equal((await call('/api/v1/me', { key })).status, 200)
    assert.equal((await call(item, { method: 'DELETE', key })).status, 204)
    assert.equal((await call('/api/v1/me', { key })).code, 'UNAUTHORIZED')
  })
})

test('keys of other users are not found', async () => {
  await withService(unlimited, async service => {
    const { call } = service
    const bobId = await createUser(service, 'bob')
    const bob = await keyFor(service, bobId)
    const ann = await keyFor(service, await createUser(service, 'ann'))
    const theirs = data(await call(path, { key: bob }))
    assert.equal(theirs.length, 1)
    const item = `${path}/${theirs[0]?.id}`
    for (const [method, body] of [
      ['GET', undefined],
      ['HEAD', undefined],
      ['PATCH', { name: 'x' }],
      ['PUT', { name: 'x' }],
      ['DELETE', undefined],
    ] as const) {
      assert.equal((await call(item, { method, key: ann, body })).status, 404, method)
    }
    assert.ok(data(await call(path, { key: ann })).every(entry => entry.user_id !== bobId))
    assert.deepEqual(data(await call(`/api/v1/users/${bobId}/api_keys`, { key: ann })), [])
    assert.deepEqual((await call(`/api/v1/users/${bobId}?include=api_keys`, { key: ann })).json.api_keys, [])
    assert.deepEqual(data(await call(`${path}?user_id=${bobId}`, { key: ann })), [])
    assert.equal((await call(path)).code, 'UNAUTHORIZED')
    assert.equal((await call('/api/v1/me', { key: bob })).status, 200)
  })
})

test('no response about keys contains a hash, may be cached, or shows the key a second time', async () => {
  await withService(unlimited, async service => {
    const { call, key: own } = service
    const created = await postKey(service, own)
    const key = String(created.json.key)
    assert.match(key, /^pk_/)
    assert.deepEqual([created.headers.get('etag'), created.headers.get('cache-control')], [null, 'no-store'])
    assert.equal(created.headers.get('location'), `${path}/${created.json.id}`)
    const read = [
      path,
      `${path}?cursor=`,
      `${path}/${created.json.id}`,
      '/api/v1/users/1/api_keys',
      '/api/v1/users/1?include=api_keys',
      '/api/v1/me?include=api_keys',
    ]
    for (const url of read) {
      for (const method of ['GET', 'HEAD']) {
        const { status, text, headers } = await call(url, { key: own, method })
        assert.deepEqual([status, headers.get('cache-control')], [200, 'no-store'], `${method} ${url}`)
        assert.equal(text === '', method === 'HEAD')
        assert.doesNotMatch(text, /"hash"|"key"/)
        assert.ok(!text.includes(key))
      }
    }
    for (const query of ['fields=hash', 'hash=x', 'sort=hash', 'fields=key']) {
      assert.equal((await call(`${path}?${query}`, { key: own })).code, 'BAD_REQUEST', query)
    }
  })
})

test('concurrent creates do not exceed the limit on keys', async () => {
  await withService({ ...unlimited, quotas: { keys: 4 } }, async service => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => postKey(service, service.key)))
    const codes = answers.map(entry => entry.code ?? entry.status)
    assert.deepEqual(codes.filter(code => code === 201).length, 3, codes.join())
    assert.ok(codes.every(code => code === 201 || code === 'CONFLICT'))
    const keys = data(await service.call(path, { key: service.key }))
    assert.equal(keys.length, 4)
    const last = `${path}/${keys.at(-1)?.id}`
    assert.equal((await service.call(last, { method: 'DELETE', key: service.key })).status, 204)
    assert.equal((await postKey(service, service.key)).status, 201)
    assert.equal((await postKey(service, service.key)).code, 'CONFLICT')
    const bob = await keyFor(service, await createUser(service, 'bob'))
    assert.equal((await postKey(service, bob)).status, 201)
  })
})
