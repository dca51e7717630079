/** `portico export` and `portico import` on both databases, on the command line. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { isWhole } from '../../../cases.ts'
import { inheritedEnvironment } from '../../../system/processes/environment.ts'
import { startProcess } from '../../../system/processes/portico.ts'
import { library, program } from '../../../system/processes/program.ts'
import { kinds, type Project, withProject } from './fixture.ts'

const things = [
  {
    name: 'a "quoted", one',
    note: '',
    size: 1,
    weight: 0.5,
    done: true,
    kind: 'odd',
    at: '2026-01-02T03:04:05.678Z',
    extra: { b: [1, 'x'] },
  },
  {
    name: ' lines ',
    note: 'two\r\nlines\n',
    size: 2,
    weight: null,
    done: false,
    kind: null,
    at: null,
    extra: 'text',
  },
  {
    name: 'é',
    note: null,
    size: 3,
    weight: -1e21,
    done: false,
    kind: 'even',
    at: null,
    extra: null,
    parent_id: 1,
  },
]
const ndjson = things.map(thing => `${JSON.stringify(thing)}\n`).join('')

/** The unfinished files of exports. */
function partsIn(folder: string): readonly string[] {
  return readdirSync(folder).filter(name => name.endsWith('.part'))
}

async function countOf({ rows }: Project): Promise<number> {
  const [row] = await rows('SELECT count(*) AS "n", count(DISTINCT "name") AS "names" FROM "things"')
  assert.equal(Number(row?.n), Number(row?.names))
  return Number(row?.n)
}

for (const kind of kinds) {
  const scenario = (name: string, use: (project: Project) => Promise<void>) =>
    test(`${kind}: ${name}`, () => withProject(kind, use))
  /** Of code above the databases: in test:all on SQLite only. */
  const scenarioAbove = kind === 'SQLite' || isWhole ? scenario : () => undefined

  scenario('an export is imported elsewhere unchanged, in both formats', async project => {
    const { portico, write, folder } = project
    write('things.ndjson', ndjson)
    const imported = await portico('import', 'things', 'things.ndjson')
    assert.deepEqual([imported.code, imported.out, imported.err], [0, '3 rows of things imported.\n', ''])
    for (const file of ['out.csv', 'out.ndjson']) {
      const exported = await portico('export', 'things', file)
      assert.deepEqual([exported.code, exported.out], [0, ''], exported.err)
      assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600)
      const again = ['import', 'things', file, '--keep-ids', '--database', `${file}.db`]
      assert.equal((await portico(...again)).out, '3 rows of things imported.\n')
      const there = await portico('export', 'things', '--format', 'ndjson', '--database', `${file}.db`)
      const here = await portico('export', 'things', '--format', 'ndjson')
      assert.equal(there.out, here.out, there.err)
      const [, , third] = here.out
        .trim()
        .split('\n')
        .map(line => JSON.parse(line))
      assert.deepEqual([third.id, third.parent_id, third.weight, third.name], [3, 1, -1e21, 'é'])
    }
    assert.doesNotMatch(readFileSync(join(folder, 'out.csv'), 'utf8'), /pin/)
    const there = await portico('export', 'things', 'out.csv')
    assert.match(there.err, /^out\.csv already exists: --overwrite replaces it\.$/m)
    assert.deepEqual(partsIn(folder), [])
  })

  scenario(
    'an import counts its rows in the stored values of their parents',
    async ({ portico, write, rows: stored }) => {
      const rows = [
        { name: 'parent', done: true },
        { name: 'first', parent_id: 1, done: true },
        { name: 'second', parent_id: 1, done: false },
        { name: 'third', parent_id: 1, done: true },
        { name: 'fourth', parent_id: 2, done: true },
      ]
      write('rows.ndjson', rows.map(row => `${JSON.stringify(row)}\n`).join(''))
      assert.equal((await portico('import', 'things', 'rows.ndjson')).out, '5 rows of things imported.\n')
      const counts = await stored('SELECT "id", "done_children" AS "n" FROM "things" ORDER BY "id"')
      assert.deepEqual(
        counts.map(({ n }) => Number(n)),
        [2, 1, 0, 0, 0],
      )
      const parents = await portico(
        'export',
        'things',
        '--format',
        'csv',
        '--fields',
        'id',
        '--filter',
        'done_children[gte]=2',
      )
      assert.equal(parents.out, 'id\r\n1\r\n', parents.err)
    },
  )

  scenarioAbove(
    'an export contains the requested fields and items, with the permissions of the given user',
    async ({ portico, write }) => {
      write('things.ndjson', ndjson)
      await portico('import', 'things', 'things.ndjson')
      await portico('users', 'create', '--email', 'ann@example.com')
      const exported = await portico(
        'export',
        'things',
        '--format',
        'csv',
        '--fields',
        'name,id',
        '--filter',
        'size[gte]=2',
      )
      assert.equal(exported.out, 'name,id\r\n" lines ",2\r\né,3\r\n')
      assert.equal(exported.err, 'Exported 2 rows of things.\n')
      const users = await portico('export', 'users', '--format', 'ndjson', '--as', 'ann@example.com')
      assert.deepEqual(Object.keys(JSON.parse(users.out)), ['id', 'name', 'email', 'role', 'created_at'])
      const hidden = await portico('export', 'users', '--format', 'csv', '--fields', 'id,password_hash')
      assert.match(hidden.err, /^--fields: password_hash is not a field of users that can be exported/)
      assert.equal(hidden.code, 2)
    },
  )

  scenarioAbove('nobody exports or imports as a disabled user', async ({ portico, write }) => {
    write('things.csv', 'name\na thing\n')
    await portico('users', 'create', '--email', 'ann@example.com')
    await portico('users', 'disable', 'ann@example.com')
    for (const words of [
      ['export', 'things', 'all.csv'],
      ['import', 'things', 'things.csv'],
    ]) {
      const { code, err } = await portico(...words, '--as', 'ann@example.com')
      assert.match(err, /^The account ann@example\.com is disabled/)
      assert.equal(code, 1)
    }
    await portico('users', 'enable', 'ann@example.com')
    const imported = await portico('import', 'things', 'things.csv', '--as', 'ann@example.com')
    assert.equal(imported.code, 0, imported.err)
  })

  scenario('a dry run reports every fault with its line, and changes nothing', async project => {
    const { portico, write } = project
    write('first.csv', 'name\ntaken\n')
    await portico('import', 'things', 'first.csv')
    write(
      'bad.csv',
      'name,size,parent_id,extra\ngood,1,,"{""a"":1}"\n"two\nlines",x,,\ntaken,1,,\nlost,1,99,\nshort,1\nlast,1,,{\n',
    )
    const { code, err } = await portico('import', 'things', 'bad.csv', '--dry-run')
    assert.equal(code, 1)
    assert.deepEqual(err.trim().split('\n'), [
      '5 rows cannot be imported, 1 row can be imported. Nothing was changed.',
      '  line 3: name must be a single line. size must be a whole number.',
      '  line 5: name: Another item already has this value.',
      '  line 6: parent_id: There is no such item in things.',
      '  line 7: The row has 2 cells; the header has 4.',
      '  line 8: extra must be JSON.',
    ])
    assert.equal(await countOf(project), 1)
    const [event] = await project.rows('SELECT count(*) AS "n" FROM "_events"')
    assert.equal(Number(event?.n), 1)
  })

  scenarioAbove(
    'a faulty row stops the import, which resumes there once the row is corrected',
    async project => {
      const { portico, write } = project
      const rows = Array.from({ length: 1200 }, (_, index) => `row ${index},${index}`)
      const text = (size: string) => `name,size\n${rows.with(700, `row 700,${size}`).join('\n')}\n`
      write('rows.csv', text('many'))
      const stopped = await portico('import', 'things', 'rows.csv')
      assert.equal(stopped.code, 1)
      assert.match(stopped.err, /^The import stopped at line 702\. 700 rows before it were imported\./)
      assert.match(stopped.err, /^ {2}line 702: size must be a whole number/m)
      assert.equal(await countOf(project), 700)
      write('rows.csv', text('7'))
      const resumed = await portico('import', 'things', 'rows.csv')
      assert.match(resumed.err, /^Resuming after 700 rows that are already stored\.$/m)
      assert.equal(resumed.out, '1,200 rows of things imported.\n')
      assert.equal(await countOf(project), 1200)
      const again = await portico('import', 'things', 'rows.csv')
      assert.match(again.out, /^This file was already imported: 1,200 rows\. --restart imports it again\.$/m)
      const restarted = await portico('import', 'things', 'rows.csv', '--restart', '--on-conflict', 'skip')
      assert.equal(restarted.out, '0 rows of things imported, 1,200 rows skipped because of conflicts.\n')
      assert.equal(await countOf(project), 1200)
    },
  )

  scenario(
    'an import stopped by a row that the database refuses resumes there, and rows added to an imported file are imported',
    async project => {
      const { portico, write } = project
      write('first.csv', 'name\ntaken\n')
      await portico('import', 'things', 'first.csv')
      write('rows.csv', 'name\na\nb\ntaken\nc\n')
      const stopped = await portico('import', 'things', 'rows.csv')
      assert.match(stopped.err, /^The import stopped at line 4\. 2 rows before it were imported\./)
      // The same file again: it is not done.
      const again = await portico('import', 'things', 'rows.csv')
      assert.match(again.err, /^Resuming after 2 rows that are already stored\.$/m)
      assert.equal(again.code, 1)
      write('rows.csv', 'name\na\nb\nfree\nc\n')
      const resumed = await portico('import', 'things', 'rows.csv')
      assert.match(resumed.err, /^Resuming after 2 rows that are already stored\.$/m)
      assert.equal(resumed.out, '4 rows of things imported.\n')
      write('rows.csv', 'name\na\nb\nfree\nc\nd\n')
      const grown = await portico('import', 'things', 'rows.csv', '--on-conflict', 'skip')
      assert.equal(grown.out, '1 row of things imported, 4 rows skipped because of conflicts.\n', grown.err)
      write('rows.csv', 'name\ne\nf\ngree\nh\ni\n')
      const ofSameLength = await portico('import', 'things', 'rows.csv')
      assert.equal(ofSameLength.out, '5 rows of things imported.\n', ofSameLength.err)
      assert.equal(await countOf(project), 11)
    },
  )

  scenarioAbove('faulty rows are skipped on request, and written with their reasons', async project => {
    const { portico, write, folder } = project
    write(
      'rows.ndjson',
      '{"name":"a"}\n{"name":"b","size":"x"}\nnot json\n\n{"name":"a"}\n{"name":"c"}\n{"name":"d","name":"e"}\n{"name":"p","__proto__":{"size":1}}\n[1]',
    )
    const skipped = ['--skip-invalid', '--rejects', 'rejected.ndjson']
    const { code, out } = await portico('import', 'things', 'rows.ndjson', ...skipped)
    assert.deepEqual([code, out], [0, '2 rows of things imported, 6 invalid rows skipped.\n'])
    const rejected = readFileSync(join(folder, 'rejected.ndjson'), 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    assert.deepEqual(rejected.map(rejection => rejection.line).toSorted(), [2, 3, 5, 7, 8, 9])
    const noJson = rejected.find(rejection => rejection.line === 3)
    assert.match(noJson.reasons.join(), /^The row is not valid JSON/)
    assert.deepEqual(
      rejected.find(rejection => rejection.line === 5),
      { line: 5, reasons: ['name: Another item already has this value.'], row: '{"name":"a"}' },
    )
  })

  scenario('ids are kept on request, and later items get greater ones', async project => {
    const { portico, write } = project
    write('ids.csv', 'id,name,created_at\n7,seven,2020-01-01T00:00:00Z\n5000,last,2020-01-02T00:00:00Z\n')
    const without = await portico('import', 'things', 'ids.csv', '--dry-run')
    assert.match(without.err, /^id, created_at are read-only and were ignored; --keep-ids imports them\.$/m)
    assert.equal((await portico('import', 'things', 'ids.csv', '--keep-ids')).code, 0)
    write('more.csv', 'name\nnext\n')
    await portico('import', 'things', 'more.csv')
    write('taken.csv', 'id,name\n7,other\n0,zero\n')
    const dryRun = await portico('import', 'things', 'taken.csv', '--keep-ids', '--dry-run')
    assert.match(
      dryRun.err,
      /^ {2}line 2: .*already.*\n {2}line 3: id has a value that does not fit the field\.$/m,
    )
    const rows = await project.rows('SELECT "id", "name" FROM "things" ORDER BY "id"')
    assert.deepEqual(
      rows.map(({ id, name }) => [Number(id), name]),
      [
        [7, 'seven'],
        [5000, 'last'],
        [5001, 'next'],
      ],
    )
    const { out } = await portico(
      'export',
      'things',
      '--format',
      'csv',
      '--fields',
      'created_at',
      '--filter',
      'id=7',
    )
    assert.equal(out, 'created_at\r\n2020-01-01T00:00:00.000Z\r\n')
  })

  scenarioAbove('a row without a required field that is read-only is invalid', async ({ portico, write }) => {
    const source = JSON.stringify(library)
    write(
      'model.ts',
      `import { anyone, collection, integer, model, nobody, text } from ${source}
export default model({
  scores: collection({
    fields: { points: integer({ readOnly: true }), note: text() },
    access: { read: anyone, create: nobody },
  }),
})
`,
    )
    write('scores.csv', 'points,note\n7,good\n')
    const without = await portico('import', 'scores', 'scores.csv')
    assert.equal(without.code, 1)
    assert.match(without.err, /^points is read-only and was ignored; --keep-ids imports it\.$/m)
    assert.match(without.err, /^ {2}line 2: points: This field must have a value\.$/m)
    const imported = await portico('import', 'scores', 'scores.csv', '--keep-ids')
    assert.equal(imported.code, 0, imported.err)
  })

  scenario('a killed import resumes where it stopped, from a file and from standard input', async project => {
    const { portico, porticoWithInput: piped, write } = project
    const lines = Array.from(
      { length: 8000 },
      (_, index) => `{"name":"thing ${index}","note":"${'x'.repeat(100)}"}\n`,
    )
    write('many.ndjson', lines.join(''))
    for (const file of ['many.ndjson', '-']) {
      const before = file === '-' ? 8000 : 0
      const input = file === '-' ? lines.map(line => line.replace('thing', 'piped')) : []
      await killImport(project, file, input, before)
      assert.ok((await countOf(project)) < before + 8000)
      const words = ['import', 'things', file, '--format', 'ndjson']
      const { code, out, err } = file === '-' ? await piped(input, ...words) : await portico(...words)
      assert.deepEqual([code, out], [0, '8,000 rows of things imported.\n'], err)
      assert.match(err, /^Resuming after [\d,]+ rows that are already stored/)
      assert.equal(await countOf(project), before + 8000)
    }
    const [events] = await project.rows('SELECT count(*) AS "n" FROM "_events"')
    assert.equal(Number(events?.n), 16_000)
  })

  scenario('imports run while a service runs, which notifies its subscribers', async project => {
    const { portico, write, folder, environment } = project
    const service = await startProcess({ folder, environment })
    try {
      write('rows.csv', 'name\none\ntwo\n')
      assert.equal((await portico('import', 'things', 'rows.csv')).code, 0)
      const { json } = await service.call('/api/v1/things')
      assert.equal(Array.isArray(json.data) && json.data.length, 2)
    } finally {
      await service.end()
    }
  })

  scenario('two concurrent imports of one file import it once', async project => {
    const { portico, write } = project
    write(
      'rows.ndjson',
      Array.from({ length: 3000 }, (_, index) => `{"size":${index},"name":"n${index}"}\n`).join(''),
    )
    const both = await Promise.all([1, 2].map(() => portico('import', 'things', 'rows.ndjson')))
    assert.equal(await countOf(project), 3000)
    assert.ok(
      both.some(({ code }) => code === 0),
      both.map(({ err }) => err).join(),
    )
  })
}

/** Kills an import once some of its rows are stored. */
async function killImport(
  project: Project,
  file: string,
  input: readonly string[],
  before: number,
): Promise<void> {
  const words = [...program, 'import', 'things', file, '--format', 'ndjson']
  const child = spawn(process.execPath, words, {
    cwd: project.folder,
    env: { ...inheritedEnvironment, ...project.environment },
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  child.stdin.on('error', () => {})
  child.stdin.end(input.join(''))
  const exit = once(child, 'close')
  const hasBegun = async () => (await countOf(project).catch(() => 0)) > before
  while (!(await hasBegun()) && child.exitCode === null) await wait(5)
  child.kill('SIGKILL')
  await exit
}

test('a file much larger than the heap is imported and exported', () =>
  withProject('SQLite', async project => {
    const environment = { ...project.environment, NODE_OPTIONS: '--max-old-space-size=64' }
    const small = { ...project, environment }
    const note = 'x'.repeat(90_000)
    function* rows() {
      for (let index = 0; index < 1200; index += 1) yield `{"name":"thing ${index}","note":"${note}"}\n`
    }
    const child = await small.porticoWithInput(rows(), 'import', 'things', '--format', 'ndjson')
    assert.equal(child.out, '1,200 rows of things imported.\n', child.err)
    const exported = await small.portico('export', 'things', 'all.csv')
    assert.equal(exported.err, 'Exported 1,200 rows of things.\n')
    assert.ok(statSync(join(project.folder, 'all.csv')).size > 100_000_000)
  }))

test('invalid arguments are reported in one sentence', () =>
  withProject('SQLite', async ({ portico, write }) => {
    write('wrong.csv', 'name,nam\n')
    write('twice.csv', 'name,name\n')
    write('other.csv', 'name;size\n')
    const faults: readonly (readonly [words: string[], code: number, message: RegExp])[] = [
      [['import', 'things'], 2, /^Standard input and output have no extension/],
      [['import', 'thing', 'x.csv'], 1, /^There is no file x\.csv/],
      [['import', 'thing', 'wrong.csv'], 2, /^The model has no collection thing\. Did you mean `?things/],
      [['import', 'things', 'wrong.csv'], 1, /^The header: There is no field nam\. Did you mean `?name/],
      [['import', 'things', 'twice.csv'], 1, /^The header names name twice/],
      [['import', 'things', 'other.csv'], 1, /Columns are separated by commas/],
      [['import', 'things', 'wrong.csv', '--format', 'xml'], 2, /^--format is csv or ndjson, not xml/],
      [['import', 'api_keys', 'wrong.csv'], 2, /^api_keys cannot be imported/],
      [['import', 'things', 'wrong.csv', '--rejects', 'x'], 2, /^--rejects requires --skip-invalid/],
      [['import', 'things', 'wrong.csv', '--on-conflict', 'x'], 2, /^--on-conflict accepts only skip/],
      [['import', 'things', 'wrong.csv', '--keep-ids', '--as', 'a@b.c'], 2, /^--keep-ids and --as exclude/],
      [['import', 'things', 'wrong.csv', '--as', 'a@b.c'], 1, /^No user has the e-mail address a@b\.c/],
      [['import', 'things', 'a.csv', 'b.csv'], 2, /portico import <collection> \[file\] \[options\]/],
      [['export', 'things', 'x.csv', '--filter', 'sort=id'], 2, /is not a filter/],
      [['export', 'things', 'x.csv', '--filter', 'nam=1'], 1, /"nam" is not known/],
      [['export', 'things', 'nowhere/x.csv'], 1, /^Cannot write the export/],
    ]
    for (const [words, code, message] of faults) {
      const result = await portico(...words)
      assert.match(result.err, message)
      assert.equal(result.code, code, `${words}: ${result.err}`)
      assert.doesNotMatch(result.err, /\n {4}at /)
    }
  }))

test('an export leaves the unfinished file of another export alone', () =>
  withProject('SQLite', async ({ portico, folder }) => {
    const other = join(folder, 'things.csv.part')
    writeFileSync(other, 'half')
    const exported = await portico('export', 'things', 'things.csv')
    assert.equal(exported.code, 0, exported.err)
    assert.equal(readFileSync(other, 'utf8'), 'half')
    const failed = await portico('export', 'things', 'things.csv', '--overwrite', '--filter', 'nam=1')
    assert.equal(failed.code, 1)
    assert.deepEqual(partsIn(folder), ['things.csv.part'])
  }))

test('an interrupted export leaves no file behind', () =>
  withProject('SQLite', async ({ portico, write, folder, environment }) => {
    const note = 'x'.repeat(90_000)
    const rows = Array.from({ length: 500 }, (_, index) => `{"name":"thing ${index}","note":"${note}"}\n`)
    write('things.ndjson', rows.join(''))
    await portico('import', 'things', 'things.ndjson')
    const child = spawn(process.execPath, [...program, 'export', 'things', 'out.csv'], {
      cwd: folder,
      env: { ...inheritedEnvironment, ...environment },
      stdio: 'ignore',
    })
    const exit = once(child, 'close')
    while (partsIn(folder).length === 0 && child.exitCode === null) await wait(1)
    child.kill('SIGINT')
    const [code] = await exit
    assert.deepEqual([code, readdirSync(folder).filter(name => name.startsWith('out.csv'))], [1, []])
  }))

test('rejected rows are not appended to the file that is imported, whatever its path', () =>
  withProject('SQLite', async ({ portico, write, folder }) => {
    const rows = 'name,size\none,x\ntwo,2\n'
    write('rows.csv', rows)
    symlinkSync('rows.csv', join(folder, 'link.csv'))
    for (const rejects of ['rows.csv', './rows.csv', join(folder, 'rows.csv'), 'link.csv']) {
      const words = ['import', 'things', 'rows.csv', '--skip-invalid', '--rejects', rejects]
      const { code, err } = await portico(...words)
      assert.deepEqual([code, err], [2, '--rejects must not be the file that is imported.\n'], rejects)
      assert.equal(readFileSync(join(folder, 'rows.csv'), 'utf8'), rows)
    }
  }))

test('a file that cannot be read or written is one sentence', { skip: process.platform !== 'linux' }, () =>
  withProject('SQLite', async ({ portico, write }) => {
    write('rows.csv', 'name,size\none,x\n')
    const unwritable = ['--skip-invalid', '--rejects', 'nowhere/rejected.ndjson']
    const written = await portico('import', 'things', 'rows.csv', ...unwritable)
    assert.match(written.err, /^Cannot write to nowhere\/rejected\.ndjson: ENOENT[^\n]*\n$/)
    const read = await portico('import', 'things', '/proc/self/mem', '--format', 'csv')
    assert.match(read.err, /^Cannot read \/proc\/self\/mem: EIO[^\n]*\n$/)
    assert.deepEqual([written.code, read.code], [1, 1])
  }),
)

test('an import that fails ends although its standard input stays open', () =>
  withProject('SQLite', async ({ folder, environment }) => {
    const words = [...program, 'import', 'things', '--format', 'csv']
    const child = spawn(process.execPath, words, {
      cwd: folder,
      env: { ...inheritedEnvironment, ...environment },
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    const exit = once(child, 'close', { signal: AbortSignal.timeout(20_000) })
    child.stdin.on('error', () => {})
    child.stdin.write('nam\n')
    try {
      const [output, [code]] = await Promise.all([text(child.stderr), exit])
      assert.match(output, /^The header: There is no field nam/)
      assert.equal(code, 1)
    } finally {
      child.kill('SIGKILL')
    }
  }))

test('control characters in a file do not reach the terminal', () =>
  withProject('SQLite', async ({ portico, write }) => {
    write('rows.ndjson', `${JSON.stringify({ name: 'a', '\u001b[2J\u009b': 1 })}\n`)
    const { err } = await portico('import', 'things', 'rows.ndjson')
    assert.match(err, /^ {2}line 1: /m)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may reach a terminal
    assert.doesNotMatch(err, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
  }))

test(
  'an export to a full disk fails; one whose reader stops early does not',
  {
    skip: process.platform !== 'linux',
  },
  () =>
    withProject('SQLite', async ({ folder, environment, portico, write }) => {
      write('things.ndjson', ndjson)
      await portico('import', 'things', 'things.ndjson')
      const shell = (to: string) => {
        const command = `${[process.execPath, ...program].map(word => `"${word}"`).join(' ')} export things --format csv ${to}`
        return spawnSync('bash', ['-o', 'pipefail', '-c', command], {
          cwd: folder,
          env: { ...inheritedEnvironment, ...environment },
          encoding: 'utf8',
        })
      }
      const full = shell('> /dev/full')
      assert.match(full.stderr, /^Cannot write the export: ENOSPC/m)
      assert.equal(full.status, 1)
      const head = shell('| true')
      assert.equal(head.status, 0, head.stderr)
      assert.doesNotMatch(head.stderr, /Cannot write|\n {4}at /)
    }),
)
