/** The packed package, installed into an empty project with a model of its own. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { packBoth } from '../create/registry.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..', '..')
const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: _context, ...env } = process.env

const model = `import { anyone, collection, model, role, string } from 'portico'
export default model({
  trees: collection({ fields: { name: string() }, access: { read: anyone, create: role('admin') } }),
})
`

const embedding = `import { serve, type CreateInput, type Item } from 'portico'
import model from './model.ts'

const service = await serve(model, { port: 0, host: '127.0.0.1', database: './embedded.db', logLevel: 'silent' })
const input: CreateInput<typeof model, 'trees'> = { name: 'Oak' }
const response = await fetch(service.url.replace('localhost', '127.0.0.1') + '/api/v1/trees', {
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: 'Bearer ' + service.firstAdministrator?.key },
  body: JSON.stringify(input),
})
const tree = (await response.json()) as Item<typeof model, 'trees'>
const name: string = tree.name
console.log(response.status, name)
await service.close()
`

const testing = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testService } from 'portico/test'
import model from './model.ts'

test('trees are planted by administrators', async () => {
  const service = await testService(model, { now: '2026-01-01T00:00:00Z' })
  const ada = await service.users.create({ role: 'admin' })
  const tree = await service.as(ada).trees.create({ name: 'Oak' })
  const planted: string = tree.created_at
  assert.equal(planted, '2026-01-01T00:00:00.000Z')
  await assert.rejects(service.anonymous.trees.create({ name: 'Elm' }), { code: 'UNAUTHORIZED' })
  assert.equal((await service.request('GET /api/v1/trees')).body.meta.total, 1)
  await service.close()
})
`

const misuse = `import { serve } from 'portico'
serve('no model')
`

/** An app that has only the URL of the service: no package is installed there. */
const foreign = `import { createApi, type TreeCreate } from './api.ts'

const oak: TreeCreate = { name: 'Oak' }
const api = createApi({ baseUrl: process.argv[2] ?? '' })
const { meta } = await api.trees.list({ where: { name: oak.name } })
const refusal = await api.trees.create(oak).catch(error => error.code)
console.log(meta.total, refusal)
// @ts-expect-error: no such field
export const wrong = () => api.trees.list({ where: { nothing: 1 } })
`

const browserClient = `import { createClient } from 'portico/client'
import type model from './model.ts'
const api = createClient<typeof model>({ baseUrl: '' })
const { data } = await api.trees.list({ where: { name: 'Oak' } })
export const name: string | undefined = data[0]?.name
// @ts-expect-error: no such field
export const wrong = () => api.trees.list({ where: { nothing: 1 } })
`

let project = ''
let packed: readonly string[] = []

async function packAndInstall(): Promise<void> {
  project = mkdtempSync(join(tmpdir(), 'portico-package-'))
  const both = await packBoth(project)
  const { filename, files } = both.find(({ name }) => name === 'portico') ?? assert.fail()
  packed = files.map(({ path }) => path)
  const install = [
    'install',
    `./${filename}`,
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]
  writeFileSync(join(project, 'package.json'), '{"name":"empty","private":true,"type":"module"}')
  await run('npm', install, { cwd: project, env })
  writeFileSync(join(project, 'model.ts'), model)
  writeFileSync(join(project, 'embedding.ts'), embedding)
  writeFileSync(join(project, 'model.test.ts'), testing)
  writeFileSync(join(project, 'misuse.ts'), misuse)
}

function typeCheck(file: string) {
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2024']
  const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules', '@types')]
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const args = [compiler, ...options, ...types, '--allowImportingTsExtensions', file]
  return run(process.execPath, args, { cwd: project, env })
}

/** As the code of a page is checked: no types of Node, and the declarations of libraries too. */
async function typeCheckForBrowsers(file: string): Promise<void> {
  const compilerOptions = {
    ...{ noEmit: true, strict: true, skipLibCheck: false, types: [], lib: ['es2024', 'dom'] },
    ...{ module: 'esnext', moduleResolution: 'bundler', target: 'es2024', allowImportingTsExtensions: true },
  }
  const config = join(project, 'tsconfig.browser.json')
  writeFileSync(config, JSON.stringify({ compilerOptions, files: [file] }))
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  await run(process.execPath, [compiler, '-p', config], { cwd: project, env }).catch(({ stdout }) =>
    assert.fail(stdout),
  )
}

async function useFromElsewhere(bin: string, origin: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-foreign-'))
  try {
    const generate = [bin, 'generate', 'client', '--from', origin, '--out', 'api.ts', '--standalone']
    await run(process.execPath, generate, { cwd: folder, env })
    await run(process.execPath, [...generate, '--check'], { cwd: folder, env })
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    writeFileSync(join(folder, 'main.ts'), foreign)
    const strict = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--allowImportingTsExtensions',
    ]
    const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules', '@types')]
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    await run(process.execPath, [compiler, ...strict, ...types, 'main.ts'], { cwd: folder, env }).catch(
      ({ stdout }) => assert.fail(stdout),
    )
    return (await run(process.execPath, ['main.ts', origin], { cwd: folder, env })).stdout.trim()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The URL in the first log line that contains one. */
function listening(child: ReturnType<typeof spawn>): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', chunk => {
      text += chunk
      const [, port] = /listening on http:\/\/[^:"]+:(\d+)/.exec(text) ?? []
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`)
    })
    child.on('exit', code => reject(new Error(`portico start exited with ${code}: ${text}`)))
  })
}

describe('the package', () => {
  before(packAndInstall)
  after(() => rmSync(project, { recursive: true, force: true }))

  it('has a client whose modules import only each other, so that a page can load it without a bundler', () => {
    const dist = join(project, 'node_modules', 'portico', 'dist')
    const files = [join(dist, 'client.js')]
    // Imported files are appended, and visited in turn.
    for (const file of files) {
      const text = readFileSync(file, 'utf8')
      for (const [, name = ''] of text.matchAll(/^(?:import|export)[^'"\n]*\bfrom ['"]([^'"]+)['"]/gm)) {
        assert.match(name, /^\.{1,2}\//, file)
        const imported = join(dirname(file), name)
        if (!files.includes(imported)) files.push(imported)
      }
    }
    const others = files.slice(1).map(file => relative(dist, file))
    assert.ok(others.length > 5)
    assert.deepEqual(
      others.filter(file => !file.startsWith(join('client', '/'))),
      [],
    )
  })
  it('contains what a user needs and nothing else', () => {
    for (const path of [
      'dist/index.js',
      'dist/index.d.ts',
      'dist/bin.js',
      'LICENSE',
      'README.md',
      'CHANGELOG.md',
    ]) {
      assert.ok(packed.includes(path), `${path} is missing`)
    }
    const allowed = /^(dist\/|docs\/|(LICENSE|README\.md|CHANGELOG\.md|SECURITY\.md|package\.json)$)/
    assert.deepEqual(
      packed.filter(path => !allowed.test(path)),
      [],
    )
    assert.deepEqual(
      packed.filter(path => path.startsWith('dist/') && /(?<!\.d)\.ts$|\.tmp|\.map$/.test(path)),
      [],
    )
  })

  it('has no development dependencies', () => {
    const names = readdirSync(join(project, 'node_modules'))
    assert.ok(names.includes('pino'))
    for (const name of ['typescript', 'fast-check', 'knip']) assert.ok(!names.includes(name), name)
    assert.deepEqual(
      names.filter(name => /^(node|node-.*(x64|arm64)|portico-runtime)$/.test(name)),
      [],
    )
  })

  it('tests a model of the project, with nothing else installed', async () => {
    await typeCheck('model.test.ts').catch(({ stdout }) => assert.fail(stdout))
    const { stdout } = await run(process.execPath, ['--test', 'model.test.ts'], { cwd: project, env })
    assert.match(stdout, /pass 1/)
  })

  it('starts a model of the project by its command', async () => {
    const bin = join(project, 'node_modules', 'portico', 'dist', 'bin.js')
    const settings = { PORT: '0', HOST: '127.0.0.1', PORTICO_MODEL: 'model.ts', DATABASE_URL: './started.db' }
    const child = spawn(process.execPath, [bin, 'start'], { cwd: project, env: { ...env, ...settings } })
    const exit = new Promise<number | null>(resolve => child.on('exit', resolve))
    try {
      const origin = await listening(child)
      const page = await fetch(`${origin}/docs/assets/scalar.js`)
      assert.equal(page.status, 200)
      assert.match(await page.text(), /createApiReference/)
      const editor = await fetch(`${origin}/graphql/assets/graphiql.min.js`)
      assert.equal(editor.status, 200)
      assert.match(await editor.text(), /GraphiQL/)
      const response = await fetch(`${origin}/api/v1/trees`)
      assert.deepEqual(await response.json(), { data: [], meta: { total: 0, page: 1, per_page: 20 } })
      assert.equal(await useFromElsewhere(bin, origin), '0 UNAUTHORIZED')
    } finally {
      child.kill('SIGTERM')
    }
    assert.equal(await exit, 0)
  })

  it('can be called from code', async () => {
    const { stdout } = await run(process.execPath, ['embedding.ts'], { cwd: project, env })
    assert.equal(stdout.trim(), '201 Oak')
  })

  it('has types that accept correct use and reject wrong use', async () => {
    await typeCheck('embedding.ts')
    await assert.rejects(typeCheck('misuse.ts'), (error: { stdout?: string }) =>
      /TS2345/.test(error.stdout ?? ''),
    )
  })

  it('types a client in a browser by the model, without the types of Node and without skipLibCheck', async () => {
    writeFileSync(join(project, 'browser.ts'), browserClient)
    await typeCheckForBrowsers('browser.ts')
  })
})
