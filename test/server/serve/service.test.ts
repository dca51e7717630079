import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { serve } from '../../../src/server/serve/serve.ts'
import blog from '../../models/blog.ts'
import { sendRaw } from '../http/raw-client.ts'
import { withService } from './service.ts'

const limitHeaders = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'ratelimit',
  'ratelimit-policy',
]

test('health and readiness checks need no credential and draw no budget', async () => {
  await withService({ rateLimit: 1 }, async ({ call }) => {
    for (let index = 0; index < 3; index++) {
      for (const path of ['/healthz', '/readyz']) {
        const { status, json, headers } = await call(path)
        assert.deepEqual([status, json], [200, { status: 'ok' }])
        assert.equal(headers.get('x-ratelimit-limit'), null)
        assert.equal(headers.get('cache-control'), 'no-store')
      }
    }
    const post = await call('/healthz', { method: 'POST', body: {} })
    assert.deepEqual([post.code, post.headers.get('allow')], ['METHOD_NOT_ALLOWED', 'GET, HEAD'])
    assert.equal((await call('/api/v1/posts')).status, 200)
  })
})

test('metrics count requests by route, refusals and known credentials', async () => {
  await withService({ rateLimit: { user: 2, address: 100 } }, async ({ call, key }) => {
    for (let index = 0; index < 9; index++) await call('/api/v1/posts', { key })
    await call('/api/v1/nothing-of-this-name')
    const { text, headers } = await call('/metrics')
    assert.match(headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
    assert.match(text, /_count\{method="GET",route="\/api\/v1\/posts",status="2xx"\} [2-4]$/m)
    assert.match(text, /_count\{method="GET",route="other",status="4xx"\} 1$/m)
    assert.match(text, /^portico_rate_limited_total [5-7]$/m)
    assert.match(text, /^portico_credential_cache_hits_total 8$/m)
    assert.match(text, /^portico_credential_cache_misses_total 1$/m)
    assert.match(text, /^portico_http_requests_in_flight 1$/m)
    assert.match(text, /^process_resident_memory_bytes /m)
    assert.doesNotMatch(text, /nothing-of-this-name|pk_/)
  })
})

test('every response of the API has the rate limit headers, errors included', async () => {
  await withService({}, async ({ call, key }) => {
    const rows = [
      ['/api/v1/posts', key, 200, '1000'],
      ['/api/v1/posts', undefined, 200, '120'],
      ['/api/v1/posts/999', key, 404, '1000'],
      ['/api/v1/nothing', undefined, 404, '120'],
      ['/nothing', undefined, 404, '120'],
      ['/api/v1/posts?nothing=1', key, 400, '1000'],
      ['/api/v1/users', undefined, 401, '120'],
      ['/api/v1/posts', 'pk_wrong', 401, '120'],
      ['/api/v1/openapi.json', undefined, 200, '120'],
    ] as const
    for (const [path, credential, status, limit] of rows) {
      const { headers, ...answer } = await call(path, credential === undefined ? {} : { key: credential })
      assert.equal(answer.status, status, `${path}: ${answer.text}`)
      for (const name of limitHeaders) assert.ok(headers.has(name), `${path} ${name}`)
      assert.equal(headers.get('x-ratelimit-limit'), limit, path)
      const remainingSeconds = Number(headers.get('x-ratelimit-reset')) - Date.now() / 1000
      assert.ok(remainingSeconds > -1 && remainingSeconds <= 60)
      assert.equal(headers.get('api-version'), '1')
      assert.ok(headers.get('x-request-id'))
    }
  })
})

test('a request over the limit is a 429 in the error format, and does not affect other users', async () => {
  await withService({ rateLimit: 3 }, async ({ call, key }) => {
    const statuses = []
    for (let index = 0; index < 8; index++) statuses.push(await call('/api/v1/posts'))
    const refused = statuses.find(answer => answer.status === 429)
    assert.equal(refused?.code, 'RATE_LIMITED')
    assert.equal(refused.headers.get('x-ratelimit-remaining'), '0')
    assert.ok(Number(refused.headers.get('retry-after')) >= 1)
    assert.equal((await call('/api/v1/posts', { key })).status, 200)
  })
})

test('without a limit there are no rate limit headers', async () => {
  await withService({ rateLimit: 'off' }, async ({ call, key }) => {
    const { headers, status } = await call('/api/v1/posts', { key })
    assert.equal(status, 200)
    for (const name of limitHeaders) assert.equal(headers.get(name), null)
  })
})

test('a forged X-Forwarded-For does not give a new budget', async () => {
  await withService({ rateLimit: 2 }, async ({ call }) => {
    const statuses = []
    for (let index = 0; index < 6; index++) {
      statuses.push(
        (await call('/api/v1/posts', { headers: { 'X-Forwarded-For': `192.0.2.${index}` } })).status,
      )
    }
    assert.ok(statuses.includes(429), statuses.join())
  })
})

test('a body is read only from permitted callers, and its size is limited', async () => {
  await withService({ bodyLimit: '200 B', rateLimit: 'off' }, async ({ call, key, port }) => {
    const large = { title: 'x'.repeat(300) }
    assert.equal(
      (await call('/api/v1/posts', { method: 'POST', key, body: large })).code,
      'PAYLOAD_TOO_LARGE',
    )
    assert.equal(
      (await call('/api/v1/posts', { method: 'POST', key: 'pk_no', body: large })).code,
      'UNAUTHORIZED',
    )
    const output = await sendRaw(
      port,
      'POST /api/v1/posts HTTP/1.1\r\nHost: x\r\nContent-Length: 52428800\r\nConnection: close\r\n\r\n{"a',
    )
    assert.match(output, /^HTTP\/1\.1 413 /)
    const options = await sendRaw(port, 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    assert.match(options, /^HTTP\/1\.1 204 .*^Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r$/ims)
    assert.equal(((await call('/api/v1/posts')).json.meta as { total: number }).total, 0)
  })
})

test('the first start creates an administrator once; later starts create none', async () => {
  await withService({}, async ({ service, file, call, key }) => {
    const { firstAdministrator: administrator } = service
    assert.equal(administrator?.email, 'admin@example.com')
    assert.ok((administrator.password ?? '').length >= 20)
    assert.equal(administrator.key, undefined, 'a given key is not shown')
    const me = await call('/api/v1/me', { key })
    assert.equal(me.json.role, 'admin')
    assert.ok(!('password_hash' in me.json))
    const settings = { port: 0, host: '127.0.0.1', database: file, logLevel: 'silent' } as const
    const second = await serve(blog, { ...settings, adminEmail: 'other@example.com' })
    assert.equal(second.firstAdministrator, undefined)
    await second.close()
    const users = (await call('/api/v1/users', { key })).json as { meta: { total: number } }
    assert.equal(users.meta.total, 1)
  })
})

test('a stopping service serves for a while, is not ready, and closes connections with their next response', async () => {
  await withService({ shutdown: { delay: '2 s' } }, async ({ service, call }) => {
    assert.equal((await call('/readyz')).headers.get('connection'), 'keep-alive')
    const closed = service.close()
    const ready = await call('/readyz')
    assert.equal(ready.status, 503)
    assert.equal(ready.headers.get('connection'), 'close')
    const list = await call('/api/v1/posts')
    assert.equal(list.status, 200)
    assert.equal(list.headers.get('connection'), 'close')
    assert.equal((await call('/healthz')).status, 200)
    await closed
    await assert.rejects(call('/healthz'))
  })
})

test('a closed service accepts no connections, and closing it again has no effect', async () => {
  await withService({}, async ({ service, url, file }) => {
    await Promise.all([service.close(), service.close()])
    await assert.rejects(fetch(`${url}/healthz`))
    assert.ok(existsSync(file))
  })
})

test('an invalid model or setting rejects with every fault, and leaves nothing open', async () => {
  await assert.rejects(serve(blog, { port: 99_999, bodyLimit: '0 B' }), (error: Error) => {
    return error.name === 'SettingsError' && /`port`.*\n.*`bodyLimit`/s.test(error.message)
  })
  const wrong = { kind: 'model', collections: { Posts: undefined } } as unknown as typeof blog
  await assert.rejects(serve(wrong, { port: 0 }))
})

test('a port in use rejects', async () => {
  await withService({}, async ({ port, file }) => {
    const settings = { port, host: '127.0.0.1', database: `${file}-2`, logLevel: 'silent' } as const
    await assert.rejects(serve(blog, settings), { code: 'EADDRINUSE' })
  })
})
