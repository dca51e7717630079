/** Bulk creates and batches retried with their `Idempotency-Key` on any node. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { type Fixture, sharedFixtures } from '../../identity/conformance/server.ts'
import { type Answer, call } from '../../server/serve/service.ts'
import { nodeSetups } from '../../setups/setups.ts'
import { retryConflicts } from './retry.ts'

function poster({ urls, ann }: Fixture) {
  let next = 0
  return (path: string, body: unknown, key?: string): Promise<Answer> =>
    call(`${urls[next++ % urls.length]}/api/v1${path}`, {
      method: 'POST',
      key: ann.key,
      body,
      ...(key !== undefined && { headers: { 'Idempotency-Key': key } }),
    })
}

const replayedHeader = ({ headers }: Answer) => headers.get('Idempotent-Replayed')

async function countOf({ call: ask, ann }: Fixture, marker: string): Promise<number> {
  const { json } = await ask(`/api/v1/posts?title[contains]=${marker}`, { key: ann.key })
  return (json.meta as { total: number }).total
}

for (const setup of nodeSetups) {
  suite(`several writes with an Idempotency-Key on ${setup.name}`, () => {
    const withFixture = sharedFixtures(setup)

    test('a bulk create is executed once, and its response replayed', async () => {
      await withFixture(async fixture => {
        const post = poster(fixture)
        const [marker, key] = [randomUUID(), randomUUID()]
        const items = Array.from({ length: 50 }, (_, index) => ({ title: `${marker} ${index}` }))
        const refused = await post('/posts', [...items, { nonsense: 1 }], key)
        assert.equal(refused.status, 400)
        const answers = await Promise.all(
          Array.from({ length: 6 }, () => retryConflicts(() => post('/posts', items, key))),
        )
        assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
        assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
        assert.equal(answers.filter(answer => replayedHeader(answer) === null).length, 1)
        assert.equal(await countOf(fixture, marker), 50)
        assert.equal((await post('/posts', items.slice(1), key)).code, 'IDEMPOTENCY_KEY_REUSED')

        const createdItems = answers[0]?.json.data as { id: number }[]
        const deleted = [7, 8, 31]
        for (const index of deleted) {
          const path = `/api/v1/posts/${createdItems[index]?.id}`
          await fixture.call(path, { method: 'DELETE', key: fixture.ann.key })
        }
        const second = await post('/posts', items, key)
        assert.deepEqual(second.json, {
          data: createdItems.map((item, index) => (deleted.includes(index) ? { id: item.id } : item)),
        })
        const fewer = await fixture.call('/api/v1/api_keys', {
          method: 'POST',
          key: fixture.ann.key,
          body: { name: 'fewer', scopes: ['write:post'] },
        })
        const { ann } = fixture
        const byFewer = poster({ ...fixture, ann: { ...ann, key: String(fewer.json.key) } })
        const short = await byFewer('/posts', items, key)
        assert.deepEqual(short.json, { data: createdItems.map(({ id }) => ({ id })) })
      })
    })

    test('a test of a webhook is sent once, whichever nodes get the request', async () => {
      await withFixture(async fixture => {
        const post = poster(fixture)
        const webhook = { url: 'https://example.com/hook', types: ['*'] }
        const path = `/webhooks/${(await post('/webhooks', webhook)).json.id}`
        const key = randomUUID()
        const answers = await Promise.all(
          Array.from({ length: 4 }, () => retryConflicts(() => post(`${path}/test`, undefined, key))),
        )
        assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
        assert.equal(answers.filter(answer => replayedHeader(answer) === null).length, 1)
        const listed = await fixture.call(`/api/v1${path}/deliveries?type=webhook.test`, {
          key: fixture.ann.key,
        })
        const ids = (listed.json.data as readonly { readonly id: number }[]).map(({ id }) => id)
        assert.deepEqual([ids.length, new Set(answers.map(({ json }) => json.id))], [1, new Set(ids)])
        const again = await post(`${path}/test`, undefined, key)
        assert.deepEqual([again.json.status, replayedHeader(again)], ['failed', 'true'], again.text)
      })
    })

    test('a batch is executed once, and its response replayed', async () => {
      await withFixture(async fixture => {
        const post = poster(fixture)
        const [marker, key] = [randomUUID(), randomUUID()]
        const create = { method: 'POST', path: '/posts', as: 'post', body: { title: marker } }
        const operations = [
          create,
          { method: 'PATCH', path: '/posts/$post.id', body: { body: 'changed' } },
          { method: 'GET', path: '/posts/$post.id' },
          { method: 'GET', path: '/posts?per_page=1' },
          { ...create, as: 'other' },
          { ...create, as: 'third' },
          { method: 'DELETE', path: '/posts/$third.id' },
          { method: 'DELETE', path: '/posts/$other.id' },
        ]
        const missing = { method: 'DELETE', path: '/posts/999999999' }
        const refused = await post('/batch', { operations: [...operations, missing] }, key)
        assert.equal(refused.code, 'NOT_FOUND', refused.text)
        assert.equal(await countOf(fixture, marker), 0)
        const sent = Array.from({ length: 6 }, () =>
          retryConflicts(() => post('/batch', { operations }, key)),
        )
        const answers = await Promise.all(sent)
        const first =
          answers.find(answer => replayedHeader(answer) === null) ?? assert.fail('all are replayed')
        assert.equal(first.status, 200, first.text)
        assert.equal(await countOf(fixture, marker), 1)
        const results = first.json.results as { status: number; body: { id: number } | null }[]
        // The items that the batch itself deleted no longer exist.
        const expected = results.map((result, index) =>
          [4, 5].includes(index) ? { ...result, body: { id: result.body?.id } } : result,
        )
        const others = answers.filter(answer => answer !== first)
        assert.equal(others.length, 5)
        for (const again of others) {
          assert.deepEqual(
            [again.status, again.json, replayedHeader(again)],
            [200, { results: expected }, 'true'],
          )
        }
      })
    })

    test('a read-only batch refuses a key', async () => {
      await withFixture(async fixture => {
        const post = poster(fixture)
        const key = randomUUID()
        const operations = [{ method: 'GET', path: '/posts' }]
        for (let times = 0; times < 2; times++) {
          const { status, headers } = await post('/batch', { operations }, key)
          assert.deepEqual([status, headers.get('Idempotent-Replayed')], [200, null])
        }
      })
    })
  })
}
