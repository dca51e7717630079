/** A service does not start on a database that cannot be written; the error names the file and the remedy. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openSqlite } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { blog as blogFile } from '../../../system/processes/command.ts'
import { program } from '../../../system/processes/program.ts'
import { blog, withFile } from '../blog.ts'

/**
 * Permissions restrict root as its owner without the capability that overrides them (capabilities(7)). Another user might not be
 * able to read the sources, as in a clone under /root.
 */
const node =
  process.getuid?.() === 0
    ? ['setpriv', '--bounding-set=-dac_override', '--inh-caps=-dac_override', process.execPath]
    : [process.execPath]

async function start(file: string): Promise<{ readonly code: number | null; readonly output: string }> {
  const [command = '', ...words] = [...node, ...program, 'start']
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
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', chunk => {
      output += chunk
      if (output.includes('listening on')) child.kill('SIGKILL')
    })
  }
  const [code] = await once(child, 'close')
  return { code, output }
}

/** Removes the files next to the database, so that they must be created again. */
function removeWal(file: string): void {
  for (const end of ['-wal', '-shm']) rmSync(file + end, { force: true })
}

const cases = {
  'a read-only file': (file: string) => chmodSync(file, 0o444),
  'a read-only folder': (file: string) => chmodSync(dirname(file), 0o555),
}

for (const [name, restrain] of Object.entries(cases)) {
  test(`a start on ${name} is refused`, () =>
    withFile(async file => {
      await openSqlite(blog, { file }).close()
      removeWal(file)
      restrain(file)
      try {
        const { code, output } = await start(file)
        assert.equal(code, 1, output)
        assert.ok(output.includes(`The database ${file} cannot be written: `), output)
        assert.match(output, /must be able to write the file/)
        assert.doesNotMatch(output, /\n {4}at /)
      } finally {
        chmodSync(dirname(file), 0o755)
      }
      assert.ok(existsSync(file))
    }))
}

test('the check whether the file can be written does not change it and works while another process writes', () =>
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
