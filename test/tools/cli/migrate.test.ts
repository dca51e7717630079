/** Changing a model with data, on the command line. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, beforeEach, test } from 'node:test'
import { query as onPostgres, withPostgres } from '../../setups/databases/postgres.ts'
import { type CommandResult, portico as command } from '../../system/processes/command.ts'
import { startProcess } from '../../system/processes/portico.ts'

const source = resolve(import.meta.dirname, '../../../src')
let folder = ''
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'portico-migrate-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

const environment = { DATABASE_URL: './notes.db', PORTICO_MODEL: 'model.ts', NODE_ENV: 'production' }

function portico(...words: string[]): Promise<CommandResult> {
  return command(words, { folder, environment })
}

/** Writes a model with one collection. */
function declare(name: string, options: string, fields: string): void {
  const text = `import { anyone, collection, index, integer, model, string, text } from '${source}/index.ts'
export default model({
  ${name}: collection({ ${options} fields: { ${fields} }, access: { read: anyone } }),
})
`
  writeFileSync(join(folder, 'model.ts'), text)
}

function query(sql: string): unknown[] {
  const database = new DatabaseSync(join(folder, 'notes.db'))
  try {
    return database
      .prepare(sql)
      .all()
      .map(row => ({ ...row }))
  } finally {
    database.close()
  }
}

const fields = 'title: string(), words: text({ optional: true }), stars: integer({ optional: true })'

beforeEach(async () => {
  for (const end of ['', '-wal', '-shm']) rmSync(join(folder, `notes.db${end}`), { force: true })
  declare('notes', '', fields)
  assert.equal((await portico('migrate', '--apply')).code, 0)
  query(
    "INSERT INTO notes (title, words, stars, created_at) VALUES ('One', 'w', 5, '2026-01-01T00:00:00.000Z')",
  )
})

test('an additive change is shown first, and then applied without a flag', async () => {
  declare('notes', "indexes: [index('mood')],", `${fields}, mood: string({ default: 'calm' })`)
  const plan = await portico('migrate')
  assert.equal(plan.code, 0)
  assert.match(plan.out, /^ {2}- .*notes\.mood/m)
  assert.match(plan.out, /Nothing was changed: run `portico migrate --apply`/)
  assert.throws(() => query('SELECT mood FROM notes'), /no such column/)
  assert.match((await portico('migrate', '--apply')).out, /Done\.\n$/)
  assert.deepEqual(query('SELECT title, mood FROM notes'), [{ title: 'One', mood: 'calm' }])
  assert.equal((await portico('migrate')).out, 'The database matches the model: nothing to do.\n')
})

test('a rename keeps the data, and a service starts on it', async () => {
  declare(
    'entries',
    "renamedFrom: 'notes',",
    "title: string(), content: text({ optional: true, renamedFrom: 'words' }), stars: integer({ optional: true })",
  )
  const start = await portico('start', '--port', '0')
  assert.equal(start.code, 1)
  assert.match(start.err, /does not fit the model.*Rename the collection notes to entries.*portico migrate/s)
  const { code, out } = await portico('migrate', '--apply')
  assert.equal(code, 0)
  assert.match(out, /^ {2}- Rename the collection notes to entries\.$/m)
  assert.match(out, /^ {4}Rename the field entries\.words to content\.$/m)
  assert.deepEqual(query('SELECT id, title, content, stars FROM entries'), [
    { id: 1, title: 'One', content: 'w', stars: 5 },
  ])
})

test('a step that loses data is marked, refused without the flag, and then applied', async () => {
  declare('notes', '', 'title: string(), words: text({ optional: true })')
  assert.match(
    (await portico('migrate')).out,
    /^ {2}! Drop the field notes\.stars with its values\.$.*--allow-destructive/ms,
  )
  const refused = await portico('migrate', '--apply')
  assert.equal(refused.code, 1)
  assert.match(refused.err, /--allow-destructive.*Nothing was changed/s)
  assert.deepEqual(query('SELECT stars FROM notes'), [{ stars: 5 }])
  assert.equal((await portico('migrate', '--apply', '--allow-destructive')).code, 0)
  assert.throws(() => query('SELECT stars FROM notes'), /no such column/)
  assert.deepEqual(query('SELECT title FROM notes'), [{ title: 'One' }])
})

test('of several changes of a collection, those that lose data are marked', async () => {
  declare('notes', '', "name: string({ renamedFrom: 'title' }), words: text({ optional: true })")
  const { out } = await portico('migrate')
  assert.match(
    out,
    /^ {2}- Rename the field notes\.title to name\.\n {2}! Drop the field notes\.stars with its values\.$/m,
  )
  const { err } = await portico('start', '--port', '0')
  assert.match(err, /Rename the field notes\.title/)
})

test('a change that the data does not allow is reported in the plan, and no flag applies it', async () => {
  declare('notes', '', 'title: string(), words: text({ optional: true }), stars: integer({ max: 4 })')
  const fault =
    /^ {2}x notes\.stars: 1 item with a value that the model does not allow, e\.g\. item 1, which must .*4.*\. Change or delete them/m
  const plan = await portico('migrate')
  assert.equal(plan.code, 0)
  assert.match(plan.out, /^ {2}- Make notes\.stars required\.$/m)
  assert.match(plan.out, fault)
  assert.match(
    plan.out,
    /marked x: the data does not fit\. Correct the data first\. Nothing was changed\.\n$/,
  )
  const refused = await portico('migrate', '--apply', '--allow-destructive')
  assert.equal(refused.code, 1)
  assert.match(refused.err, fault)
  assert.match(refused.err, /Nothing was changed\.\n$/)
  query('UPDATE notes SET stars = 4')
  assert.match((await portico('migrate', '--apply')).out, /Done\.\n$/)
})

test('an older version starts in production on a newer database with additions, and reports them', async () => {
  declare('notes', '', `${fields}, mood: string({ optional: true })`)
  assert.equal((await portico('migrate', '--apply')).code, 0)
  declare('notes', '', fields)
  const service = await startProcess({ folder, environment })
  try {
    assert.equal((await service.call('/api/v1/notes/1')).status, 200)
    assert.match(
      service.output(),
      /Drop the field notes\.mood with its values\..*the database has more than the model/,
    )
  } finally {
    await service.end()
  }
  assert.deepEqual(query('SELECT title, mood FROM notes'), [{ title: 'One', mood: null }])
})

test('when one of several steps fails, none is applied', async () => {
  declare('notes', '', `${fields}, mood: string({ default: 'calm' }), must: string()`)
  const before = query('SELECT name, sql FROM sqlite_schema ORDER BY name')
  const { code, err } = await portico('migrate', '--apply', '--allow-destructive')
  assert.equal(code, 1)
  assert.match(err, /notes\.must/)
  assert.match(err, /Nothing was changed/)
  assert.doesNotMatch(err, /\n {4}at /)
  assert.deepEqual(query('SELECT name, sql FROM sqlite_schema ORDER BY name'), before)
  assert.deepEqual(query('SELECT title, stars FROM notes'), [{ title: 'One', stars: 5 }])
})

test('the SQL of each step is shown on request', async () => {
  declare('notes', "indexes: [index('stars')],", `${fields}, mood: string({ default: 'calm' })`)
  assert.doesNotMatch((await portico('migrate')).out, /CREATE INDEX/)
  assert.match(
    (await portico('migrate', '--sql')).out,
    /^ {8}CREATE INDEX "notes__stars__index" ON "notes" \("stars"\);$/m,
  )
})

test('a PostgreSQL database is shown and migrated as a file is', () =>
  withPostgres(async url => {
    const on = ['--database', url]
    declare('notes', '', fields)
    assert.match((await portico('migrate', ...on)).out, /^ {2}- Create the collection notes\.$/m)
    assert.match((await portico('migrate', '--apply', ...on)).out, /Done\.\n$/)
    await onPostgres(
      url,
      "INSERT INTO notes (title, words, stars, created_at) VALUES ('One', 'w', 5, '2026-01-01T00:00:00.000Z')",
    )
    declare('notes', "indexes: [index('stars')],", `${fields}, mood: string({ default: 'calm' })`)
    const plan = await portico('migrate', '--sql', ...on)
    assert.match(plan.out, /^ {8}CREATE INDEX CONCURRENTLY ".*" ON "notes" \("stars" NULLS FIRST, "id"\);$/m)
    const refused = await portico('start', '--port', '0', ...on)
    assert.match(refused.err, /does not fit the model.*notes\.mood.*portico migrate/s)
    assert.match((await portico('migrate', '--apply', ...on)).out, /Done\.\n$/)
    assert.equal((await portico('migrate', ...on)).out, 'The database matches the model: nothing to do.\n')
    const prepared = 'ALTER TABLE notes ADD CONSTRAINT "_new_stars__required" CHECK (stars > 9) NOT VALID'
    await onPostgres(url, prepared)
    assert.match((await portico('migrate', '--apply', ...on)).out, /nothing to do/)
    await onPostgres(url, 'UPDATE notes SET stars = 6')
    assert.deepEqual(await onPostgres(url, 'SELECT title, mood FROM notes'), [{ title: 'One', mood: 'calm' }])
    declare('notes', '', 'title: string()')
    assert.match(
      (await portico('migrate', '--apply', ...on)).err,
      /--allow-destructive.*Nothing was changed/s,
    )
    assert.equal((await portico('migrate', '--apply', '--allow-destructive', ...on)).code, 0)
    assert.deepEqual(await onPostgres(url, 'SELECT * FROM notes').then(([row]) => Object.keys(row ?? {})), [
      'id',
      'title',
      'created_at',
    ])
    assert.match((await portico('print', 'sql', ...on)).out, /GENERATED BY DEFAULT AS IDENTITY/)
  }))

test('an unreachable PostgreSQL server is reported in one sentence, without the password', async () => {
  for (const words of [['migrate'], ['migrate', '--apply'], ['start', '--port', '0']]) {
    const { code, err } = await portico(...words, '--database', 'postgres://me:secret@127.0.0.1:1/data')
    assert.equal(code, 1, words.join(' '))
    assert.match(err, /^The database cannot be reached: [^\n]*\n$/)
    assert.doesNotMatch(err, /secret/)
  }
})

test('check names the file and lists every fault with its place', async () => {
  declare('Notes', '', 'Title: string({ max: -1 }), id: string(), stars: integer({ min: 3, max: 1 })')
  for (const command of ['check', 'migrate', 'start']) {
    const { code, out, err } = await portico(command)
    assert.deepEqual([code, out], [1, ''])
    assert.match(err, /^model\.ts: The model has \d faults:\n/)
    for (const place of [
      'Notes',
      'Notes.fields.Title',
      'Notes.fields.Title.max',
      'Notes.fields.id',
      'Notes.fields.stars.min',
    ])
      assert.ok(err.includes(`\n  ${place}: `), `${place} in ${err}`)
    assert.doesNotMatch(err, /\n {4}at /)
  }
})

test('an invalid database, or one that cannot be created, is reported in one sentence', async () => {
  for (const [command, file] of [
    [['migrate'], './model.ts'],
    [['start'], './model.ts'],
    [['start'], './model.ts/below.db'],
    [['migrate', '--apply'], './model.ts/below.db'],
  ] as const) {
    const { code, err } = await portico(...command, '--database', file)
    assert.equal(code, 1, `${command} ${file}`)
    assert.match(err, /^The database cannot be opened: .*`--database` or DATABASE_URL names its file\.\n$/)
  }
})

test('an unknown option is named, with the usage of the command', async () => {
  const { code, err } = await portico('check', '--modle', 'x')
  assert.equal(code, 2)
  assert.equal(err, "Unknown option '--modle'.\nUsage: portico check [options]\n")
})
