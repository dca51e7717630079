/** The event log on SQLite: contents, pruning, and ids that are never reused. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openSqlite } from '../../../../../src/engine/store/sqlite/sqlite.ts'
import { blog, Client, withFile } from '../../blog.ts'

const hourMs = 3_600_000

/** Provides a store with a clock that the test sets, and the ids in its log. */
function withClock(
  use: (place: { client: Client; clock: { ms: number }; ids: () => number[] }) => Promise<void>,
): Promise<void> {
  return withFile(async file => {
    const clock = { ms: Date.parse('2026-01-01T00:00:00Z') }
    const store = openSqlite(blog, { file, retention: { maxAgeMs: hourMs }, now: () => clock.ms })
    const other = new DatabaseSync(file)
    const ids = () =>
      other
        .prepare('SELECT id FROM _events ORDER BY id')
        .all()
        .map(row => Number(row.id))
    try {
      await use({ client: new Client(store), clock, ids })
    } finally {
      other.close()
      await store.close()
    }
  })
}

const people = (client: Client, from: number, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      client.create('users', { name: 'x', email: `p${from + n}@example.com` }),
    ),
  )

test('events are kept for the retention period and pruned by a later write', () =>
  withClock(async ({ client, clock, ids }) => {
    await people(client, 0, 3)
    clock.ms += hourMs
    await people(client, 3, 1)
    assert.deepEqual(ids(), [1, 2, 3, 4])
    clock.ms += hourMs / 2
    await people(client, 4, 1)
    assert.deepEqual(ids(), [4, 5])
  }))

test('old events are pruned in portions, so that no write waits long', () =>
  withClock(async ({ client, clock, ids }) => {
    await people(client, 0, 1200)
    clock.ms += 2 * hourMs
    const left = []
    for (let n = 0; n < 4; n++) {
      await people(client, 1200 + n, 1)
      left.push(ids().length)
    }
    assert.deepEqual(left, [701, 202, 3, 4])
  }))

test('the id of a pruned event is never reused', () =>
  withClock(async ({ client, clock, ids }) => {
    await people(client, 0, 2)
    clock.ms += 2 * hourMs
    await assert.rejects(people(client, 0, 1), { code: 'CONFLICT' })
    assert.deepEqual(ids(), [])
    await people(client, 2, 1)
    assert.deepEqual(ids(), [3])
  }))

test('all writes of a transaction share one time', () =>
  withClock(async ({ client, clock }) => {
    const createdAt = async (id: number) =>
      ((await client.item('users', id)) as { created_at: string }).created_at
    const [first, second] = await people(client, 0, 2)
    clock.ms += 1
    const [third] = await people(client, 2, 1)
    assert.equal(await createdAt(first?.id ?? 0), '2026-01-01T00:00:00.000Z')
    assert.equal(await createdAt(second?.id ?? 0), '2026-01-01T00:00:00.000Z')
    assert.equal(await createdAt(third?.id ?? 0), '2026-01-01T00:00:00.001Z')
  }))

test('an event contains the visible item, and for an update the changed fields; an update without changes is not logged', () =>
  withFile(async file => {
    const store = openSqlite(blog, { file })
    const client = new Client(store)
    const { id } = await client.create('users', {
      name: 'Ann',
      email: 'ann@example.com',
      password_hash: 'secret',
    })
    await client.update('users', id, { name: 'Ann', email: 'a@example.com' })
    await client.update('users', id, { name: 'Ann' })
    await client.update('users', id, { password_hash: 'other' })
    const last = await client.item('users', id)
    await client.remove('users', id)
    await store.close()
    const database = new DatabaseSync(file)
    const events = database.prepare('SELECT kind, data, changed FROM _events ORDER BY id').all()
    assert.deepEqual(
      events.map(({ kind, changed }) => [kind, changed]),
      [
        ['created', null],
        ['updated', '["email"]'],
        ['deleted', null],
      ],
    )
    assert.deepEqual(JSON.parse(String(events[2]?.data)), last)
    assert.ok(events.every(({ data }) => !String(data).includes('secret') && !String(data).includes('other')))
    database.close()
  }))
