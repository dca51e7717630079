/** `portico copy` on the command line. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, test } from 'node:test'
import { Reporter } from '../../../src/tools/cli/progress.ts'
import { withPostgres } from '../../setups/databases/postgres.ts'
import { type CommandResult, portico as command } from '../../system/processes/command.ts'

const source = resolve(import.meta.dirname, '../../../src')
let folder = ''
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'portico-copy-'))
  const text = `import { anyone, collection, model, string } from '${source}/index.ts'
export default model({ notes: collection({ fields: { title: string() }, access: { read: anyone } }) })
`
  writeFileSync(join(folder, 'model.ts'), text)
})
after(() => rmSync(folder, { recursive: true, force: true }))

function portico(...words: string[]): Promise<CommandResult> {
  const environment = { PORTICO_MODEL: 'model.ts', NODE_ENV: 'production' }
  return command(words, { folder, environment })
}

test('a copy reports its progress, and at the end what it contains', () =>
  withPostgres(async url => {
    assert.match((await portico('--help')).out, /^ {2}copy +Copy a database/m)
    assert.match((await portico('copy', '--help')).out, /--from <database>.*--to <database>.*--live/s)
    assert.equal((await portico('migrate', '--apply', '--database', 'one.db')).code, 0)
    const created = await portico('users', 'create', '--email', 'a@b.example', '--database', 'one.db')
    assert.equal(created.code, 0, created.err)
    const { code, out, err } = await portico('copy', '--from', 'one.db', '--to', url)
    assert.equal(code, 0, err)
    assert.match(err, /^Copying users 1 of 1, 100 % …$/m)
    assert.match(err, /^Creating indexes and search tables …\n$/m)
    assert.match(out, /^table +rows +checksum/)
    assert.match(out, /^users +1 +[0-9a-f]{16}$/m)
    assert.match(out, /^notes +0 +[0-9a-f]{16}$/m)
    assert.match(out, /^Done: copied .*one\.db to .*\.$/m)
    assert.match((await portico('users', 'list', '--database', url)).out, /a@b\.example/)
    const again = await portico('copy', '--from', 'one.db', '--to', url)
    assert.deepEqual([again.code, again.out], [0, out])
    const added = await portico('users', 'create', '--email', 'c@b.example', '--database', url)
    assert.equal(added.code, 0, added.err)
    const refused = await portico('copy', '--from', 'one.db', '--to', url)
    assert.equal(refused.code, 1)
    assert.match(
      refused.err,
      /^The target is a finished copy of this source, and users has changed in one[^\n]*\n$/m,
    )
  }))

test('invalid arguments are reported in one sentence, without a password', async () => {
  const faults: readonly (readonly [words: string[], code: number, message: RegExp])[] = [
    [['copy', '--from', 'one.db'], 2, /needs --to/],
    [['copy', '--from', 'mysql://me:secret@host/x', '--to', 'x.db'], 2, /^--from takes a file for SQLite/],
    [['copy', '--from', ':memory:', '--to', 'x.db'], 2, /^--from names a database in memory/],
    [['copy', '--from', 'nowhere.db', '--to', 'x.db'], 1, /^There is no database at .*nowhere\.db\.$/m],
    [
      ['copy', '--from', 'postgres://me:secret@127.0.0.1:1/x', '--to', 'x.db'],
      1,
      /^The database cannot be reached/,
    ],
    [
      ['copy', '--from', './model.ts', '--to', 'x.db'],
      1,
      /^The database cannot be opened: file is not a database/,
    ],
  ]
  for (const [words, code, message] of faults) {
    const result = await portico(...words)
    assert.equal(result.code, code, `${words}: ${result.err}`)
    assert.match(result.err, message)
    assert.doesNotMatch(result.err, /secret|\n {4}at /)
  }
})

test('a terminal shows one line of progress, which is updated and removed', () => {
  let written = ''
  let now = 1000
  const reporter = new Reporter({ isTTY: true, write: text => (written += text) }, () => now)
  reporter.report({ doing: 'copy', table: 'notes', done: 500, of: 2000 })
  reporter.report({ doing: 'copy', table: 'notes', done: 1000, of: 2000 })
  now += 200
  reporter.report({ doing: 'copy', table: 'notes', done: 1500, of: 2000 })
  reporter.report({ doing: 'compare', table: 'notes', done: 500, of: 0 })
  reporter.end()
  assert.equal(
    written,
    '\r\x1b[KCopying notes 500 of 2,000, 25 % …\r\x1b[KCopying notes 1,500 of 2,000, 75 % …\r\x1b[KComparing notes 500 …\r\x1b[K',
  )
})
