/** Reading the change log: complete, in commit order, with notifications. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Awaitable } from '../../../../src/base/awaitable.ts'
import { blog, Client } from '../blog.ts'
import { databaseKinds, type TestDatabase } from '../databases.ts'

for (const { name, within } of databaseKinds) {
  const withClient = (use: (client: Client, database: TestDatabase) => Promise<void>): Promise<void> =>
    within(async database => {
      const client = new Client(await database.open(blog))
      try {
        await client.create('users', { name: 'Ada', email: 'ada@example.com' })
        await use(client, database)
      } finally {
        await client.store.close()
      }
    })

  test(`${name}: the log returns the events after an id in commit order, each with its row`, async () => {
    await withClient(async client => {
      const { changes } = client.store
      const start = Number(await changes.last())
      const { id } = await client.create('posts', { title: 'a', author_id: 1 })
      await client.update('posts', id, { title: 'b' })
      await client.remove('posts', id)
      const logged = await changes.after(start, 10)
      assert.deepEqual(
        logged.map(({ event, collection, kind, id: item }) => ({ event, collection, kind, item })),
        [
          { event: start + 1, collection: 'posts', kind: 'created', item: id },
          { event: start + 2, collection: 'posts', kind: 'updated', item: id },
          { event: start + 3, collection: 'posts', kind: 'deleted', item: id },
        ],
      )
      assert.deepEqual(
        logged.map(({ row }) => JSON.parse(row).title),
        ['a', 'b', 'b'],
      )
      assert.equal(await changes.last(), start + 3)
      assert.deepEqual(
        (await changes.after(start, 2)).map(change => change.event),
        [start + 1, start + 2],
      )
      assert.deepEqual(await changes.after(start + 3, 10), [])
    })
  })

  test(`${name}: a read with a byte limit ends with the row that reaches the limit`, async () => {
    await withClient(async client => {
      const { changes } = client.store
      const start = Number(await changes.last())
      const body = 'ä'.repeat(5_000)
      for (let post = 0; post < 5; post++) await client.create('posts', { title: 'a', body, author_id: 1 })
      await client.update('posts', 1, { title: 'b' })
      const read = async (limit: number, maxBytes: number) =>
        (await changes.after(start, limit, maxBytes)).map(change => change.event - start)
      assert.deepEqual(await read(10, 1), [1])
      assert.deepEqual(await read(10, 15_000), [1, 2])
      assert.deepEqual(await read(10, 25_000), [1, 2, 3])
      assert.deepEqual(await read(2, 1_000_000), [1, 2])
      assert.deepEqual(await read(10, 1_000_000), [1, 2, 3, 4, 5, 6])
      // The row of an update counts together with the row before it.
      const update = await changes.after(start + 5, 10, 1_000_000)
      assert.equal(update.length, 1)
      assert.deepEqual(await changes.after(start + 6, 10, 1_000_000), [])
    })
  })

  test(`${name}: a logged row contains no internal fields`, async () => {
    await withClient(async ({ store }) => {
      const [created] = await store.changes.after(0, 1)
      const row = JSON.parse(created?.row ?? '{}')
      assert.equal(row.email, 'ada@example.com')
      assert.ok(!('password_hash' in row))
    })
  })

  test(`${name}: a listener is notified of commits once they can be read, until it unsubscribes`, async () => {
    await withClient(async client => {
      const { changes } = client.store
      const notified: Awaitable<number>[] = []
      const stop = changes.onCommit(() => notified.push(changes.last()))
      const start = Number(await changes.last())
      await Promise.all(['a', 'b'].map(title => client.create('posts', { title, author_id: 1 })))
      assert.equal(await notified.at(-1), start + 2)
      assert.ok(notified.length <= 2)
      const before = notified.length
      await assert.rejects(client.create('posts', { title: 'c', author_id: 99 }))
      stop()
      await client.create('posts', { title: 'd', author_id: 1 })
      assert.ok(notified.length <= before + 1)
      assert.equal(await notified.at(-1), start + 2)
    })
  })

  test(`${name}: looking finds the commits of another store`, async () => {
    await withClient(async (client, { open }) => {
      const otherClient = new Client(await open(blog))
      const { changes } = client.store
      const start = Number(await changes.last())
      await new Promise(resolve => setImmediate(resolve))
      const notified: string[] = []
      const stop = changes.onCommit(from => notified.push(from))
      await otherClient.create('posts', { title: 'elsewhere', author_id: 1 })
      await changes.poll()
      assert.deepEqual(notified, ['elsewhere'])
      const [change] = await changes.after(start, 10)
      assert.equal(JSON.parse(change?.row ?? '{}').title, 'elsewhere')
      await changes.poll()
      assert.deepEqual(notified, ['elsewhere'], 'no new commit')
      await client.create('posts', { title: 'here', author_id: 1 })
      await changes.poll()
      assert.deepEqual(notified, ['elsewhere', 'here'])
      stop()
      await otherClient.store.close()
    })
  })
}
