/** A migration whose COMMIT cannot be synced: its message stays true, whoever opens the database next. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { blog, withFile } from '../../engine/store/blog.ts'
import { blog as example } from '../processes/command.ts'
import { program } from '../processes/program.ts'
import { strace } from './trace.ts'

/** `portico migrate --apply` to another model, while syncs of the log fail. */
function migrateWhile(
  file: string,
  when: string,
): { readonly status: number | null; readonly output: string } {
  const inject = ['-e', 'trace=fsync', '-P', `${file}-wal`, '-e', `inject=fsync:error=EIO:when=${when}`]
  const words = ['migrate', '--apply', '--allow-destructive', '--database', file]
  const [command = '', ...rest] = [...strace(`${file}.trace`, inject), process.execPath, ...program, ...words]
  const env = { PATH: process.env.PATH, PORTICO_MODEL: example }
  const { status, stdout, stderr } = spawnSync(command, rest, { encoding: 'utf8', env })
  return { status, output: stdout + stderr }
}

function tablesOf(file: string): readonly unknown[] {
  const database = new DatabaseSync(file)
  try {
    return database
      .prepare('SELECT sql FROM sqlite_schema ORDER BY name')
      .all()
      .map(row => row.sql)
  } finally {
    database.close()
  }
}

/** A database of another model, whose log exists and stays. */
async function withOther(use: (file: string) => void): Promise<void> {
  await withFile(async file => {
    await openSqlite(blog, { file }).close()
    const reader = new DatabaseSync(file)
    reader.prepare('SELECT count(*) FROM posts').get()
    try {
      use(file)
    } finally {
      reader.close()
    }
  })
}

test('after one failed sync the migration is rolled back, even when the database is opened again', () =>
  withOther(file => {
    const before = tablesOf(file)
    // The first sync is of the header of the log.
    const { status, output } = migrateWhile(file, '2')
    assert.equal(status, 1, output)
    assert.match(output, /Nothing was changed\./)
    // As after a kill of all processes that have it open: the log alone determines the contents.
    for (const end of ['', '-wal']) copyFileSync(file + end, `${file}.copy${end}`)
    assert.deepEqual(tablesOf(`${file}.copy`), before)
  }))

test('when every sync fails, the migration reports that it may have been applied', () =>
  withOther(file => {
    const { status, output } = migrateWhile(file, '2+')
    assert.equal(status, 1, output)
    assert.match(output, /The migration may have been applied/)
  }))
