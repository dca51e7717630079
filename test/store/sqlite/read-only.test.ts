/** A database that cannot be written: a start says so, with the file and what to do, and does not serve. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openSqlite } from '../../../src/store/sqlite.ts'
import { bin, blog as blogFile } from '../../processes/command.ts'
import { blog, withFile } from '../blog.ts'

/** Permissions do not restrain root: then the service runs as another user. */
const isRoot = process.getuid?.() === 0
const nobody = 65534
const asNobody = isRoot
  ? ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups', process.execPath]
  : [process.execPath]

async function start(file: string): Promise<{ readonly code: number | null; readonly said: string }> {
  const [command = '', ...words] = [...asNobody, '--conditions=portico-source', bin, 'start']
  const child = spawn(command, words, {
    env: {
      PATH: process.env.PATH,
      PORTICO_MODEL: blogFile,
      HOST: '127.0.0.1',
      PORT: '0',
      LOG_LEVEL: 'info',
      DATABASE_URL: file,
      PORTICO_SECRET_KEY: 'a-key-that-is-long-enough-for-this-test-alone',
    },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', chunk => {
      said += chunk
      if (said.includes('listening on')) child.kill('SIGKILL')
    })
  }
  const [code] = await once(child, 'close')
  return { code, said }
}

function own(path: string, mode: number): void {
  if (isRoot) chownSync(path, nobody, nobody)
  chmodSync(path, mode)
}

/** What is beside the file goes, so that it must be made anew. */
function alone(file: string): void {
  for (const end of ['-wal', '-shm']) rmSync(file + end, { force: true })
}

const cases = {
  'a file that may only be read': (file: string) => {
    own(dirname(file), 0o755)
    own(file, 0o444)
  },
  'a folder in which nothing may be made': (file: string) => {
    own(file, 0o644)
    own(dirname(file), 0o555)
  },
}

for (const [name, restrain] of Object.entries(cases)) {
  test(`${name}: the start is refused`, () =>
    withFile(async file => {
      await openSqlite(blog, { file }).close()
      alone(file)
      restrain(file)
      try {
        const { code, said } = await start(file)
        assert.equal(code, 1, said)
        assert.ok(said.includes(`The database ${file} cannot be written: `), said)
        assert.match(said, /must be able to write the file/)
        assert.doesNotMatch(said, /\n {4}at /)
      } finally {
        chmodSync(dirname(file), 0o755)
      }
      assert.ok(existsSync(file))
    }))
}

test('whether the file can be written is found out without a change to it, and beside another who writes', () =>
  withFile(async file => {
    await openSqlite(blog, { file }).close()
    const other = new DatabaseSync(file)
    other.exec('PRAGMA user_version = 7; BEGIN IMMEDIATE')
    const store = openSqlite(blog, { file, autoMigrate: false })
    other.exec('ROLLBACK')
    assert.equal(other.prepare('PRAGMA user_version').get()?.user_version, 7)
    other.close()
    await store.close()
  }))
