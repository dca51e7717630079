/** Files that people write with editors of any system: a byte order mark is no content, and UTF-16 is refused, never ignored. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { readManifest } from '../../src/api/graphql/documents/manifest.ts'
import { documentHash } from '../../src/api/graphql/documents/stored-documents.ts'
import { loadEnvFile } from '../../src/base/env-file.ts'
import { readKeyFile } from '../../src/identity/encryption/key-file.ts'
import { newKeyText } from '../../src/identity/encryption/record-cipher.ts'
import { loadSettings } from '../../src/server/project/project.ts'
import { RowReader } from '../../src/tools/cli/transfer/rows.ts'
import { blog } from '../engine/store/blog.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-text-'))
before(() => process.chdir(folder))
after(() => {
  process.chdir('/')
  rmSync(folder, { recursive: true })
})

const utf16 = (text: string) => Buffer.from(text, 'utf16le')
const bigEndian = (text: string) => utf16(text).swap16()

/** How editors save a text as UTF-8, and otherwise. */
const asUtf8 = (text: string) => [text, `\ufeff${text}`, `\ufeff${text.replaceAll('\n', '\r\n')}`]
const otherwise = (text: string) => [
  utf16(`\ufeff${text}`),
  bigEndian(`\ufeff${text}`),
  utf16(text),
  bigEndian(text),
]

const posts = blog.collections.get('posts')
assert.ok(posts)

function firstRow(format: 'csv' | 'ndjson', content: string | Buffer): unknown {
  const reader = new RowReader(posts as NonNullable<typeof posts>, format, false)
  const bytes = Buffer.from(content)
  const records =
    format === 'csv'
      ? [bytes.subarray(0, bytes.indexOf('\n') + 1), bytes.subarray(bytes.indexOf('\n') + 1)]
      : [bytes]
  return records.map((record, n) => reader.read({ bytes: record, line: n + 1 } as never)?.values).at(-1)
}

const document = '{ posts { id } }'
const key = newKeyText()

interface TextFile {
  readonly name: string
  readonly text: string
  readonly read: (content: string | Buffer, name: string) => unknown
  readonly expected: unknown
}

const files: readonly TextFile[] = [
  {
    name: '.env',
    text: 'PORTICO_TEST_FIRST=one\nPORTICO_TEST_SECOND=two\n',
    read: () => {
      loadEnvFile()
      const { PORTICO_TEST_FIRST, PORTICO_TEST_SECOND } = process.env
      delete process.env.PORTICO_TEST_FIRST
      delete process.env.PORTICO_TEST_SECOND
      return [PORTICO_TEST_FIRST, PORTICO_TEST_SECOND]
    },
    expected: ['one', 'two'],
  },
  {
    name: 'portico.config.json',
    text: '{\n  "port": 1234\n}\n',
    read: () => loadSettings({}).then(({ port }) => port),
    expected: 1234,
  },
  {
    name: 'documents.json',
    text: `{\n"${documentHash(document)}": "${document}"\n}\n`,
    read: (_, name) => [...readManifest(name).values()],
    expected: [document],
  },
  { name: 'data.key', text: `# Keys\n${key}\n`, read: (_, name) => readKeyFile(name), expected: [key] },
  {
    name: 'posts.csv',
    text: 'title\nOne\n',
    read: content => firstRow('csv', content),
    expected: { title: 'One' },
  },
  {
    name: 'posts.ndjson',
    text: '{"title":"One"}\n',
    read: content => firstRow('ndjson', content),
    expected: { title: 'One' },
  },
]

for (const { name, text, read, expected } of files) {
  test(`${name} may have a byte order mark and CRLF, and is refused in UTF-16`, async () => {
    for (const content of asUtf8(text)) {
      writeFileSync(name, content)
      assert.deepEqual(await read(content, name), expected, JSON.stringify(content))
    }
    for (const content of otherwise(text)) {
      writeFileSync(name, content)
      await assert.rejects(async () => read(content, name), /is in UTF-16: save it as UTF-8/, name)
    }
    rmSync(name)
  })
}

test('a value in a file that the environment names takes precedence over one in .env, and the reverse', () => {
  const names = ['PORTICO_TEST_ONE', 'PORTICO_TEST_TWO', 'PORTICO_TEST_BOTH', 'TEST_OF_OTHERS']
  const all = names.flatMap(name => [name, `${name}_FILE`])
  for (const name of all) delete process.env[name]
  process.env.PORTICO_TEST_ONE_FILE = '/run/secrets/one'
  process.env.PORTICO_TEST_TWO = 'set'
  process.env.TEST_OF_OTHERS = 'debug'
  const lines = ['ONE=file', 'TWO_FILE=/two', 'BOTH=a', 'BOTH_FILE=/both'].map(line => `PORTICO_TEST_${line}`)
  writeFileSync('.env', [...lines, 'TEST_OF_OTHERS_FILE=others.log', ''].join('\n'))
  try {
    loadEnvFile()
    assert.deepEqual(
      all.map(name => process.env[name]),
      [undefined, '/run/secrets/one', 'set', undefined, 'a', '/both', 'debug', 'others.log'],
    )
  } finally {
    rmSync('.env')
    for (const name of all) delete process.env[name]
  }
})

test('variables that the environment has set take precedence over those of .env', () => {
  process.env.PORTICO_TEST_FIRST = 'set'
  writeFileSync('.env', 'PORTICO_TEST_FIRST=file\n')
  loadEnvFile()
  assert.equal(process.env.PORTICO_TEST_FIRST, 'set')
  rmSync('.env')
})
