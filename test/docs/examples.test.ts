/** The commands in the documentation are run, and their output is compared with the pages. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { checkModel, type Declaration, serve } from 'portico'
import blog from '../../examples/blog/model.ts'
import { clientTypesOfModel } from '../../src/tools/generate/generate.ts'
import { findProgram } from '../programs.ts'
import { withPostgres } from '../setups/databases/postgres.ts'
import { anchorsOf, blocksOf, examplesOf, fillIn } from './blocks.ts'
import { authorizationCode, authorizationUrlIn, storeCredentials } from './flow.ts'
import { isStepByStep, pages, read, root } from './pages.ts'
import { createProject, projectEnvironment } from './project.ts'
import { recipes, writeRecipe } from './recipe-files.ts'

const run = promisify(execFile)
const alone = pages.filter(page => !isStepByStep(page))
const [firstModel = { text: '' }] = blocksOf(read('README.md')).filter(({ language }) => language === 'ts')
const [ownMails = { text: '' }] = blocksOf(read('docs/mail.md')).filter(({ language }) => language === 'ts')

let project = ''
before(() => {
  project = createProject(root)
  writeFileSync(join(project, 'model.ts'), firstModel.text)
  writeFileSync(join(project, 'mails.ts'), ownMails.text)
})
after(() => rmSync(project, { recursive: true, force: true }))

/** A command that runs until it is stopped: the test waits until it listens. */
async function listens(command: string): Promise<void> {
  const env = {
    ...projectEnvironment(project),
    PORTICO_MODEL: join(root, 'examples', 'blog', 'model.ts'),
    PORT: '0',
    HOST: '127.0.0.1',
    DATABASE_URL: `${project}/start.db`,
  }
  const child = spawn('bash', ['-c', `exec env ${command}`], { cwd: project, env })
  let output = ''
  const listeningUrl = new Promise<string>(resolve => {
    const take = (chunk: Buffer) => {
      output += chunk
      const url = /(?:listening on |REST +)(http:[^"\s]+?)(?:\/api\/v1|"|\n)/.exec(output)?.[1]
      if (url !== undefined) resolve(url)
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    child.once('close', () => resolve(''))
  })
  try {
    const url = await listeningUrl
    assert.notEqual(url, '', output)
    assert.equal((await fetch(`${url}/healthz`)).status, 200)
  } finally {
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'close')
  }
  assert.equal(child.exitCode, 0, output)
}

/** Placeholders in the pages for the reader's databases. */
const file = './data/portico.db'
const server = 'postgres://user:password@host:5432/portico'

function answersOn(page: string): Promise<void> {
  return read(page).includes(server) ? withPostgres(url => answers(page, url)) : answers(page, server)
}

async function answers(page: string, postgres: string): Promise<void> {
  const database = join(project, `${page.replaceAll('/', '-')}.db`)
  const service = await serve(blog, { port: 0, host: '127.0.0.1', database, logLevel: 'silent' })
  const env: Record<string, string> = {
    ...projectEnvironment(project),
    KEY: service.firstAdministrator?.key ?? '',
    DATABASE_URL: database,
    PORTICO_MODEL: join(root, 'examples', 'blog', 'model.ts'),
  }
  try {
    const examples = examplesOf(
      read(page).replaceAll(server, postgres).replaceAll(`--from ${file}`, `--from ${database}`),
    )
    for (const { command, answer } of examples) {
      if (/\b(npm|portico) (start|dev)\b/.test(command)) {
        await listens(command)
        continue
      }
      if (command.includes('$CODE')) {
        const { email = '', password = '' } = service.firstAdministrator ?? {}
        env.CODE = await authorizationCode(authorizationUrlIn(read(page), service.url, env), {
          email,
          password,
        })
      }
      const localCommand = command
        .replaceAll('http://localhost:3000', service.url)
        .replace(/^curl /, `${findProgram('curl')} -s `)
      const { stdout } = await run('bash', ['-e', '-c', localCommand], { env, cwd: project })
      if (!command.startsWith('curl ')) continue
      if (command.includes('text/csv')) {
        assert.equal(stdout.replaceAll('\r\n', '\n'), answer, command)
        continue
      }
      const real: unknown = JSON.parse(stdout)
      storeCredentials(real, env)
      if (answer === undefined) assert.ok(!stdout.includes('"error"'), `${command}\n${stdout}`)
      else assert.deepEqual(real, fillIn(JSON.parse(answer), real), command)
    }
  } finally {
    await service.close()
  }
}

describe('the code blocks of the pages', () => {
  it('have a language, so that each is run, compiled or compared', () => {
    const languages = ['sh', 'json', 'ts', 'tsx', 'text', 'graphql', 'yaml']
    for (const page of pages) {
      const fences = read(page).match(/^```.*$/gm) ?? []
      assert.equal(fences.length % 2, 0, page)
      for (const fence of fences.filter((_, index) => index % 2 === 0))
        assert.ok(languages.includes(fence.slice(3)), `${page}: ${fence}`)
    }
  })

  it('compile if they are TypeScript', async () => {
    const files = alone.flatMap(page =>
      blocksOf(read(page))
        .filter(({ language }) => language === 'ts')
        .map(({ text }, n) => ({ name: `${page.replaceAll(/\W/g, '-')}-${n}.ts`, text })),
    )
    assert.ok(files.length >= 5)
    for (const { name, text } of files) writeFileSync(join(project, name), text)
    for (const page of recipes) writeRecipe(project, page)
    // docs/generate-client.md imports it, and its command generates it.
    writeFileSync(join(project, 'api.ts'), clientTypesOfModel(checkModel(blog), 'model.ts'))
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    await run(process.execPath, [compiler, '-p', project]).catch(({ stdout }) => assert.fail(stdout))
  })

  it('are valid if they are config files', async () => {
    const config = blocksOf(read('docs/running.md')).find(({ text }) => text.includes('GivenSettings'))
    assert.ok(config)
    const file = join(project, 'portico.config.ts')
    writeFileSync(file, config.text)
    try {
      const { stdout } = await run('portico', ['print', 'openapi', '--model', 'model.ts'], {
        cwd: project,
        env: projectEnvironment(project),
      })
      assert.deepEqual(JSON.parse(stdout).servers, [{ url: 'http://localhost:8080' }])
    } finally {
      rmSync(file)
    }
  })
})

describe('the commands', () => {
  // Those of the README create a project: `first-page.test.ts` runs them.
  for (const page of alone.filter(name => name !== 'README.md' && examplesOf(read(name)).length > 0)) {
    it(`in ${page} print what the page shows`, () => answersOn(page))
  }
  it('exist', () => {
    assert.ok(pages.flatMap(page => examplesOf(read(page))).length >= 10)
  })
})

describe('the models', () => {
  const models = alone.flatMap(page =>
    blocksOf(read(page))
      .filter(({ language, text }) => language === 'ts' && text.includes('export default model('))
      .map(({ text }) => ({ page, text })),
  )
  for (const [n, { page, text }] of models.entries()) {
    it(`of ${page} are valid`, async () => {
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

/** Files of the project and its examples. Files created by `create` link to an installed package. */
const furtherPages = [
  ...['ARCHITECTURE.md', 'CHANGELOG.md', 'create/README.md', 'examples/react/README.md'],
  ...readdirSync(join(root, 'decisions')).map(name => `decisions/${name}`),
]

describe('the links', () => {
  for (const page of [...pages, ...furtherPages]) {
    it(`from ${page} lead to existing pages and headings`, () => {
      const base = pathToFileURL(join(root, page))
      for (const [, target = '', anchor] of read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)) {
        const targetUrl = new URL(target, base)
        const text = existsSync(targetUrl)
          ? readFileSync(targetUrl, 'utf8')
          : assert.fail(`${page} → ${target}`)
        if (anchor !== undefined) assert.ok(anchorsOf(text).has(anchor), `${page} → ${target}#${anchor}`)
      }
    })
  }
})

test('every URL of pages and documents in the documentation is served', async () => {
  const service = await serve(blog, {
    port: 0,
    host: '127.0.0.1',
    database: join(project, 'addresses.db'),
    logLevel: 'silent',
  })
  try {
    // Only `portico dev` serves /dev. A URL with a parameter stands for many.
    const documentedPaths = pages.flatMap(page =>
      [...read(page).matchAll(/`(\/(?!dev\/|metrics)[a-z._][\w./-]*)`/g)].map(([, path = '']) => path),
    )
    const roots = /^\/(docs|account|api\/v1(?=\/)|healthz|readyz|graphql|\.well-known)(\/|$)/
    // With the path of a `BASE_URL`, which this service does not have.
    const isBelowPath = (path: string) => path.endsWith('/backend')
    const paths = [...new Set(documentedPaths)].filter(path => roots.test(path) && !isBelowPath(path))
    assert.ok(paths.length > 15, String(paths))
    const missing: string[] = []
    for (const path of paths) {
      const { status } = await fetch(service.url + path, { redirect: 'manual' })
      if (status === 404) missing.push(path)
    }
    assert.deepEqual(missing, [])
  } finally {
    await service.close()
  }
})

test('the index of the documentation links to every page', () => {
  const linked = new Set(
    [...read('docs/README.md').matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, name]) => `docs/${name}`),
  )
  const inDocs = pages.filter(page => page.startsWith('docs/') && page !== 'docs/README.md')
  assert.deepEqual(
    inDocs.filter(page => !linked.has(page)),
    [],
  )
})

test('headings and ids are the anchors of a page', () => {
  const page = '# One\n\n## The key: `a_b` & co.\n\n| <a id="NOT_FOUND"></a> |\n'
  assert.deepEqual([...anchorsOf(page)], ['one', 'the-key-a_b--co', 'NOT_FOUND'])
})

describe('a documented response with gaps', () => {
  it('is completed only where a text was received', () => {
    assert.deepEqual(fillIn({ a: '…', b: 1 }, { a: 'x', b: 2 }), { a: 'x', b: 1 })
    assert.deepEqual(fillIn({ a: '…' }, { a: 1 }), { a: '…' })
    assert.deepEqual(fillIn(['…'], []), ['…'])
  })
})
