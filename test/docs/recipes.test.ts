/**
 * The recipes, each in a folder of its own: their tests pass, and their commands, run next to a service on their model,
 * print what the pages show. `examples.test.ts` compiles their files.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { type Declaration, serve } from 'portico'
import { generateKey } from '../../src/identity/keys/key.ts'
import { debianFolders, findProgram } from '../programs.ts'
import { withPostgres } from '../setups/databases/postgres.ts'
import { isBuilt } from '../system/processes/program.ts'
import { blocksOf, fillIn } from './blocks.ts'
import { read, root } from './pages.ts'
import { createProject, projectEnvironment } from './project.ts'
import { recipeFolder, recipes, writeRecipe } from './recipe-files.ts'

const run = promisify(execFile)

let project = ''
let env: Record<string, string> = {}
before(() => {
  project = createProject(root)
  const { PATH, ...rest } = projectEnvironment(project)
  env = {
    ...rest,
    // The last folders contain `psql` if it is not on the PATH.
    PATH: [dirname(process.execPath), PATH, ...debianFolders()].join(delimiter),
    ...(!isBuilt && { NODE_OPTIONS: '--conditions=portico-source' }),
    PORTICO_MODEL: 'model.ts',
    KEY: generateKey(),
  }
  for (const page of recipes) writeRecipe(project, page)
})
after(() => rmSync(project, { recursive: true, force: true }))

describe('the recipes', { concurrency: 2 }, () => {
  it('pass their own tests', async () => {
    assert.ok(recipes.length >= 10)
    const args = ['--test', '--test-isolation=none', '--test-force-exit', `${project}/*/*.test.ts`]
    const { stdout } = await run(process.execPath, args, { cwd: project, env }).catch(failed =>
      assert.fail(`${failed.stdout}\n${failed.stderr}`),
    )
    assert.match(stdout, /pass 8\n/)
  })

  for (const page of recipes) it(`${page} prints what the page shows`, () => answersOn(page))
})

/** Placeholders in the pages for the reader's previous database. */
const former = '$OTHER_DATABASE_URL'

function answersOn(page: string): Promise<void> {
  if (!read(page).includes(former)) return answers(page, {})
  return withPostgres(async OTHER_DATABASE_URL => {
    const script = join(recipeFolder(project, page), 'database.sql')
    await run('psql', [OTHER_DATABASE_URL, '-qf', script, '-v', 'ON_ERROR_STOP=1'], { env })
    await answers(page, { OTHER_DATABASE_URL })
  })
}

async function answers(page: string, other: Record<string, string>): Promise<void> {
  const cwd = recipeFolder(project, page)
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
    for (const [index, { language, text }] of blocks.entries()) {
      if (language !== 'sh') continue
      const command = text
        .replaceAll('http://localhost:3000', service.url)
        .replace(/^curl /, `${findProgram('curl')} -s `)
      const surroundings = { cwd, env: { ...env, ...other, DATABASE_URL: database } }
      const { stdout } = await run('bash', ['-e', '-c', command], surroundings).catch(failed =>
        assert.fail(`${text}\n${failed.stdout}\n${failed.stderr}`),
      )
      const next = blocks[index + 1]
      if (next?.language !== 'json') continue
      const real: unknown = JSON.parse(stdout)
      assert.deepEqual(real, fillIn(JSON.parse(next.text), real), text)
    }
  } finally {
    await service.close()
  }
}
