/** What the pages tell users to type is typed, and answers what they say. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { checkModel, type Declaration, serve } from 'portico'
import blog from '../../examples/blog/model.ts'
import { blocksOf, examplesOf, filledIn } from './blocks.ts'

const root = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter(name => name.endsWith('.md'))
    .map(name => `docs/${name}`),
]
const read = (page: string) => readFileSync(join(root, page), 'utf8')

async function answers(page: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-docs-'))
  const service = await serve(blog, {
    port: 0,
    host: '127.0.0.1',
    database: join(folder, 'blog.db'),
    logLevel: 'silent',
  })
  const port = new URL(service.url).port
  const env = { ...process.env, KEY: service.firstAdministrator?.key ?? '' }
  try {
    for (const { command, answer } of examplesOf(read(page))) {
      const here = command
        .replaceAll('http://localhost:3000', `http://127.0.0.1:${port}`)
        .replace(/^curl /, 'curl -s ')
      const { stdout } = await run('bash', ['-c', here], { env })
      const real: unknown = JSON.parse(stdout)
      if (answer === undefined) assert.ok(!stdout.includes('"error"'), `${command}\n${stdout}`)
      else assert.deepEqual(real, filledIn(JSON.parse(answer), real), command)
    }
  } finally {
    await service.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

describe('the commands in the pages', () => {
  for (const page of pages.filter(name => examplesOf(read(name)).length > 0)) {
    it(`${page} answers what it says`, () => answers(page))
  }
  it('are there', () => {
    assert.ok(pages.flatMap(page => examplesOf(read(page))).length >= 10)
  })
})

describe('the models in the pages', () => {
  const models = pages.flatMap(page =>
    blocksOf(read(page))
      .filter(({ language, text }) => language === 'ts' && text.includes('export default model('))
      .map(({ text }) => ({ page, text })),
  )
  for (const [n, { page, text }] of models.entries()) {
    it(`${page} shows one that checks`, async () => {
      const file = join(import.meta.dirname, `model-${process.pid}-${n}.tmp.ts`)
      writeFileSync(file, text)
      try {
        const { default: declaration } = (await import(pathToFileURL(file).href)) as { default: Declaration }
        assert.ok(checkModel(declaration).collections.size >= 3)
      } finally {
        rmSync(file)
      }
    })
  }
})

describe('the links between the pages', () => {
  for (const page of [...pages, 'ARCHITECTURE.md', 'CONTRIBUTING.md']) {
    it(`${page} links to what is there`, () => {
      const base = pathToFileURL(join(root, page))
      for (const [, target = ''] of read(page).matchAll(/\]\((?!https?:)([^)#]+)/g)) {
        assert.doesNotThrow(() => readFileSync(new URL(target, base)), `${page} → ${target}`)
      }
    })
  }
})

describe('an answer with gaps', () => {
  it('is filled in only where a text really came', () => {
    assert.deepEqual(filledIn({ a: '…', b: 1 }, { a: 'x', b: 2 }), { a: 'x', b: 1 })
    assert.deepEqual(filledIn({ a: '…' }, { a: 1 }), { a: '…' })
    assert.deepEqual(filledIn(['…'], []), ['…'])
  })
})
