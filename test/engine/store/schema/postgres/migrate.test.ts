/** Migrations of PostgreSQL that meet locks, deadlocks, earlier interrupted migrations and missing privileges. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { openPostgres } from '../../../../../src/engine/store/postgres/postgres.ts'
import { applyPostgres, planPostgres } from '../../../../../src/engine/store/schema/postgres/migrate.ts'
import { planFor, stateOf } from '../../../../../src/engine/store/schema/postgres/plan.ts'
import { MigrationError } from '../../../../../src/engine/store/schema/refusal.ts'
import { index, text, unique } from '../../../../../src/index.ts'
import { postgres } from '../../../../setups/databases/migrations.ts'
import { query, withPostgres } from '../../../../setups/databases/postgres.ts'
import { books, plain, unchangedFields } from '../migration-cases.ts'

const noted = books({ fields: { ...unchangedFields, note: text({ optional: true }) } })
const indexed = books({ fields: unchangedFields, indexes: [unique('title'), index('year')] })

async function createTables(url: string, autoMigrate = true): Promise<void> {
  await (await openPostgres(plain, { url, autoMigrate })).close()
}

async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

/** Leaves the state of a killed migration whose model is no longer used. */
async function abandon(url: string): Promise<void> {
  await query(url, 'CREATE UNIQUE INDEX "_new_books__title__unique" ON books (title)')
  await query(url, 'CREATE TABLE "_new__search_books" (id bigint)')
  await query(
    url,
    'ALTER TABLE books ADD CONSTRAINT "_new_year__required" CHECK (year IS NOT NULL) NOT VALID',
  )
}

/** The number of objects that a migration has prepared but not completed. */
async function countPrepared(url: string): Promise<number> {
  const names = `SELECT relname FROM pg_class WHERE relname LIKE '\\_new\\_%' UNION ALL SELECT conname FROM pg_constraint WHERE conname LIKE '\\_new\\_%'`
  return (await query(url, names)).length
}

test('the next start or command removes what an abandoned migration has prepared', () =>
  withPostgres(async url => {
    await createTables(url)
    for (const next of [
      () => createTables(url),
      () => applyPostgres(url, plain, { allowDestructive: false }),
    ]) {
      await abandon(url)
      assert.equal(await countPrepared(url), 3)
      await next()
      assert.equal(await countPrepared(url), 0)
      await postgres.assertConsistent(url)
      assert.deepEqual(await planPostgres(url, plain), [])
    }
  }))

test('a start neither waits for a running migration nor removes what it has prepared', () =>
  withPostgres(async url => {
    await createTables(url)
    await abandon(url)
    await withClient(url, async otherClient => {
      await otherClient.query('SELECT pg_advisory_lock(20591, 1)')
      await createTables(url)
      assert.equal(await countPrepared(url), 3)
    })
    await createTables(url, false)
    assert.equal(await countPrepared(url), 3, 'a start without autoMigrate')
  }))

/** Waits until a statement like `text` waits for a lock. */
async function stuck(client: pg.Client, like: string): Promise<void> {
  const until = performance.now() + 120_000
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1`
  while ((await client.query(waiting, [like])).rowCount === 0) {
    assert.ok(performance.now() < until, 'the statement waits for a lock')
    await wait(10)
  }
}

/** Makes the first waiting statement of `run` that matches `like` the victim of a deadlock. */
async function inDeadlock<T>(url: string, like: string, run: () => Promise<T>): Promise<T> {
  const name = new URL(url).pathname.slice(1)
  await query(url, `ALTER DATABASE "${name}" SET deadlock_timeout = '3s'`)
  return withClient(url, async otherClient => {
    await otherClient.query("SET deadlock_timeout = '5min'")
    await otherClient.query(`BEGIN; INSERT INTO books (title, created_at) VALUES ('other', '2026')`)
    const running = run()
    running.catch(() => {})
    await withClient(url, watch => stuck(watch, like))
    await otherClient.query('LOCK TABLE books IN SHARE UPDATE EXCLUSIVE MODE')
    await otherClient.query('ROLLBACK')
    return running
  })
}

test('creating an index is retried after a deadlock', () =>
  withPostgres(async url => {
    await createTables(url)
    const migrate = () => applyPostgres(url, indexed, { allowDestructive: false })
    await inDeadlock(url, 'CREATE UNIQUE INDEX CONCURRENTLY%', migrate)
    await postgres.assertConsistent(url)
    assert.deepEqual(await planPostgres(url, indexed), [])
    await query(url, 'DROP INDEX books__year__index')
    await inDeadlock(url, 'CREATE INDEX CONCURRENTLY%', migrate)
    await postgres.assertConsistent(url)
    assert.deepEqual(await planPostgres(url, indexed), [])
  }))

test('a migration does not wait for transactions that write records', () =>
  withPostgres(async url => {
    await createTables(url)
    await withClient(url, async otherClient => {
      await otherClient.query(`BEGIN; INSERT INTO _records (kind, id, payload) VALUES ('a', 'b', '{}')`)
      await applyPostgres(url, noted, { allowDestructive: false })
      await otherClient.query('COMMIT')
    })
    await postgres.assertConsistent(url)
    await query(url, 'DROP INDEX "_records__owner"; DROP TABLE "_touched"')
    await applyPostgres(url, plain, { allowDestructive: true })
    assert.deepEqual(await query(url, `SELECT to_regclass('_records__owner')::text AS is`), [
      { is: '_records__owner' },
    ])
  }))

test('a role that lacks privileges on the tables gets an error that says so', () =>
  withPostgres(async url => {
    const name = `mere_${new URL(url).pathname.slice(1)}`
    await query(url, `CREATE ROLE "${name}" LOGIN`)
    const own = new URL(url)
    own.username = name
    try {
      await assert.rejects(openPostgres(plain, { url: own.href }), (error: Error) => {
        assert.ok(error instanceof MigrationError, String(error))
        assert.match(error.message, /permission denied for schema public/)
        return true
      })
      await createTables(url)
      await assert.rejects(openPostgres(plain, { url: own.href }), (error: Error) => {
        assert.ok(error instanceof MigrationError, String(error))
        assert.match(error.message, /permission denied for table _portico/)
        return true
      })
    } finally {
      await query(url, `DROP ROLE "${name}"`)
    }
  }))

test('a plan is not confused by a migration that another process commits while it reads the tables', () =>
  withPostgres(async url => {
    await createTables(url)
    await withClient(url, async client => {
      const send = client.query.bind(client) as (text: unknown) => Promise<pg.QueryResult>
      let isMigrated = false
      // The columns are read before the stored schema.
      const query = async (text: unknown) => {
        if (!isMigrated && String(text).includes('FROM "_portico"')) {
          isMigrated = true
          await applyPostgres(url, noted, { allowDestructive: false })
        }
        return send(text)
      }
      const state = await stateOf(Object.assign(client, { query }))
      assert.ok(isMigrated)
      assert.deepEqual(planFor(state, { model: plain, rowSecurity: undefined }).steps, [])
    })
  }))
