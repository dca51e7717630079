/** The log of a restored database: no event id is reused, and no reader can resume from an id before the restore. */

import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { baseAbove, withBase } from '../../../../src/engine/store/log/restored.ts'
import { openPostgres, raisePostgresLog } from '../../../../src/engine/store/postgres/postgres.ts'
import { connect } from '../../../../src/engine/store/schema/postgres/session.ts'
import { backUp, restore } from '../../../../src/engine/store/sqlite/file/backup.ts'
import { openSqlite, raiseSqliteLog } from '../../../../src/engine/store/sqlite/sqlite.ts'
import type { Store } from '../../../../src/engine/store/store.ts'
import { testOfOthers } from '../../../chosen.ts'
import { withOrdinaryDatabase } from '../../../setups/databases/ordinary.ts'
import { query, withPostgres } from '../../../setups/databases/postgres.ts'
import { startStandbys, untilCaughtUp } from '../../../setups/databases/replicated.ts'
import { blog, Client, withFile } from '../blog.ts'
import { databaseKinds } from '../databases.ts'

const begin = Date.parse('2026-01-01T00:00:00Z')
const hourMs = 3_600_000

async function fill(store: Store, count: number): Promise<void> {
  const client = new Client(store)
  const email = () => `${Math.random()}@example.com`
  for (let n = 0; n < count; n++) await client.create('users', { name: 'Ada', email: email() })
}

/** The ids of the kept events after `event`. */
const idsAfter = async ({ changes }: Store, event: number) =>
  (await changes.after(event, 1000)).map(change => change.event)

/** Requires that the log continues above a new base and still has its `kept` events. Returns the base. */
async function requireRaised(store: Store, lastId: number): Promise<number> {
  const { pruned, drawn } = await store.changes.bounds()
  assert.equal(pruned, drawn)
  assert.ok(pruned > 2 ** 32 && pruned < 2 ** 48, String(pruned))
  assert.equal((await idsAfter(store, 0)).length, lastId, 'the earlier events can still be read')
  assert.equal(await store.changes.last(), pruned)
  return pruned
}

test('a base is above every id that may have been drawn, according to the clock and to the log', () => {
  const drawnByMs = fc.tuple(fc.integer({ min: 0, max: 2 ** 46 }), fc.integer({ min: begin, max: 2 * begin }))
  fc.assert(
    fc.property(drawnByMs, ([drawn, now]) => {
      const base = baseAbove(drawn, now)
      assert.ok(Number.isSafeInteger(base) && base > drawn && base < 2 ** 48)
      // A later restore of the same copy is above every id drawn since then, at up to 64 events per millisecond.
      if (drawn < now * 64) assert.ok(baseAbove(drawn, now + 1000) >= base + 64_000)
    }),
  )
  assert.deepEqual(withBase([10, 20], 30, 15), [20, 30])
  assert.deepEqual(withBase([10, 20], 30, undefined), [])
})

for (const { name, within } of databaseKinds) {
  test(`${name}: a log marked as restored continues far above its last id, and the estimate of its size ignores the gap`, () =>
    within(async database => {
      const first = await database.open(blog)
      await fill(first, 5)
      await first.close()
      const raise = name === 'SQLite' ? raiseSqliteLog : raisePostgresLog
      await raise(database.url)
      const store = await database.open(blog, { retention: { maxBytes: 20_000, idleMs: 20 } })
      const base = await requireRaised(store, 5)
      await fill(store, 1)
      assert.deepEqual(await idsAfter(store, base), [base + 1])
      await raise(database.url)
      await fill(store, 2)
      const { pruned, drawn } = await store.changes.bounds()
      assert.ok(pruned > base + 1)
      assert.deepEqual(await idsAfter(store, pruned), [drawn - 1, drawn])
      const end = performance.now() + 120_000
      while (store.changes.counts().newest !== drawn) {
        assert.ok(performance.now() < end)
        await new Promise(resolve => setTimeout(resolve, 10))
      }
      const { oldest, bytes } = store.changes.counts()
      assert.equal(oldest, 1)
      assert.ok(bytes > 8 * 150 && bytes < 8 * 1000, String(bytes))
      await store.close()
    }))
}

test('SQLite: a backup that is opened raises its event ids once, and its source continues as before', () =>
  withFile(async file => {
    const to = join(dirname(file), 'copy.db')
    const store = openSqlite(blog, { file })
    await fill(store, 3)
    await backUp({ from: file, to, overwrite: false })
    await fill(store, 1)
    assert.deepEqual(await store.changes.bounds(), { pruned: 0, drawn: 4 })
    const copy = openSqlite(blog, { file: to })
    const base = await requireRaised(copy, 3)
    await fill(copy, 1)
    await copy.close()
    const again = openSqlite(blog, { file: to })
    assert.deepEqual(await again.changes.bounds(), { pruned: base, drawn: base + 1 })
    await again.close()
    await store.close()
  }))

test('SQLite: repeated restores of one backup reuse no event id', () =>
  withFile(async file => {
    const to = join(dirname(file), 'backup.db')
    const clock = { ms: begin }
    const open = () => openSqlite(blog, { file, now: () => clock.ms })
    const store = open()
    await fill(store, 3)
    await backUp({ from: file, to, overwrite: false })
    await store.close()
    const drawn = new Set<number>([1, 2, 3])
    for (let times = 0; times < 3; times++) {
      await restore({ from: to, to: file, overwrite: true })
      const restored = open()
      const base = await requireRaised(restored, 3)
      await fill(restored, 2)
      for (const id of await idsAfter(restored, base)) {
        assert.ok(!drawn.has(id))
        drawn.add(id)
      }
      await restored.close()
      clock.ms += hourMs
    }
    assert.equal(drawn.size, 9)
  }))

/** A database with three events, and a copy with another OID, as restoring a dump gives it. */
async function withRestored(
  use: (urls: { readonly url: string; readonly restored: string }) => Promise<void>,
) {
  await withPostgres(async url => {
    const store = await openPostgres(blog, { url })
    await fill(store, 3)
    await store.close()
    const name = new URL(url).pathname.slice(1)
    const admin = new URL(url)
    admin.pathname = '/postgres'
    await query(admin.href, `CREATE DATABASE "${name}_restored" TEMPLATE "${name}"`)
    const restored = new URL(url)
    restored.pathname = `/${name}_restored`
    try {
      await use({ url, restored: restored.href })
    } finally {
      await query(admin.href, `DROP DATABASE "${name}_restored" WITH (FORCE)`)
    }
  })
}

testOfOthers(
  'PostgreSQL: a restored database raises its event ids once, even if several nodes start at the same time',
  () =>
    withRestored(async ({ url, restored }) => {
      const nodes = await Promise.all(
        [1, 2, 3, 4].map(() => openPostgres(blog, { url: restored, connections: 4 })),
      )
      const [first] = nodes
      const base = await requireRaised(first ?? assert.fail(), 3)
      for (const node of nodes) {
        assert.deepEqual(await node.changes.bounds(), { pruned: base, drawn: base })
      }
      await Promise.all(nodes.map(node => fill(node, 2)))
      assert.equal((await idsAfter(first ?? assert.fail(), base)).length, 8)
      await Promise.all(nodes.map(node => node.close()))
      const later = await openPostgres(blog, { url: restored })
      assert.deepEqual(await later.changes.bounds(), { pruned: base, drawn: base + 8 })
      await later.close()
      const source = await openPostgres(blog, { url })
      assert.deepEqual(await source.changes.bounds(), { pruned: 0, drawn: 3 })
      await source.close()
    }),
)

testOfOthers('PostgreSQL: a running node detects another server before its next write', () =>
  withPostgres(async url => {
    const store = await openPostgres(blog, { url })
    await fill(store, 2)
    const [row] = await query(url, `SELECT value FROM _portico WHERE key = 'events.identity'`)
    const [system, timeline, oid] = String(row?.value).split('/')
    assert.match(`${system} ${timeline} ${oid}`, /^\d+ [0-9A-F]{8} \d+$/)
    // As on a promoted server, whose timeline differs.
    await query(url, `UPDATE _portico SET value = '${system}/0000BEEF/${oid}' WHERE key = 'events.identity'`)
    await query(
      url,
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    )
    const end = performance.now() + 120_000
    while (
      !(await fill(store, 1).then(
        () => true,
        () => false,
      ))
    )
      assert.ok(performance.now() < end)
    const { pruned, drawn } = await store.changes.bounds()
    assert.ok(pruned > 2 ** 32 && drawn === pruned + 1, `${pruned} ${drawn}`)
    await store.close()
  }),
)

testOfOthers(
  'PostgreSQL: a promoted standby continues far above any event id that the old primary may have drawn',
  async () => {
    const servers = await startStandbys(1)
    try {
      const { url, standbys } = await servers.newDatabase()
      const [promoted = ''] = standbys
      const old = await openPostgres(blog, { url })
      await fill(old, 3)
      await untilCaughtUp(url, promoted)
      await query(promoted, 'SELECT pg_promote()')
      await fill(old, 2)
      await old.close()
      const store = await openPostgres(blog, { url: promoted })
      await requireRaised(store, 3)
      await store.close()
    } finally {
      await servers.close()
    }
  },
)

testOfOthers('PostgreSQL: raising the log of a running service waits for open transactions', () =>
  withPostgres(async url => {
    const store = await openPostgres(blog, { url })
    await fill(store, 2)
    const client = await connect(url)
    await client.query(
      `BEGIN; SELECT pg_advisory_xact_lock_shared((20591::bigint << 48) | 2); INSERT INTO _events (at, collection, item_id, kind, data) VALUES ('9', 'users', 7, 'created', '{}')`,
    )
    let isRaised = false
    const raising = raisePostgresLog(url).then(() => {
      isRaised = true
    })
    const end = performance.now() + 120_000
    const isDrawn = async () => {
      const [row] = await query(url, 'SELECT last_value FROM _events_id_seq')
      return Number(row?.last_value) > 3
    }
    while (!(await isDrawn())) assert.ok(performance.now() < end)
    await fill(store, 1)
    assert.equal(isRaised, false)
    assert.deepEqual(await store.changes.bounds(), { pruned: 0, drawn: 2 })
    await client.query('COMMIT')
    await client.end()
    await raising
    const { pruned, drawn } = await store.changes.bounds()
    assert.equal(drawn, pruned + 1)
    assert.deepEqual(await idsAfter(store, 0), [1, 2, 3, drawn])
    await store.close()
  }),
)

testOfOthers(
  'PostgreSQL: a role without access to the system identifier is identified by timeline and OID',
  () =>
    withOrdinaryDatabase(async ({ url, admin }) => {
      await query(admin, 'REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC')
      const open = () => openPostgres(blog, { url, rowSecurity: true })
      const first = await open()
      await fill(first, 2)
      await first.close()
      const [row] = await query(admin, `SELECT value FROM _portico WHERE key = 'events.identity'`)
      assert.match(String(row?.value), /^-\/[0-9A-F]{8}\/\d+$/)
      await query(admin, 'GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC')
      const second = await open()
      assert.deepEqual(await second.changes.bounds(), { pruned: 0, drawn: 2 })
      await second.close()
    }),
)
