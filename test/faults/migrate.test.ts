/** `kill -9` in the middle of a migration: the database is as before it, or, had it ended, as after it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { applyMigration, openSqlite, planMigration } from '../../src/store/sqlite.ts'
import { withFile } from '../store/blog.ts'
import { after, before } from './migration-models.ts'

const program = fileURLToPath(new URL('migrate.ts', import.meta.url))
const ROWS = 30_000

async function killedMigration(file: string, milliseconds: number): Promise<string> {
  const child = spawn(process.execPath, [program, file], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', chunk => {
    output += chunk
  })
  const ended = once(child, 'close')
  await once(child.stdout, 'data')
  await wait(milliseconds)
  child.kill('SIGKILL')
  await ended
  return output
}

function rows(file: string, query: string): unknown[][] {
  const database = new DatabaseSync(file)
  try {
    return database
      .prepare(query)
      .all()
      .map(row => Object.values(row))
  } finally {
    database.close()
  }
}

const schemaOf = (file: string) => rows(file, 'SELECT type, name, sql FROM sqlite_schema ORDER BY name')

test('a migration that is killed has changed nothing, and can be run again', () =>
  withFile(async file => {
    await openSqlite(before, { file }).close()
    const database = new DatabaseSync(file)
    database.exec(
      `INSERT INTO notes (title, body, created_at)
       WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${ROWS})
       SELECT 'title ' || n, 'body of ' || n, '2026-01-01T00:00:00.000Z' FROM numbers`,
    )
    database.close()
    const schema = schemaOf(file)
    const steps = planMigration(file, after)
    let undone = 0
    for (const milliseconds of [1, 5, 15, 30, 50, 80]) {
      const output = await killedMigration(file, milliseconds)
      assert.deepEqual(rows(file, 'PRAGMA integrity_check'), [['ok']])
      if (planMigration(file, after).length === 0) break
      undone++
      assert.equal(output, 'begins')
      assert.deepEqual(schemaOf(file), schema)
      assert.deepEqual(planMigration(file, after), steps)
      assert.deepEqual(rows(file, `SELECT count(*), max(title), max(body) FROM notes`), [
        [ROWS, 'title 9999', 'body of 9999'],
      ])
    }
    assert.ok(undone > 0)
    applyMigration(file, after, { allowDestructive: true })
    assert.deepEqual(rows(file, 'SELECT id, name, state FROM memos WHERE id = 7'), [[7, 'title 7', 'new']])
    assert.deepEqual(rows(file, `SELECT n FROM _totals WHERE collection = 'memos'`), [[ROWS]])
    assert.deepEqual(rows(file, `SELECT count(*) FROM _search_memos('"7"')`), [[1]])
  }))
