/** Concurrent writes by two stores on one PostgreSQL database: the log has no gaps, and no answer is stale. */

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { user } from '../../../../src/base/principal.ts'
import type { Store } from '../../../../src/engine/store/store.ts'
import { cases } from '../../../cases.ts'
import { testOfOthers as test } from '../../../chosen.ts'
import { blog, Client, listOfPosts } from '../blog.ts'
import { postgres, type TestDatabase } from '../databases.ts'

async function withTwo(
  use: (stores: readonly [Store, Store], database: TestDatabase) => Promise<void>,
  options = {},
): Promise<void> {
  await postgres.within(async database => {
    const first = await database.open(blog, options)
    const second = await database.open(blog, options)
    try {
      await use([first, second], database)
    } finally {
      await first.close()
      await second.close()
    }
  })
}

test('a reader of the log gets every event once and in order, and the events of a row in the order of its changes', async () => {
  await withTwo(async (stores, database) => {
    const clients = stores.map(store => new Client(store))
    const [one] = clients
    assert.ok(one)
    const { id: author } = await one.create('users', { name: 'x', email: 'x@example.com' })
    const as = user(author, 'user', 'all')
    const posts = await Promise.all([1, 2, 3].map(() => one.create('posts', { title: '0' }, as)))
    let over = false
    const readers = stores.map(async ({ changes }) => {
      const seen: { event: number; id: number; title: string }[] = []
      for (let last = 0, idle = 0; idle < 3; ) {
        const found = await changes.after(last, 7)
        idle = found.length === 0 && over ? idle + 1 : 0
        seen.push(...found.map(({ event, id, row }) => ({ event, id, title: JSON.parse(row).title })))
        last = found.at(-1)?.event ?? last
        if (found.length === 0) await new Promise(resolve => setTimeout(resolve, 1))
      }
      return seen
    })
    const writers = clients.flatMap((client, index) =>
      Array.from({ length: 6 }, async (_, writer) => {
        for (let round = 0; round < 25; round++) {
          const title = `${index}.${writer}.${round}`
          if (round % 3 === 0) await client.create('posts', { title }, as)
          else await client.update('posts', posts[(writer + round) % 3]?.id ?? 0, { title }, as)
        }
      }),
    )
    await Promise.all(writers)
    over = true
    const all = await database.rows('SELECT id FROM _events ORDER BY id')
    const stored = new Map(
      (await database.rows('SELECT id, title FROM posts')).map(row => [Number(row.id), String(row.title)]),
    )
    for (const seen of await Promise.all(readers)) {
      assert.deepEqual(
        seen.map(({ event }) => event),
        all.map(({ id }) => Number(id)),
      )
      for (const { id } of posts) {
        assert.equal(
          seen.findLast(one => one.id === id)?.title,
          stored.get(id),
          'the last event of a row has its stored title',
        )
      }
    }
  })
})

test('an uncommitted event holds back the events after it, and is not skipped', async () => {
  await withTwo(async ([store], database) => {
    const client = new Client(store)
    const { id: author } = await client.create('users', { name: 'x', email: 'x@example.com' })
    const start = Number(await store.changes.last())
    const lock = '(20591::bigint << 48) | (SELECT last_value FROM _events_id_seq)'
    const event =
      "INSERT INTO _events (at, collection, item_id, kind, data) VALUES ('', 'posts', 7, 'created', '{}')"
    const begun = database.rows(
      `BEGIN; SELECT pg_advisory_xact_lock_shared(${lock}); ${event}; SELECT pg_sleep(0.5); COMMIT`,
    )
    await new Promise(resolve => setTimeout(resolve, 200))
    await client.create('posts', { title: 'after', author_id: author })
    assert.deepEqual(await store.changes.after(start, 10), [])
    const last = Promise.resolve(store.changes.last())
    await begun
    const found = await store.changes.after(start, 10)
    assert.deepEqual(
      found.map(({ event: number, id }) => [number - start, id]),
      [
        [1, 7],
        [2, 1],
      ],
    )
    assert.equal(await last, start + 2)
  })
})

test('a write acknowledged by one node is visible in every later answer of the other, under load too', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 3 }), fc.nat({ max: 6 }), async (deletes, readersOfOther) => {
      await withTwo(async stores => {
        const [writer, reader] = stores.map(store => new Client(store))
        assert.ok(writer && reader)
        const { id: author } = await writer.create('users', { name: 'x', email: 'x@example.com' })
        const as = user(author, 'user', 'all')
        const created = await Promise.all(
          Array.from({ length: 230 }, (_, index) => writer.create('posts', { title: `t${index}` }, as)),
        )
        const post = created.at(-1)?.id ?? 0
        let acknowledged = 0
        let over = false
        const writing = (async () => {
          for (let index = 1; index <= 25; index++) {
            await writer.update('posts', post, { title: `v${index}` }, as)
            acknowledged = index
            if (index % 8 === 0 && index / 8 <= deletes)
              await writer.remove('posts', created[index]?.id ?? 0, as)
          }
          over = true
        })()
        const deletedCount = () => Math.min(deletes, Math.floor(Math.max(0, acknowledged - 1) / 8))
        const readOne = async () => {
          while (!over) {
            const least = acknowledged
            const { title } = (await reader.item('posts', post, as)) as { title: string }
            const version = title.startsWith('v') ? Number(title.slice(1)) : 0
            assert.ok(version >= least, `${title} after v${least}`)
          }
        }
        const readDeep = async () => {
          while (!over) {
            const least = deletedCount()
            const page: Awaited<ReturnType<Client['list']>> = await reader.list(listOfPosts, [210, 50], as)
            const missing = 230 - Number(page.total)
            assert.ok(missing >= least)
            assert.equal(page.items?.length, 20 - missing)
            assert.equal(page.items?.at(-1)?.id, post)
          }
        }
        const reading = Array.from({ length: readersOfOther }, (_, index) =>
          index % 2 === 0 ? readOne() : readDeep(),
        )
        await Promise.all([writing, ...reading])
        const { title } = (await reader.item('posts', post, as)) as { title: string }
        assert.equal(title, 'v25')
      })
    }),
    cases(8, 8),
  )
})
