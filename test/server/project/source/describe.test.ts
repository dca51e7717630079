import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { ModelError } from '../../../../src/model/check/faults.ts'
import { declarationPlace } from '../../../../src/server/project/source/declaration-place.ts'
import {
  describeCrash,
  describeLoadError,
  describeModelError,
} from '../../../../src/server/project/source/describe.ts'
import { codeFrame } from '../../../../src/server/project/source/frame.ts'
import { formatSteps } from '../../../../src/tools/cli/commands/migrate.ts'
import { formatLine } from '../../../../src/tools/dev/log-lines.ts'

let folder = ''

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'portico-source-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, text: string): string {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

const model = `import people, { tagged as labels } from './parts.ts'
import { shared } from './shared.ts'
// notes: { fields: { title: 'a comment' } }
const quoted = "tasks: { fields"
const pattern = /tasks: [/'"{]/g
const short = { max: 3 }
export default model(
  {
    'notes': collection({
      description: \`fields: { title \${nested(\`fields: { \${'}'} \`)} }\`,
      fields: { body: text(), title: text(short), access: text() },
      access: { read: anyone },
      async check({ next }) { const title = next.title; return [] },
    }),
    people,
    labels,
    tasks: tasksOf(shared),
  },
  { actions: { archive: action({ on: 'notes', run() {} }) } },
)
`
const parts = `const common = { mark: text() }
const fields = { name: text() }
export const tagged: Declared = collection({ fields: { ...common, tag: text({ unknown: 1 }) } })
export default collection({ fields, access: { read: anyone } })
`

const places: readonly (readonly [path: string, place: string])[] = [
  ['notes', "model.ts:9 'notes'"],
  ['notes.fields.title', 'model.ts:11 title: text'],
  ['notes.fields.title.max', 'model.ts:6 max: 3'],
  ['notes.fields.access.read', 'model.ts:11 access: text'],
  ['notes.access.read', 'model.ts:12 read: anyone'],
  ['notes.access.update', 'model.ts:12 access: {'],
  ['notes.check', 'model.ts:13 check('],
  ['people', 'model.ts:15 people,'],
  ['people.fields.name', 'parts.ts:2 name: text'],
  ['people.access.read', 'parts.ts:4 read: anyone'],
  ['labels.fields.tag.unknown', 'parts.ts:3 unknown: 1'],
  ['labels.fields.mark', 'parts.ts:1 mark: text'],
  ['tasks.fields.title', 'model.ts:17 tasks: tasksOf'],
  ['actions.archive.run', 'model.ts:19 run()'],
]

test('a fault is located where the model, or a module that it imports, declares its subject', () => {
  const file = write('model.ts', model)
  write('parts.ts', parts)
  for (const [path, place] of places) {
    const found = declarationPlace(file, path)
    assert.ok(found, path)
    const [name = '', ...rest] = place.split(' ')
    const [short = '', line] = name.split(':')
    assert.equal(found.file, join(folder, short), path)
    assert.equal(found.line, Number(line), path)
    const source = (short === 'model.ts' ? model : parts).split('\n')[found.line - 1] ?? ''
    assert.ok(
      source.slice(found.column - 1).startsWith(rest.join(' ')),
      `${path}: ${source.slice(found.column - 1)}`,
    )
  }
  assert.equal(declarationPlace(file, 'users.fields.name'), undefined)
})

test('a fault in a shared rule is located in its definition, one in the declaration itself stays there', () => {
  const shared = `import { related, owner, field } from 'portico'
const own = owner('user_id')
export const isTeam = related('teams', own).or(field('project.archved').eq(null))
export const loop = loop.and(isTeam)
`
  const source = `import { collection, field, model, related, role } from 'portico'
import { isTeam, loop } from './rules.ts'
const isOpen = field('stat').eq('open')
export default model({
  posts: collection({
    access: { read: isTeam.or(role('admin')), create: isOpen, update: loop, delete: field('titel').eq(isOpen) },
  }),
})
`
  const file = write('shared.ts', source)
  write('rules.ts', shared)
  const rows = [
    ['posts.access.read', '`posts` has no relation `teams`.', "rules.ts:3 'teams'"],
    ['posts.access.read', '`projects` has no field `archved`.', "rules.ts:3 'project.archved'"],
    ['posts.access.create', '`posts` has no field `stat`. Did you mean `teams`?', "shared.ts:3 'stat'"],
    ['posts.access.update', '`posts` has no relation `teams`.', "rules.ts:3 'teams'"],
    ['posts.access.delete', '`posts` has no field `titel`.', 'shared.ts:6 delete:'],
    ['posts.access.read', '`posts` has no relation `elsewhere`.', 'shared.ts:6 read:'],
    ['posts.access.read', 'It is no rule.', 'shared.ts:6 read:'],
  ] as const
  for (const [path, message, expected] of rows) {
    const found = declarationPlace(file, path, message)
    assert.ok(found, message)
    const [name = '', ...rest] = expected.split(' ')
    const [short = '', line] = name.split(':')
    assert.deepEqual([found.file, found.line], [join(folder, short), Number(line)], message)
    const text = (short === 'shared.ts' ? source : shared).split('\n')[found.line - 1] ?? ''
    assert.ok(
      text.slice(found.column - 1).startsWith(rest.join(' ')),
      `${message}: ${text.slice(found.column - 1)}`,
    )
  }
})

test('every fault of a model is listed, and its source cannot move the cursor of the terminal', () => {
  const file = write(
    'hostile.ts',
    "export default model({ notes: collection({ fields: { a: '\u001b[2J\u202e' } }) })\n",
  )
  const text = describeModelError(
    file,
    new ModelError([
      { place: 'notes.fields.a', message: 'Wrong.' },
      { place: 'made.by.program', message: 'Wrong too.' },
    ]),
  )
  assert.match(text, /2 faults:\n {2}notes\.fields\.a: Wrong\.\n.*hostile\.ts:1:54\n/)
  assert.match(text, /made\.by\.program: Wrong too\./)
  assert.ok(text.includes('\\u001b[2J\\u202e') && !text.includes('\u001b'))
})

test('tokenising any source terminates, and a frame of any place is shown', () => {
  for (const source of [
    '`${',
    '/* ',
    "'",
    '/',
    '}}})',
    '`${`${`',
    'a: {'.repeat(2000),
    '\\',
    '\u{1F600}: {',
  ]) {
    assert.doesNotThrow(() => declarationPlace(write('odd.ts', source), 'a.a.a'))
  }
  const file = write('short.ts', 'one\ntwo\n')
  assert.match(codeFrame({ file, line: 2, column: 99 }), /> 2 \| two\n {4}\| {4}\^/)
  assert.doesNotMatch(codeFrame({ file, line: 9, column: 1 }), /\|/)
  assert.match(codeFrame({ file: join(folder, 'none.ts'), line: 1, column: 1 }), /none\.ts:1:1$/)
})

const broken: readonly (readonly [name: string, source: string, says: RegExp])[] = [
  ['syntax.ts', 'const a: number = {\n  b: 1\n  c: 2,\n}\n', /syntax\.ts:3:3[\s\S]*> 3 \| {3}c: 2,/],
  ['end.ts', 'export const a = oops(\n', /Expression expected[\s\S]*end\.ts:1:/],
  ['enum.ts', 'const b = 1\nenum A { b }\n', /as const[\s\S]*enum\.ts:2:1/],
  ['thrown.ts', "const a: string = 'x'\nthrow new RangeError(a)\n", /RangeError: x\.[\s\S]*thrown\.ts:2:7/],
  ['text.mjs', "throw 'a text'\n", /"a text", which is not an error/],
  ['bigint.mjs', 'throw 1n\n', /1n, which is not an error/],
  ['circular.mjs', 'const self = {}\nself.self = self\nthrow self\n', /Circular.*, which is not an error/],
  ['file.ts', "import { a } from './thrown'\n", /ends with `\.ts`[\s\S]*file\.ts:1:19/],
  ['script.ts', "import { a } from './thrown.js'\n", /`\.ts` instead of `\.js`[\s\S]*script\.ts:1:19/],
  ['package.ts', "\nimport a from 'not-installed'\n", /not-installed[\s\S]*package\.ts:2:15/],
  ['name.ts', "import { nothing } from './thrown.ts'\n", /named 'nothing'[\s\S]*name\.ts:1:10/],
]

for (const [name, source, says] of broken) {
  test(`a module that cannot be loaded is located: ${name}`, async () => {
    write('package.json', '{"type":"module"}')
    if (name !== 'thrown.ts') write('thrown.ts', "const a: string = 'x'\nthrow new RangeError(a)\n")
    const file = write(name, source)
    const error = await import(pathToFileURL(file).href).then(
      () => undefined,
      thrown => thrown,
    )
    const text = describeLoadError(error)
    assert.match(text, says)
    assert.doesNotMatch(text, /node:internal/)
  })
}

test('the message of an error shows no file that it names, and cannot move the cursor', () => {
  const content = ['KEY', 'secret'].join('=')
  const shown = new RegExp(`${content}|[\\u001b\\u202e]`)
  const secret = write('.env', content)
  const hostile = [
    `x\n    at ${secret}:1:1`,
    `x\n    at run (${pathToFileURL(secret)}:1:1)`,
    `${secret}: (line 1 column 1)`,
    `Cannot find module 'secret' imported from ${secret}`,
    'x\n    at file://elsewhere/a.ts:1:1\n    at file:///%2f.ts:1:1',
    'x\n    at /dev/zero:1:1',
    `x\n    ${'at '.repeat(200_000)}`,
    'a\u001b[2J\u202e',
  ]
  for (const message of hostile) {
    const text = describeCrash(new Error(message))
    assert.doesNotMatch(text, shown)
    const line = {
      level: 50,
      time: 0,
      msg: 'failed',
      err: { type: 'Error', message, stack: `Error: ${message}` },
    }
    assert.doesNotMatch(formatLine(JSON.stringify(line)), shown)
  }
})

test('data quoted by a migration cannot move the cursor', () => {
  const step: Parameters<typeof formatSteps>[0][number] = {
    sentence: 'Make the field notes.a shorter.',
    sql: [],
    destructive: false,
    additive: false,
    surplus: false,
    faults: ['notes 1: `a\u001b[2J\n\u202e` is too long'],
  }
  assert.match(formatSteps([step], false), / {2}x notes 1: `a\\u001b\[2J\\u000a\\u202e` is too long\n$/)
})
