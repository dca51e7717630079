/** The counters of a store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { withService } from '../../server/serve/service.ts'
import { until } from '../../setups/databases/replicated.ts'
import { blog, Client } from './blog.ts'

test('concurrent writes share one commit, and repeating a read hits the cache', async () => {
  const store = openSqlite(blog, { file: ':memory:' })
  try {
    const client = new Client(store)
    assert.deepEqual(store.counts(), {
      commits: 0,
      writes: 0,
      answerHits: 0,
      answerMisses: 0,
      cascaded: 0,
      failedCheckpoints: 0,
    })
    const creates = ['a', 'b', 'b', 'c'].map(name =>
      client.create('users', { name, email: `${name}@example.com` }),
    )
    const outcomes = await Promise.allSettled(creates)
    assert.equal(outcomes.filter(outcome => outcome.status === 'rejected').length, 1)
    assert.deepEqual(store.counts(), {
      commits: 1,
      writes: 3,
      answerHits: 0,
      answerMisses: 0,
      cascaded: 0,
      failedCheckpoints: 0,
    })
    for (let index = 0; index < 3; index++) await client.item('users', 1)
    assert.deepEqual(store.counts(), {
      commits: 1,
      writes: 3,
      answerHits: 2,
      answerMisses: 1,
      cascaded: 0,
      failedCheckpoints: 0,
    })
    await client.update('users', 2, { name: 'x' })
    await client.item('users', 1)
    assert.deepEqual(store.counts(), {
      commits: 2,
      writes: 4,
      answerHits: 2,
      answerMisses: 2,
      cascaded: 0,
      failedCheckpoints: 0,
    })
  } finally {
    await store.close()
  }
})

test('the counters of /metrics grow with each commit and cache hit', async () => {
  await withService({ rateLimit: 'off' }, async ({ call, key }) => {
    const metric = async (name: string) => {
      const { text } = await call('/metrics')
      return Number(new RegExp(`^portico_${name}_total (\\d+)$`, 'm').exec(text)?.[1])
    }
    const names = ['commits', 'committed_writes', 'answer_cache_hits', 'answer_cache_misses']
    const read = () => Promise.all(names.map(metric))
    const [first = 0] = await read()
    await call('/api/v1/me', { key })
    // The time when the key was last used is stored after the response.
    await until('stored', async () => (await metric('commits')) > first)
    const [commits = 0, writes = 0, hits = 0] = await read()
    for (const title of ['a', 'b']) await call('/api/v1/posts', { method: 'POST', key, body: { title } })
    for (let index = 0; index < 3; index++) await call('/api/v1/posts?fields=title')
    const after = await read()
    assert.deepEqual(after.slice(0, 2), [commits + 2, writes + 2])
    assert.ok(Number(after[2]) >= hits + 2)
    assert.ok(Number(after[3]) > 0)
  })
})
