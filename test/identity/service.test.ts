import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateKey } from '../../src/identity/keys/key.ts'
import { type Answer, type TestService, withService } from '../server/serve/service.ts'

/** RFC 9728, 5.1 */
const metadataAt = (url: string) => `resource_metadata="${url}/.well-known/oauth-protected-resource/api/v1"`

const unlimited = { rateLimit: 'off' } as const

interface CreatedUser {
  readonly id: number
  readonly email: string
}

async function createUser({ call, key }: TestService, name: string, role = 'user'): Promise<CreatedUser> {
  const body = { name, email: `${name}@example.com`, role }
  const { json, status, text } = await call('/api/v1/users', { method: 'POST', key, body })
  assert.equal(status, 201, text)
  return json as unknown as CreatedUser
}

async function createKey({ call, key }: TestService, body: object = {}, by = key): Promise<Answer> {
  return call('/api/v1/api_keys', { method: 'POST', key: by, body: { name: 'test', ...body } })
}

function keyOf(answer: Answer): string {
  assert.equal(answer.status, 201, answer.text)
  return String(answer.json.key)
}

test('a credential is accepted in each of its places, and refused in each', async () => {
  await withService(unlimited, async ({ call, key, url }) => {
    const wrong = generateKey()
    const rows: readonly [Record<string, string>, string, number][] = [
      [{}, '', 200],
      [{ Authorization: `Bearer ${key}` }, '', 200],
      [{ Authorization: `bearer ${key}` }, '', 200],
      [{ 'X-API-Key': key }, '', 200],
      [{}, `?api_key=${key}`, 200],
      [{}, `?per_page=1&api_key=${key}&page=1`, 200],
      [{ Authorization: `Bearer ${key}`, 'X-API-Key': key }, `?api_key=${key}`, 200],
      [{ Authorization: `Bearer ${wrong}` }, '', 401],
      [{ Authorization: `Bearer ${key.slice(0, -1)}` }, '', 401],
      [{ Authorization: `Bearer ${key}x` }, '', 401],
      [{ Authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' }, '', 401],
      [{ Authorization: 'Basic dTpw' }, '', 401],
      [{ 'X-API-Key': wrong }, '', 401],
      [{ 'X-API-Key': '' }, '', 401],
      [{}, `?api_key=${wrong}`, 401],
      [{}, '?api_key=', 401],
      [{ Authorization: `Bearer ${key}`, 'X-API-Key': wrong }, '', 400],
      [{ 'X-API-Key': key }, `?api_key=${wrong}`, 400],
      [{}, `?api_key=${key}&api_key=${wrong}`, 400],
    ]
    for (const [headers, query, status] of rows) {
      const answer = await call(`/api/v1/posts${query}`, { headers })
      assert.equal(answer.status, status, `${JSON.stringify(headers)} ${query}: ${answer.text}`)
      assert.equal(answer.code, { 200: undefined, 400: 'BAD_REQUEST', 401: 'UNAUTHORIZED' }[status])
      assert.ok(!answer.text.includes('pk_') && !(answer.headers.get('link') ?? '').includes('api_key'))
      const refused = `Bearer realm="api", error="invalid_token", ${metadataAt(url)}`
      const challenge = status === 401 ? refused : null
      assert.equal(answer.headers.get('www-authenticate'), challenge)
    }
  })
})

test('a wrong credential gets 401 on every path', async () => {
  await withService(unlimited, async ({ call }) => {
    const key = generateKey()
    for (const path of [
      '/api/v1/posts',
      '/api/v1/posts/1',
      '/api/v1/openapi.json',
      '/api/v1/nothing',
      '/',
      '/docs',
    ]) {
      const answer = await call(path, { key })
      assert.deepEqual([answer.status, answer.code], [401, 'UNAUTHORIZED'], path)
      const post = await call(path, { key, method: 'POST', body: {} })
      assert.equal(post.status, 401, path)
    }
    for (const path of ['/healthz', '/readyz', '/metrics'])
      assert.equal((await call(path, { key })).status, 200)
  })
})

test('without a credential, the challenge names no error', async () => {
  await withService(unlimited, async ({ call, url }) => {
    for (const path of ['/api/v1/users', '/api/v1/me', '/api/v1/users?q=api_key=x']) {
      const answer = await call(path)
      assert.deepEqual(
        [answer.status, answer.headers.get('www-authenticate')],
        [401, `Bearer realm="api", ${metadataAt(url)}`],
        path,
      )
    }
  })
})

test('a key is shown once, in the response that creates it, and works at once', async () => {
  await withService(unlimited, async service => {
    const created = await createKey(service)
    const key = keyOf(created)
    assert.match(key, /^pk_[0-9A-Za-z]{38}$/)
    assert.deepEqual(created.json.scopes, ['*'])
    assert.equal(created.json.prefix, key.slice(0, 10))
    assert.equal(created.headers.get('cache-control'), 'no-store')
    assert.equal((await service.call('/api/v1/users', { key })).status, 200)
    for (const path of ['/api/v1/api_keys', `/api/v1/api_keys/${created.json.id}`]) {
      const { text, status } = await service.call(path, { key: service.key })
      assert.equal(status, 200)
      assert.ok(text.includes(key.slice(0, 10)) && !text.includes(key))
      assert.doesNotMatch(text, /"hash"|"key"/)
    }
  })
})

test('a revoked key is refused by the very next request', async () => {
  await withService(unlimited, async service => {
    const created = await createKey(service)
    const key = keyOf(created)
    assert.equal((await service.call('/api/v1/posts', { key })).status, 200)
    const path = `/api/v1/api_keys/${created.json.id}`
    assert.equal((await service.call(path, { key, method: 'DELETE' })).status, 204)
    assert.equal((await service.call('/api/v1/posts', { key })).code, 'UNAUTHORIZED')
  })
})

test('an expired key is refused', async () => {
  await withService(unlimited, async service => {
    const past = keyOf(await createKey(service, { expires_at: '2020-01-01T00:00:00Z' }))
    assert.equal((await service.call('/api/v1/posts', { key: past })).code, 'UNAUTHORIZED')
    const soon = await createKey(service, { expires_at: '2999-01-01T00:00:00Z' })
    const key = keyOf(soon)
    assert.equal((await service.call('/api/v1/posts', { key })).status, 200)
    const path = `/api/v1/api_keys/${soon.json.id}`
    const body = { expires_at: '2020-01-01T00:00:00Z' }
    assert.equal((await service.call(path, { key: service.key, method: 'PATCH', body })).status, 200)
    assert.equal((await service.call('/api/v1/posts', { key })).code, 'UNAUTHORIZED')
  })
})

test('only its owner can see, change or revoke a key', async () => {
  await withService(unlimited, async service => {
    const { call, key } = service
    const own = await createKey(service)
    const { id } = await createUser(service, 'ann')
    const { withKeyOf } = await keysOf(service)
    const ann = await withKeyOf('ann@example.com')
    assert.equal((await call('/api/v1/me', { key: ann })).json.id, id)
    const path = `/api/v1/api_keys/${own.json.id}`
    for (const [method, body] of [['GET'], ['DELETE'], ['PATCH', { name: 'x' }]] as const) {
      assert.equal((await call(path, { key: ann, method, body })).code, 'NOT_FOUND', method)
    }
    const list = (await call('/api/v1/api_keys', { key: ann })).json as { data: unknown[] }
    assert.equal(list.data.length, 1)
    assert.equal((await call(path, { key })).status, 200)
    const forged = await createKey(service, { user_id: 1 }, ann)
    assert.equal(forged.code, 'VALIDATION_FAILED')
    assert.equal((await call('/api/v1/api_keys')).code, 'UNAUTHORIZED')
  })
})

/** Creates keys for other users, as an operator does. */
async function keysOf({ file }: TestService) {
  const { checkModel } = await import('../../src/model/check/check.ts')
  const { createGuard } = await import('../../src/engine/plan/guard/guard.ts')
  const { createRun, openStore } = await import('../../src/server/serve/store.ts')
  const { readSettings } = await import('../../src/server/config/config.ts')
  const { createKeyFor } = await import('../../src/tools/cli/commands/keys.ts')
  const { default: blog } = await import('../models/blog.ts')
  const model = checkModel(blog)
  const withKeyOf = async (user: string, scopes?: string) => {
    const store = await openStore(model, readSettings({ given: { database: file } }))
    try {
      const run = createRun(createGuard(model), store)
      return (
        await createKeyFor({ model, run }, { user, scopes, name: undefined, expires: undefined })
      ).trim()
    } finally {
      await store.close()
    }
  }
  return { withKeyOf }
}

test('a key is limited to its scopes, and cannot create a key with more', async () => {
  await withService(unlimited, async service => {
    const key = keyOf(await createKey(service, { scopes: ['read:post', 'write:api_key'] }))
    assert.equal((await service.call('/api/v1/posts', { key })).status, 200)
    assert.equal((await service.call('/api/v1/users', { key })).code, 'INSUFFICIENT_SCOPE')
    const post = { method: 'POST', key, body: { title: 'x' } }
    assert.equal((await service.call('/api/v1/posts', post)).code, 'INSUFFICIENT_SCOPE')
    const child = await createKey(service, {}, key)
    assert.deepEqual(child.json.scopes, ['read:post', 'write:api_key'])
    assert.equal((await createKey(service, { scopes: ['*'] }, key)).code, 'FORBIDDEN')
    const more = await createKey(service, { scopes: ['write:post'] }, key)
    assert.equal(more.code, 'FORBIDDEN')
    assert.match(more.text, /write:post/)
    const less = await createKey(service, { scopes: ['read:api_key'] }, key)
    assert.deepEqual(less.json.scopes, ['read:api_key'])
  })
})

test('a user who loses the administrator role loses it in every key at once', async () => {
  await withService(unlimited, async service => {
    const { id } = await createUser(service, 'bob', 'admin')
    const bob = await (await keysOf(service)).withKeyOf('bob@example.com')
    const make = (name: string) =>
      service.call('/api/v1/users', { method: 'POST', key: bob, body: { name, email: `${name}@x.example` } })
    assert.equal((await make('one')).status, 201)
    const path = `/api/v1/users/${id}`
    const demoted = await service.call(path, { method: 'PATCH', key: service.key, body: { role: 'user' } })
    assert.equal(demoted.status, 200, demoted.text)
    assert.equal((await make('two')).code, 'FORBIDDEN')
    assert.equal((await service.call(path, { method: 'DELETE', key: service.key })).status, 204)
    assert.equal((await service.call('/api/v1/posts', { key: bob })).code, 'UNAUTHORIZED')
  })
})

test('a user may have as many keys as the setting allows', async () => {
  await withService({ ...unlimited, quotas: { keys: 2 } }, async service => {
    assert.equal((await createKey(service)).status, 201)
    assert.equal((await createKey(service)).code, 'CONFLICT')
  })
})

test('wrong credentials count towards the rate limit of the address, not of a user', async () => {
  await withService({ rateLimit: { user: 50, address: 5 } }, async ({ call, key }) => {
    const codes = []
    for (let at = 0; at < 7; at++) {
      const answer = await call('/api/v1/posts', { key: generateKey() })
      codes.push(answer.code)
      assert.equal(answer.headers.get('x-ratelimit-limit'), '5')
      if (answer.code === 'RATE_LIMITED') assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d?$/)
    }
    // A new window may begin between two of them.
    assert.ok(codes.includes('UNAUTHORIZED') && codes.includes('RATE_LIMITED'), codes.join())
    const own = await call('/api/v1/posts', { key })
    assert.deepEqual([own.status, own.headers.get('x-ratelimit-limit')], [200, '50'])
  })
})
