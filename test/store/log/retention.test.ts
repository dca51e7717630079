/** What the log keeps: by age, by size and by holds; and that its bounds tell it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prunableOf, type Retention } from '../../../src/store/log/pruning.ts'
import { connect } from '../../../src/store/schema/postgres/session.ts'
import type { Store } from '../../../src/store/store.ts'
import { blog, Client } from '../blog.ts'
import { databases, type Place, postgres } from '../databases.ts'

const hour = 3_600_000
const begin = Date.parse('2026-01-01T00:00:00Z')

interface Inside {
  readonly client: Client
  readonly clock: { ms: number }
  readonly place: Place
  /** The numbers that are kept. */
  ids(): Promise<number[]>
}

/** Posts of user 1, whose clock stands where it is put. */
const inBlog = (
  place: Place,
  retention: Partial<Retention>,
  use: (inside: Inside) => Promise<void>,
): Promise<void> => {
  const clock = { ms: begin }
  const open = () => place.open(blog, { retention, now: () => clock.ms })
  return open().then(async store => {
    const client = new Client(store)
    const ids = async () =>
      (await place.rows('SELECT id FROM _events ORDER BY id')).map(({ id }) => Number(id))
    try {
      await client.create('users', { name: 'Ada', email: 'ada@example.com' })
      await use({ client, clock, place, ids })
    } finally {
      await store.close()
    }
  })
}

const posts = async (client: Client, count: number, body = ''): Promise<void> => {
  for (let n = 0; n < count; n++) await client.create('posts', { title: `${n}`, body, author_id: 1 })
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 20_000
  while (!(await holds())) {
    assert.ok(performance.now() < end, what)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

const boundsOf = async ({ changes }: Store) => changes.bounds()
/** PostgreSQL cleans up beside its writes. */
const isPruned = (client: Client, pruned: number) => async () =>
  (await boundsOf(client.store)).pruned === pruned

for (const { name, within } of databases) {
  test(`${name}: a new log is not pruned; drawn is the last number`, () =>
    within(place =>
      inBlog(place, {}, async ({ client }) => {
        assert.deepEqual(await boundsOf(client.store), { pruned: 0, drawn: 1 })
        await posts(client, 2)
        assert.deepEqual(await boundsOf(client.store), { pruned: 0, drawn: 3 })
        assert.equal(await client.store.changes.last(), 3)
      }),
    ))

  test(`${name}: what is too old goes, also while nothing is written; bounds tell it, and no number comes again`, () =>
    within(place =>
      inBlog(place, { keptMs: hour, idleMs: 20 }, async ({ client, clock, ids }) => {
        await posts(client, 3)
        clock.ms += hour / 2
        await posts(client, 1)
        clock.ms += 0.75 * hour
        await until('the old ones go', isPruned(client, 4))
        assert.deepEqual(await ids(), [5])
        assert.deepEqual(await boundsOf(client.store), { pruned: 4, drawn: 5 })
        clock.ms += hour
        await until('all go', isPruned(client, 5))
        assert.deepEqual(await ids(), [])
        assert.deepEqual(await boundsOf(client.store), { pruned: 5, drawn: 5 })
        assert.equal(await client.store.changes.last(), 5)
        await posts(client, 1)
        assert.deepEqual(await ids(), [6])
        assert.equal(client.store.changes.counts().pruned, 5)
      }),
    ))

  test(`${name}: only from the oldest on: what is younger keeps what is behind it, whatever its time says`, () =>
    within(place =>
      inBlog(place, { keptMs: hour, idleMs: 20 }, async ({ client, clock, ids }) => {
        await posts(client, 1)
        clock.ms += hour
        await posts(client, 1)
        clock.ms -= hour
        await posts(client, 2)
        clock.ms += 1.5 * hour
        await until('the old ones go', isPruned(client, 2))
        assert.deepEqual(await ids(), [3, 4, 5])
      }),
    ))

  test(`${name}: a held event and all after it stay however old; a hold outlives its process; released, they go`, () =>
    within(place =>
      inBlog(place, { keptMs: hour, idleMs: 20 }, async ({ client, clock, ids }) => {
        await posts(client, 5)
        const { changes } = client.store
        await changes.hold('webhooks', 1)
        await changes.hold('webhooks', 3)
        await changes.hold('reactions', 4)
        clock.ms += 2 * hour
        // SQLite looks now and then, by this clock.
        const isGone = (pruned: number) => () => {
          clock.ms += 100
          return isPruned(client, pruned)()
        }
        await until('what nobody holds goes', isGone(3))
        const other = await place.open(blog, { retention: { keptMs: hour, idleMs: 20 }, now: () => clock.ms })
        await other.changes.hold('webhooks', null)
        await until('what the other hold leaves goes', isGone(4))
        assert.deepEqual(await ids(), [5, 6])
        await other.changes.hold('reactions', 6)
        await until('all that was read goes', isGone(6))
        await other.close()
      }),
    ))

  test(`${name}: a log that is too large loses its oldest, held or not, until it fits`, () =>
    within(place =>
      inBlog(place, { maxBytes: 40_000, idleMs: 20 }, async ({ client, ids, clock }) => {
        await client.store.changes.hold('webhooks', 0)
        for (let n = 0; n < 12; n++) {
          await posts(client, 5, 'x'.repeat(1000))
          clock.ms += 60_000
        }
        await until('it fits', async () => {
          const { bytes, oldest } = client.store.changes.counts()
          return bytes <= 40_000 && oldest > 1 && (await boundsOf(client.store)).pruned === oldest - 1
        })
        // The size is estimated by samples, so a further look may prune once more, between these two reads too.
        const bounds = await boundsOf(client.store)
        const kept = (await ids()).filter(id => id > bounds.pruned)
        assert.ok(kept.length >= 25 && kept.length <= 36, `${kept.length} are kept`)
        assert.deepEqual(
          kept,
          Array.from({ length: kept.length }, (_, at) => 62 - kept.length + at),
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

  test(`${name}: a log of the last version, which did not store what it had pruned, has its bounds after a start`, () =>
    within(async place => {
      await inBlog(place, {}, ({ client }) => posts(client, 4))
      const forget = `DELETE FROM _portico WHERE "key" = 'events.pruned'`
      await place.run('DELETE FROM _events WHERE id <= 2')
      await place.run(forget)
      const first = await place.open(blog)
      assert.deepEqual(await boundsOf(first), { pruned: 2, drawn: 5 })
      await first.close()
      await place.run('DELETE FROM _events')
      await place.run(forget)
      const second = await place.open(blog)
      assert.deepEqual(await boundsOf(second), { pruned: 5, drawn: 5 })
      await second.close()
    }))
}

test('PostgreSQL: while another node prunes, nobody waits for its turn, neither who writes nor who would prune', () =>
  postgres.within(place =>
    inBlog(place, { keptMs: hour, idleMs: 20 }, async ({ client, clock, ids }) => {
      await posts(client, 3)
      const other = await connect(place.url)
      await other.query(`BEGIN; SELECT 1 FROM _portico WHERE key = 'events.pruned' FOR UPDATE`)
      clock.ms += 2 * hour
      await posts(client, 3)
      await until('it looks', async () => client.store.changes.counts().newest >= 4)
      await posts(client, 3)
      assert.equal((await ids()).length, 10)
      assert.deepEqual(await boundsOf(client.store), { pruned: 0, drawn: 10 })
      await other.query('COMMIT')
      await other.end()
      await until('the old ones go', isPruned(client, 4))
      assert.deepEqual(await ids(), [5, 6, 7, 8, 9, 10])
    }),
  ))

test('a step of pruning is bounded by rows and bytes, and stops at what is held, young, or not settled', () => {
  const rows = (count: number, bytes = 100, at = '1') =>
    Array.from({ length: count }, (_, n) => [n + 1, at, bytes] as const)
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

test('PostgreSQL: a log that is too large keeps what is above an event that is not committed yet', () =>
  postgres.within(place =>
    inBlog(place, { maxBytes: 10_000, idleMs: 20 }, async ({ client, ids }) => {
      const other = await connect(place.url)
      await other.query(
        `BEGIN; SELECT pg_advisory_xact_lock_shared((20591::bigint << 48) | 1); INSERT INTO _events (at, collection, item_id, kind, data) VALUES ('9', 'posts', 7, 'created', '{}')`,
      )
      await posts(client, 20, 'x'.repeat(1000))
      const { changes } = client.store
      await until('it is looked at', async () => changes.counts().bytes > 20_000)
      await until('what is settled goes', isPruned(client, 1))
      const before = changes.counts().pruned
      await posts(client, 5, 'x'.repeat(1000))
      await until('it is looked at again', async () => changes.counts().newest >= 25)
      assert.deepEqual([changes.counts().pruned, (await ids()).length], [before, 25])
      await other.query('COMMIT')
      await other.end()
      await until('it fits', async () => changes.counts().bytes <= 10_000)
      assert.ok((await ids()).length < 12)
    }),
  ))
