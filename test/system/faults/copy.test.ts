/** `kill -9` during a copy: the next run resumes it, and no service starts on the copy before it is complete. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type MigrationDatabase, migrationDatabases } from '../../setups/databases/migrations.ts'
import { before } from './migration-models.ts'

const program = fileURLToPath(new URL('copying-process.ts', import.meta.url))
const rowCount = 20_000

/** Kills the copy after `killAfter` steps. Returns its output. */
async function copy(from: string, to: string, killAfter = Number.POSITIVE_INFINITY): Promise<string> {
  const args = [program, from, to, String(killAfter)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', chunk => {
    output += chunk
    if (output.length >= killAfter) child.kill('SIGKILL')
  })
  await once(child, 'close')
  return output
}

async function fill(database: MigrationDatabase, location: string): Promise<void> {
  await (await database.open(location, before)).close()
  await database.run(
    location,
    `INSERT INTO notes (title, body, created_at)
     WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rowCount})
     SELECT 'title ' || n, 'body of ' || n, '2026-01-01T00:00:00.000Z' FROM numbers`,
  )
}

function rows(database: MigrationDatabase, location: string): Promise<unknown[][]> {
  return database.rows(location, 'SELECT id, title, body, created_at FROM notes ORDER BY id')
}

for (const from of migrationDatabases) {
  for (const to of migrationDatabases) {
    test(`a killed copy from ${from.name} to ${to.name} is resumed`, () =>
      from.withEmpty(source =>
        to.withEmpty(async target => {
          await fill(from, source)
          // At the first row, in the middle, at the end of the rows, and while both sides are compared.
          for (const killAfter of [1, 20, 41, 60]) {
            const output = await copy(source, target, killAfter)
            assert.doesNotMatch(output, /done/)
            await assert.rejects(to.open(target, before), /an unfinished copy/)
            await assert.rejects(to.plan(target, before), /an unfinished copy/)
          }
          assert.match(await copy(source, target), /done$/)
          await to.assertConsistent(target)
          assert.deepEqual(await to.plan(target, before), [])
          assert.deepEqual(await rows(to, target), await rows(from, source))
          const total = `SELECT CAST(sum(n) AS integer) AS n FROM _totals WHERE collection = 'notes'`
          assert.deepEqual(await to.rows(target, total), [[rowCount]])
          await (await to.open(target, before)).close()
        }),
      ))
  }
}
