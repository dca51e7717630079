/** The columns of the change log: the row before, the changed fields, the time and the author; and those of later versions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { app, type Principal, system, user } from '../../../../src/base/principal.ts'
import type { LoggedChange } from '../../../../src/engine/plan/change-feed.ts'
import { addedColumns as postgresColumns } from '../../../../src/engine/store/schema/postgres/ddl.ts'
import { addedColumns as sqliteColumns } from '../../../../src/engine/store/schema/sqlite/ddl.ts'
import { blog, Client } from '../blog.ts'
import { databaseKinds } from '../databases.ts'
import { storage } from '../write/storage.ts'

const ada = user(1, 'admin', 'all')
const adaThroughApp = user(1, 'admin', 'all', undefined, undefined, {
  app: { id: 7, name: 'Seven' },
  grant: 'grant:x',
})
const now = () => Date.parse('2026-01-02T03:04:05.678Z')

/** The changes after an event, with their rows parsed. */
async function changesOf({ store }: Client, after: number) {
  const changes: readonly LoggedChange[] = await store.changes.after(after, 100)
  return changes.map(({ row, before, changed, ...others }) => ({
    ...others,
    row: JSON.parse(row),
    before: before === null ? null : JSON.parse(before),
    changed,
  }))
}

const olderInsert =
  "INSERT INTO _events (at, collection, item_id, kind, data, changed, before) VALUES ('2026-01-01T00:00:00.000Z', 'posts', 1, 'updated', '{\"id\":1}', '[\"title\"]', '{\"id\":1}')"

for (const { name, within } of databaseKinds) {
  test(`${name}: every change is logged with its time, user and app, and an update also with the row before it`, () =>
    within(async database => {
      const client = new Client(await database.open(blog, { now }))
      await client.create('users', { name: 'Ada', email: 'ada@example.com', password_hash: 'secret' })
      const { id } = await client.create('posts', { title: 'a', author_id: 1 }, ada)
      await client.update('posts', id, { title: 'b', body: null }, adaThroughApp)
      await client.replace('posts', id, { title: 'c', body: 'x', author_id: 1 }, ada)
      await client.update('users', 1, { name: 'Eve', password_hash: 'other' })
      await client.remove('posts', id, adaThroughApp)
      const changes = await changesOf(client, 0)
      assert.deepEqual(
        changes.map(({ kind, userId, appId, changed, type }) => [kind, userId, appId, changed, type]),
        [
          ['created', null, null, null, null],
          ['created', 1, null, null, null],
          ['updated', 1, 7, ['title'], null],
          ['updated', 1, null, ['title', 'body'], null],
          ['updated', null, null, ['name'], null],
          ['deleted', 1, 7, null, null],
        ],
      )
      assert.deepEqual(new Set(changes.map(({ at }) => at)), new Set(['2026-01-02T03:04:05.678Z']))
      const [person, created, second, third, renamed, deleted] = changes
      assert.deepEqual(second?.before, created?.row)
      assert.deepEqual(third?.before, second?.row)
      assert.deepEqual(renamed?.before, person?.row)
      assert.deepEqual([person?.before, created?.before, deleted?.before], [null, null, null])
      assert.ok(!JSON.stringify(changes).includes('secret'))
      await client.store.close()
    }))

  test(`${name}: a change by an app without a user is logged with the app alone`, () =>
    within(async database => {
      const client = new Client(await database.open(storage), storage)
      const robot: Principal = app('robot', new Set(['write:box']), {
        app: { id: 3, name: 'Robot' },
        grant: null,
      })
      await client.create('boxes', { label: 'a' }, robot)
      const [created] = await changesOf(client, 0)
      assert.deepEqual([created?.userId, created?.appId], [null, 3])
      await client.store.close()
    }))

  test(`${name}: the references and items that a deletion clears or removes are logged with the author of the deletion`, () =>
    within(async database => {
      const client = new Client(await database.open(storage), storage)
      const [outer, other] = [
        await client.create('boxes', { label: 'outer' }),
        await client.create('boxes', { label: 'other' }),
      ]
      await client.create('things', { name: 'in', box_id: outer.id })
      const both = await client.create('things', { name: 'b', box_id: other.id, spare_box_id: outer.id })
      const start = Number(await client.store.changes.last())
      const [was] = (await changesOf(client, start - 1)).map(({ row }) => row)
      await client.remove('boxes', outer.id, { ...system, userId: 5, app: { id: 6, name: 'Six' } })
      const changes = await changesOf(client, start)
      assert.deepEqual(new Set(changes.map(({ userId, appId }) => `${userId} ${appId}`)), new Set(['5 6']))
      const cleared = changes.filter(({ kind }) => kind === 'updated')
      assert.equal(cleared.length, 1)
      assert.deepEqual([cleared[0]?.id, cleared[0]?.before], [both.id, was])
      assert.equal(cleared[0]?.row.spare_box_id, null)
      assert.deepEqual(
        changes
          .filter(({ kind }) => kind === 'deleted')
          .map(({ collection, before }) => [collection, before]),
        [
          ['boxes', null],
          ['things', null],
        ],
      )
      await client.store.close()
    }))

  test(`${name}: a log of an earlier version gets the columns of a later one at the start, while nodes of both write`, () =>
    within(async database => {
      const first = new Client(await database.open(blog, { now }))
      await first.create('users', { name: 'Ada', email: 'ada@example.com' })
      const columns = name === 'SQLite' ? sqliteColumns : postgresColumns
      const later = async () =>
        (await database.rows('SELECT "later" FROM "_events" ORDER BY "id"')).map(row => row.later)
      await assert.rejects(later())
      columns._events = { later: 'integer' }
      try {
        const second = new Client(await database.open(blog, { autoMigrate: false, now }))
        assert.deepEqual(await later(), [null])
        await first.create('posts', { title: 'a', author_id: 1 }, ada)
        await database.run(olderInsert)
        await second.create('posts', { title: 'b', author_id: 1 }, ada)
        assert.equal((await changesOf(second, 0)).length, 4)
        await second.store.close()
      } finally {
        delete columns._events
      }
      await first.store.close()
    }))
}
