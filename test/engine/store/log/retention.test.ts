/** Retention of the log by age, size and holds, and the bounds that it reports. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prunableOf, type Retention } from '../../../../src/engine/store/log/pruning.ts'
import { connect } from '../../../../src/engine/store/schema/postgres/session.ts'
import type { Store } from '../../../../src/engine/store/store.ts'
import { testOfOthers } from '../../../chosen.ts'
import { blog, Client } from '../blog.ts'
import { databaseKinds, postgres, type TestDatabase } from '../databases.ts'

const hourMs = 3_600_000
const begin = Date.parse('2026-01-01T00:00:00Z')

interface Fixture {
  readonly client: Client
  readonly clock: { ms: number }
  readonly database: TestDatabase
  /** The ids of the kept events. */
  ids(): Promise<number[]>
}

/** Opens a blog with user 1 and a clock that the test sets. */
const inBlog = (
  database: TestDatabase,
  retention: Partial<Retention>,
  use: (fixture: Fixture) => Promise<void>,
): Promise<void> => {
  const clock = { ms: begin }
  const open = () => database.open(blog, { retention, now: () => clock.ms })
  return open().then(async store => {
    const client = new Client(store)
    const ids = async () =>
      (await database.rows('SELECT id FROM _events ORDER BY id')).map(({ id }) => Number(id))
    try {
      await client.create('users', { name: 'Ada', email: 'ada@example.com' })
      await use({ client, clock, database, ids })
    } finally {
      await store.close()
    }
  })
}

const posts = async (client: Client, count: number, body = ''): Promise<void> => {
  for (let n = 0; n < count; n++) await client.create('posts', { title: `${n}`, body, author_id: 1 })
}

async function until(description: string, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 120_000
  while (!(await holds())) {
    assert.ok(performance.now() < end, description)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

const boundsOf = async ({ changes }: Store) => changes.bounds()
/** A predicate to poll, since PostgreSQL prunes concurrently with writes. */
const isPruned = (client: Client, pruned: number) => async () =>
  (await boundsOf(client.store)).pruned === pruned

for (const { name, within } of databaseKinds) {
  test(`${name}: in a new log nothing is pruned, and drawn is the last id`, () =>
    within(database =>
      inBlog(database, {}, async ({ client }) => {
        assert.deepEqual(await boundsOf(client.store), { pruned: 0, drawn: 1 })
        await posts(client, 2)
        assert.deepEqual(await boundsOf(client.store), { pruned: 0, drawn: 3 })
        assert.equal(await client.store.changes.last(), 3)
      }),
    ))

  test(`${name}: events older than the limit are pruned even without writes, the bounds follow, and no id is reused`, () =>
    within(database =>
      inBlog(database, { maxAgeMs: hourMs, idleMs: 20 }, async ({ client, clock, ids }) => {
        await posts(client, 3)
        clock.ms += hourMs / 2
        await posts(client, 1)
        clock.ms += 0.75 * hourMs
        await until('the old events are pruned', isPruned(client, 4))
        assert.deepEqual(await ids(), [5])
        assert.deepEqual(await boundsOf(client.store), { pruned: 4, drawn: 5 })
        clock.ms += hourMs
        await until('all events are pruned', isPruned(client, 5))
        assert.deepEqual(await ids(), [])
        assert.deepEqual(await boundsOf(client.store), { pruned: 5, drawn: 5 })
        assert.equal(await client.store.changes.last(), 5)
        await posts(client, 1)
        assert.deepEqual(await ids(), [6])
        assert.equal(client.store.changes.counts().pruned, 5)
      }),
    ))

  test(`${name}: pruning proceeds in id order: a younger event keeps every event after it, whatever its time`, () =>
    within(database =>
      inBlog(database, { maxAgeMs: hourMs, idleMs: 20 }, async ({ client, clock, ids }) => {
        await posts(client, 1)
        clock.ms += hourMs
        await posts(client, 1)
        clock.ms -= hourMs
        await posts(client, 2)
        clock.ms += 1.5 * hourMs
        await until('the old events are pruned', isPruned(client, 2))
        assert.deepEqual(await ids(), [3, 4, 5])
      }),
    ))

  test(`${name}: a hold keeps its event and all later ones whatever their age, outlives its process, and ends when released`, () =>
    within(database =>
      inBlog(database, { maxAgeMs: hourMs, idleMs: 20 }, async ({ client, clock, ids }) => {
        await posts(client, 5)
        const { changes } = client.store
        await changes.hold('webhooks', 1)
        await changes.hold('webhooks', 3)
        await changes.hold('reactions', 4)
        clock.ms += 2 * hourMs
        // SQLite prunes at intervals of this clock.
        const isGone = (pruned: number) => () => {
          clock.ms += 100
          return isPruned(client, pruned)()
        }
        await until('the events before both holds are pruned', isGone(3))
        const otherStore = await database.open(blog, {
          retention: { maxAgeMs: hourMs, idleMs: 20 },
          now: () => clock.ms,
        })
        await otherStore.changes.hold('webhooks', null)
        await until('the events before the other hold are pruned', isGone(4))
        assert.deepEqual(await ids(), [5, 6])
        await otherStore.changes.hold('reactions', 6)
        await until('all held events are pruned', isGone(6))
        await otherStore.close()
      }),
    ))

  test(`${name}: a log above its size limit is pruned from the oldest event on, held or not, until it fits`, () =>
    within(database =>
      inBlog(database, { maxBytes: 40_000, idleMs: 20 }, async ({ client, ids, clock }) => {
        await client.store.changes.hold('webhooks', 0)
        for (let n = 0; n < 12; n++) {
          await posts(client, 5, 'x'.repeat(1000))
          clock.ms += 60_000
        }
        await until('it fits', async () => {
          const { bytes, oldest } = client.store.changes.counts()
          return bytes <= 40_000 && oldest > 1 && (await boundsOf(client.store)).pruned === oldest - 1
        })
        // The size is estimated from samples, so another step may prune more, even between these two reads.
        const bounds = await boundsOf(client.store)
        const keptIds = (await ids()).filter(id => id > bounds.pruned)
        assert.ok(keptIds.length >= 25 && keptIds.length <= 36, `${keptIds.length} are kept`)
        assert.deepEqual(
          keptIds,
          Array.from({ length: keptIds.length }, (_, index) => 62 - keptIds.length + index),
        )
        const { pruned, drawn } = await boundsOf(client.store)
        assert.equal(drawn, 61)
        assert.ok(pruned >= bounds.pruned)
        assert.equal(
          (await ids()).find(id => id <= pruned),
          undefined,
        )
      }),
    ))

  test(`${name}: a log above its size limit is pruned although the clock was set back`, () =>
    within(database =>
      inBlog(database, { maxBytes: 10_000, idleMs: 20 }, async ({ client, clock }) => {
        await posts(client, 1)
        clock.ms -= 24 * hourMs
        await posts(client, 20, 'x'.repeat(1000))
        await until('it fits', async () => {
          // SQLite prunes at intervals of this clock.
          clock.ms += 100
          return (await boundsOf(client.store)).pruned > 10
        })
      }),
    ))
}

testOfOthers('PostgreSQL: while another node prunes, neither writes nor pruning on this node wait', () =>
  postgres.within(database =>
    inBlog(database, { maxAgeMs: hourMs, idleMs: 20 }, async ({ client, clock, ids }) => {
      await posts(client, 3)
      const otherClient = await connect(database.url)
      await otherClient.query(`BEGIN; SELECT 1 FROM _portico WHERE key = 'events.pruned' FOR UPDATE`)
      clock.ms += 2 * hourMs
      await posts(client, 3)
      await until('the log is examined', async () => client.store.changes.counts().newest >= 4)
      await posts(client, 3)
      assert.equal((await ids()).length, 10)
      assert.deepEqual(await boundsOf(client.store), { pruned: 0, drawn: 10 })
      await otherClient.query('COMMIT')
      await otherClient.end()
      await until('the old events are pruned', isPruned(client, 4))
      assert.deepEqual(await ids(), [5, 6, 7, 8, 9, 10])
    }),
  ),
)

test('a pruning step is limited by rows and bytes and stops at a held or young event', () => {
  const rows = (count: number, bytes = 100, time = '1') =>
    Array.from({ length: count }, (_, n) => [n + 1, time, bytes] as const)
  const none = { before: '0', hold: 1000, excessBytes: 0 }
  assert.equal(prunableOf(rows(9), none, 1000), undefined)
  const old = { ...none, before: '2' }
  assert.deepEqual(prunableOf(rows(9), old, 1000), { bySize: 0, byAge: 9 })
  assert.deepEqual(prunableOf(rows(9), { ...old, hold: 4 }, 1000), { bySize: 0, byAge: 4 })
  assert.deepEqual(prunableOf(rows(9), old, 5), { bySize: 0, byAge: 5 })
  assert.deepEqual(prunableOf([...rows(3), [4, '3', 100], [5, '1', 100]], old, 1000), { bySize: 0, byAge: 3 })
  assert.deepEqual(prunableOf(rows(9, 3_000_000), old, 1000), { bySize: 0, byAge: 2 })
  const large = { ...none, hold: 0, excessBytes: 250 }
  assert.deepEqual(prunableOf(rows(9), large, 1000), { bySize: 3, byAge: 0 })
  assert.deepEqual(prunableOf(rows(9), { ...large, before: '2', hold: 5 }, 1000), { bySize: 3, byAge: 5 })
})

testOfOthers('PostgreSQL: a log above its size limit keeps the events after an uncommitted one', () =>
  postgres.within(database =>
    inBlog(database, { maxBytes: 10_000, idleMs: 20 }, async ({ client, ids }) => {
      const otherClient = await connect(database.url)
      await otherClient.query(
        `BEGIN; SELECT pg_advisory_xact_lock_shared((20591::bigint << 48) | 1); INSERT INTO _events (at, collection, item_id, kind, data) VALUES ('9', 'posts', 7, 'created', '{}')`,
      )
      await posts(client, 20, 'x'.repeat(1000))
      const { changes } = client.store
      await until('the log is examined', async () => changes.counts().bytes > 20_000)
      await until('the event before the uncommitted one is pruned', isPruned(client, 1))
      const before = changes.counts().pruned
      await posts(client, 5, 'x'.repeat(1000))
      await until('the log is examined again', async () => changes.counts().newest >= 25)
      assert.deepEqual([changes.counts().pruned, (await ids()).length], [before, 25])
      await otherClient.query('COMMIT')
      await otherClient.end()
      await until('it fits', async () => changes.counts().bytes <= 10_000)
      assert.ok((await ids()).length < 12)
    }),
  ),
)
