/** File names are durable before a command reports success: their folder is synced as well. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { backUp } from '../../../src/engine/store/sqlite/file/backup.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { blog, withFile } from '../../engine/store/blog.ts'
import { blog as example } from '../processes/command.ts'
import { program } from '../processes/program.ts'
import { parseTrace, type SystemCall, strace } from './trace.ts'

const calls =
  'trace=mkdir,mkdirat,unlink,unlinkat,rename,renameat,renameat2,link,linkat,rmdir,fsync,fdatasync,openat'

/** The system calls of a command that change file names or sync files. */
function traceCommand(output: string, words: readonly string[]): readonly SystemCall[] {
  const [command = '', ...rest] = [...strace(output, ['-e', calls]), process.execPath, ...program, ...words]
  const env = { PATH: process.env.PATH, PORTICO_MODEL: example }
  const { status, stderr } = spawnSync(command, rest, { encoding: 'utf8', env })
  assert.equal(status, 0, stderr)
  return parseTrace(readFileSync(output, 'latin1')).filter(({ result }) => !result.startsWith('-1'))
}

const isSyncOf = (path: string) => (call: SystemCall) => call.name === 'fsync' && call.target === path
const names = (call: SystemCall, name: string, path: string) =>
  call.name.startsWith(name) && call.args.includes(`"${path}"`)

test('creating a database syncs the folders and the name of the file', () =>
  withFile(file => {
    const folder = dirname(file)
    const database = join(folder, 'one', 'two', 'data.db')
    const all = traceCommand(`${file}.trace`, ['migrate', '--apply', '--database', database])
    for (const [parent, child] of [
      [folder, join(folder, 'one')],
      [join(folder, 'one'), join(folder, 'one', 'two')],
    ] as const) {
      const index = all.findIndex(call => names(call, 'mkdir', child))
      assert.ok(index >= 0, child)
      assert.ok(all.slice(index).some(isSyncOf(parent)), `${parent} is synced after ${child}`)
    }
    const log = all.findIndex(isSyncOf(`${database}-wal`))
    assert.ok(log >= 0)
    assert.ok(
      all.slice(log).some(isSyncOf(dirname(database))),
      'SQLite syncs the folder with the first commit',
    )
  }))

test('restore durably removes the log of the previous database before it renames the copy', () =>
  withFile(async file => {
    await openSqlite(blog, { file }).close()
    const copy = `${file}.copy`
    await backUp({ from: file, to: copy, overwrite: false })
    // The previous log exists, as after a kill: `restore` must not leave it next to the copy.
    const { execPath } = process
    const kill = `const { DatabaseSync } = require('node:sqlite'); const d = new DatabaseSync(${JSON.stringify(file)}); d.exec('PRAGMA journal_mode = WAL; PRAGMA user_version = 1'); process.kill(process.pid, 'SIGKILL')`
    spawnSync(execPath, ['-e', kill])
    const all = traceCommand(`${file}.trace`, ['restore', copy, '--overwrite', '--database', file])
    const renamed = all.findIndex(call => names(call, 'rename', file))
    const removed = all.findLastIndex(call => names(call, 'unlink', `${file}-wal`))
    assert.ok(removed >= 0 && renamed > removed, `${removed} ${renamed}`)
    const syncs = all.flatMap((call, index) => (isSyncOf(dirname(file))(call) ? [index] : []))
    assert.ok(
      syncs.some(sync => sync > removed && sync < renamed),
      'between',
    )
    assert.ok(
      syncs.some(sync => sync > renamed),
      'after',
    )
  }))
