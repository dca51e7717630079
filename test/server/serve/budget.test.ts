/** One rate limit for all requests of a user, through every transport. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { client, until } from '../../api/transports/service.ts'
import { earlyInMinute } from '../../engine/cluster/window.ts'
import { withService } from './service.ts'

const requestsPerMinute = 500

import { costPerRequest } from '../../../src/api/graphql/limits/transport-limits.ts'

const names = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'ratelimit',
  'ratelimit-policy',
]

test('REST, GraphQL over HTTP and WebSocket share one budget, and GraphQL operations draw their cost', async () => {
  await withService({ rateLimit: requestsPerMinute }, async ({ call, url, key }) => {
    await earlyInMinute()
    const remaining = async () => {
      const { headers } = await call('/api/v1/posts', { key })
      for (const name of names) assert.ok(headers.has(name), name)
      return Number(headers.get('x-ratelimit-remaining'))
    }
    const before = await remaining()
    assert.equal(before, requestsPerMinute - 1)
    const posts = 'posts(limit: 80) { id title }'
    const query = `{ a: ${posts} b: ${posts} c: ${posts} }`
    const response = await call('/graphql', { method: 'POST', key, body: { query } })
    assert.equal(response.status, 200, response.text)
    for (const name of names) assert.ok(response.headers.has(name), name)
    const { cost } = response.json.extensions as { readonly cost: number }
    assert.ok(cost > 2 * costPerRequest, `${cost}`)
    const drawn = Math.ceil(cost / costPerRequest)
    assert.equal(Number(response.headers.get('x-ratelimit-remaining')), before - drawn)
    const socket = client(`${url.replace('http', 'ws')}/graphql`, { Authorization: `Bearer ${key}` })
    let isDone = false
    socket.subscribe(
      { query },
      { next: () => {}, error: fault => assert.fail(JSON.stringify(fault)), complete: () => (isDone = true) },
    )
    await until(() => isDone)
    void socket.dispose()
    // Two GraphQL operations, and this request.
    assert.equal(await remaining(), before - 2 * drawn - 1)
  })
})

test('a page of events draws a request for each hundred events that it reads, also those of which it tells nothing', async () => {
  await withService({ rateLimit: 500 }, async ({ call, key }) => {
    await earlyInMinute()
    const items = Array.from({ length: 250 }, () => ({ title: 'x' }))
    assert.equal((await call('/api/v1/posts', { method: 'POST', key, body: items })).status, 201)
    const drawnBy = async (query: string) => {
      const [before, answer] = [
        await call('/api/v1/posts', { key }),
        await call(`/api/v1/events?after=0&${query}`, { key }),
      ]
      assert.equal(answer.status, 200, answer.text)
      const [had, has] = [before, answer].map(({ headers }) => Number(headers.get('x-ratelimit-remaining')))
      return Number(had) - Number(has)
    }
    assert.equal(await drawnBy('limit=50'), 1)
    assert.ok((await drawnBy('limit=1000')) >= 3)
    assert.ok((await drawnBy('limit=1000&types=post.deleted')) >= 3)
  })
})

test('a batch draws a request for each operation and a bulk create one for 20 items, unless the budget is too small', async () => {
  await withService({ rateLimit: 50 }, async ({ call, key }) => {
    await earlyInMinute()
    const post = (path: string, body: unknown) => call(`/api/v1/${path}`, { method: 'POST', key, body })
    const remainingOf = (answer: Awaited<ReturnType<typeof call>>) =>
      Number(answer.headers.get('x-ratelimit-remaining'))
    const operations = (count: number) => ({
      operations: Array.from({ length: count }, () => ({
        method: 'POST',
        path: '/posts',
        body: { title: 'x' },
      })),
    })
    const items = (count: number) => Array.from({ length: count }, () => ({ title: 'x' }))
    const before = remainingOf(await call('/api/v1/posts', { key }))
    const batch = await post('batch', operations(10))
    assert.equal(batch.status, 200, batch.text)
    assert.equal(remainingOf(batch), before - 10)
    assert.equal(remainingOf(await post('posts', items(20))), before - 11)
    assert.equal(remainingOf(await post('posts', items(41))), before - 14)
    for (const refused of [await post('batch', operations(100)), await post('posts', items(1000))]) {
      assert.equal(refused.status, 429, refused.text)
      assert.ok(refused.headers.has('retry-after'))
    }
    // Each refused one drew the single request that every request draws.
    const { json, headers } = await call('/api/v1/posts', { key })
    assert.equal(Number(headers.get('x-ratelimit-remaining')), before - 17)
    assert.equal((json as unknown as { meta: { total: number } }).meta.total, 71)
  })
})

test('an aggregate in a batch draws as much as on its own', async () => {
  await withService({ rateLimit: 50 }, async ({ call, key }) => {
    await earlyInMinute()
    const remainingOf = (answer: Awaited<ReturnType<typeof call>>) =>
      Number(answer.headers.get('x-ratelimit-remaining'))
    const inBatch = (...paths: readonly string[]) =>
      call('/api/v1/batch', {
        method: 'POST',
        key,
        body: { operations: paths.map(path => ({ method: 'GET', path })) },
      })
    const before = remainingOf(await call('/api/v1/posts/aggregate', { key }))
    assert.equal(remainingOf(await inBatch('/posts/aggregate')), before - 5)
    assert.equal(remainingOf(await inBatch('/posts/aggregate', '/posts/aggregate?title[eq]=x')), before - 15)
    const led = await inBatch('/posts/aggregate?author_id[eq]=1', '/users/1/posts/aggregate')
    assert.equal(remainingOf(led), before - 17)
    const refused = await inBatch(...Array.from({ length: 8 }, () => '/posts/aggregate'))
    assert.equal(refused.status, 429, refused.text)
  })
})
