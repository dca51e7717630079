/** An interrupted migration: the database is as before it, or, if it had committed, as after it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { MigrationStep } from '../../../src/engine/store/schema/diff.ts'
import { applyPostgres } from '../../../src/engine/store/schema/postgres/migrate.ts'
import { type MigrationDatabase, migrationDatabases, postgres } from '../../setups/databases/migrations.ts'
import { query, withPostgres } from '../../setups/databases/postgres.ts'
import { fastSettings, PostgresServer } from '../../setups/databases/postgres-server.ts'
import { until } from '../../setups/databases/replicated.ts'
import { after, before } from './migration-models.ts'

const program = fileURLToPath(new URL('migrating-process.ts', import.meta.url))
const rowCount = 30_000

async function killMigration(location: string, milliseconds: number): Promise<string> {
  const child = spawn(process.execPath, [program, location], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', chunk => {
    output += chunk
  })
  const exit = once(child, 'close')
  await once(child.stdout, 'data')
  await wait(milliseconds)
  child.kill('SIGKILL')
  await exit
  return output
}

async function fill(database: MigrationDatabase, location: string): Promise<void> {
  await (await database.open(location, before)).close()
  const totals = database === postgres ? `INSERT INTO _totals VALUES ('notes', 0, ${rowCount})` : ''
  await database.run(
    location,
    `INSERT INTO notes (title, body, created_at)
     WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rowCount})
     SELECT 'title ' || n, 'body of ' || n, '2026-01-01T00:00:00.000Z' FROM numbers; ${totals}`,
  )
}

/** Whether the migration was rolled back; throws when it is neither rolled back nor complete. */
async function isUndone(
  database: MigrationDatabase,
  location: string,
  steps: readonly MigrationStep[],
  schemaText: string,
): Promise<boolean> {
  const remainingSteps = await database.plan(location, after)
  if (remainingSteps.every(step => step.additive)) return false
  assert.deepEqual(remainingSteps, steps)
  assert.equal(await database.schemaText(location), schemaText)
  const rows = await database.rows(
    location,
    'SELECT count(*) AS n, max(title) AS title, max(body) AS body FROM notes',
  )
  assert.deepEqual(rows, [[rowCount, 'title 9999', 'body of 9999']])
  return true
}

async function requireDone(database: MigrationDatabase, location: string): Promise<void> {
  await database.apply(location, after, { allowDestructive: true })
  assert.deepEqual(await database.plan(location, after), [])
  await database.assertConsistent(location)
  assert.deepEqual(await database.rows(location, 'SELECT id, name, state FROM memos WHERE id = 7'), [
    [7, 'title 7', 'new'],
  ])
  const totals = `SELECT CAST(sum(n) AS integer) FROM _totals WHERE collection = 'memos'`
  assert.deepEqual(await database.rows(location, totals), [[rowCount]])
  const matches = {
    SQLite: `SELECT count(*) FROM _search_memos('"7"')`,
    PostgreSQL: `SELECT count(*) FROM _search_memos WHERE _all @> '{7}'`,
  }
  assert.deepEqual(await database.rows(location, matches[database.name]), [[1]])
}

for (const database of migrationDatabases) {
  test(`${database.name}: a killed migration has changed nothing and can be run again`, () =>
    database.withEmpty(async location => {
      await fill(database, location)
      const steps = await database.plan(location, after)
      const schemaText = await database.schemaText(location)
      let undone = 0
      for (const milliseconds of database.killAfterMs) {
        const output = await killMigration(location, milliseconds)
        if (!(await isUndone(database, location, steps, schemaText))) break
        assert.equal(output, 'begins')
        undone++
      }
      assert.ok(undone > 0)
      await requireDone(database, location)
    }))
}

test('PostgreSQL: a migration during a server crash has changed nothing and can be run again', async () => {
  const server = new PostgresServer(fastSettings)
  try {
    await server.start()
    await fill(postgres, server.url)
    const steps = await postgres.plan(server.url, after)
    const schemaText = await postgres.schemaText(server.url)
    let failed = 0
    for (const milliseconds of [100, 400, 1000]) {
      const migration = applyPostgres(server.url, after, { allowDestructive: true }).then(
        () => 'done',
        () => 'failed',
      )
      await wait(milliseconds)
      await server.kill()
      const outcome = await migration
      await server.start()
      const undone = await isUndone(postgres, server.url, steps, schemaText)
      if (outcome === 'done') assert.equal(undone, false)
      else failed++
      if (!undone) break
    }
    assert.ok(failed > 0)
    await requireDone(postgres, server.url)
  } finally {
    await server.remove()
  }
})

test('PostgreSQL: the server notices a killed migration even while its statement waits for a lock', () =>
  withPostgres(async url => {
    await (await postgres.open(url, before)).close()
    const otherClient = new pg.Client({ connectionString: url })
    await otherClient.connect()
    try {
      await otherClient.query('BEGIN; LOCK TABLE notes IN ACCESS EXCLUSIVE MODE')
      const child = spawn(process.execPath, [program, url], { stdio: ['ignore', 'ignore', 'inherit'] })
      const exit = once(child, 'close')
      const migrating = (and: string) =>
        query(
          url,
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'portico migrate' ${and}`,
        )
      await until(
        'the migration waits for a lock',
        async () => (await migrating(`AND wait_event_type = 'Lock'`)).length > 0,
      )
      child.kill('SIGKILL')
      await exit
      await until('its connection is closed', async () => (await migrating('')).length === 0)
    } finally {
      await otherClient.end()
    }
    await postgres.apply(url, after, { allowDestructive: true })
    await postgres.assertConsistent(url)
  }))
