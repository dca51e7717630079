/**
 * The recipes, each in a folder of its own: their files compile, their tests pass, their commands run beside a service
 * on their model, and answer what they say.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { type Declaration, serve } from 'portico'
import { generateKey } from '../../src/auth/key.ts'
import { withPostgres } from '../databases/postgres.ts'
import { blocksOf, filledIn } from './blocks.ts'
import { pages, read, root } from './pages.ts'
import { makeProject, projectEnvironment } from './project.ts'

const run = promisify(execFile)
const recipes = pages.filter(page => page.startsWith('docs/recipe-'))
const nameOf = (page: string) => basename(page, '.md').replace('recipe-', '')
const folderOf = (page: string) => join(project, nameOf(page))

let project = ''
let env: Record<string, string> = {}
before(() => {
  project = makeProject(root)
  const { PATH, ...rest } = projectEnvironment(project)
  env = {
    ...rest,
    PATH: [dirname(process.execPath), PATH].join(delimiter),
    NODE_OPTIONS: '--conditions=portico-source',
    PORTICO_MODEL: 'model.ts',
    KEY: generateKey(),
  }
  for (const page of recipes) writeFiles(page)
})
after(() => rmSync(project, { recursive: true, force: true }))

/** The blocks that begin with the name of a file, and what the other system gave out. */
function writeFiles(page: string): void {
  const folder = folderOf(page)
  const given = join(import.meta.dirname, 'exports', nameOf(page))
  mkdirSync(folder)
  if (existsSync(given)) cpSync(given, folder, { recursive: true })
  if (read(page).includes('pb_data/data.db')) writePocketBase(folder)
  for (const { language, text } of blocksOf(read(page))) {
    const name = /^\/\/ (\S+\.ts)\n/.exec(text)?.[1]
    if (language === 'ts' && name !== undefined) writeFileSync(join(folder, name), text)
  }
}

/** The tables that a PocketBase 0.29 has made, without the hashes of its passwords. */
function writePocketBase(folder: string): void {
  mkdirSync(join(folder, 'pb_data'))
  const database = new DatabaseSync(join(folder, 'pb_data', 'data.db'))
  database.exec(readFileSync(join(folder, 'database.sql'), 'utf8'))
  database.close()
}

describe('the recipes', { concurrency: 2 }, () => {
  it('compile', async () => {
    assert.ok(recipes.length >= 8)
    const config = join(project, 'tsconfig.json')
    const { compilerOptions } = (await import(config, { with: { type: 'json' } })).default
    writeFileSync(config, JSON.stringify({ compilerOptions, include: ['*/*.ts'] }))
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    await run(process.execPath, [compiler, '-p', project]).catch(({ stdout }) => assert.fail(stdout))
  })

  it('pass their own tests', async () => {
    const args = ['--test', '--test-isolation=none', '--test-force-exit', `${project}/*/*.test.ts`]
    const { stdout } = await run(process.execPath, args, { cwd: project, env }).catch(failed =>
      assert.fail(`${failed.stdout}\n${failed.stderr}`),
    )
    assert.match(stdout, /pass 6\n/)
  })

  for (const page of recipes) it(`${page} answers what it says`, () => answersOn(page))
})

/** What stands in the pages for the database that a reader comes from. */
const former = '$OTHER_DATABASE_URL'

function answersOn(page: string): Promise<void> {
  if (!read(page).includes(former)) return answers(page, {})
  return withPostgres(async OTHER_DATABASE_URL => {
    const script = join(folderOf(page), 'database.sql')
    await run('psql', [OTHER_DATABASE_URL, '-qf', script, '-v', 'ON_ERROR_STOP=1'])
    await answers(page, { OTHER_DATABASE_URL })
  })
}

async function answers(page: string, other: Record<string, string>): Promise<void> {
  const cwd = folderOf(page)
  const { default: model } = (await import(pathToFileURL(join(cwd, 'model.ts')).href)) as {
    default: Declaration
  }
  const adminApiKey = env.KEY ?? ''
  const database = join(cwd, 'data.db')
  const service = await serve(model, {
    port: 0,
    host: '127.0.0.1',
    database,
    adminApiKey,
    logLevel: 'silent',
  })
  const blocks = blocksOf(read(page))
  try {
    for (const [at, { language, text }] of blocks.entries()) {
      if (language !== 'sh') continue
      const command = text.replaceAll('http://localhost:3000', service.url).replace(/^curl /, 'curl -s ')
      const surroundings = { cwd, env: { ...env, ...other, DATABASE_URL: database } }
      const { stdout } = await run('bash', ['-e', '-c', command], surroundings).catch(failed =>
        assert.fail(`${text}\n${failed.stdout}\n${failed.stderr}`),
      )
      const next = blocks[at + 1]
      if (next?.language !== 'json') continue
      const real: unknown = JSON.parse(stdout)
      assert.deepEqual(real, filledIn(JSON.parse(next.text), real), text)
    }
  } finally {
    await service.close()
  }
}
