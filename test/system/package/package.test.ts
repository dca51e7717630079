/** The packed package, installed into an empty project with a model of its own. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { sourcePlace } from '../../../src/server/observability/source-stack.ts'
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

/** Its action fails, and a sort of its rows takes long. */
const failing = `import { action, anyone, collection, integer, model, role, string } from 'portico'
export default model(
  { trees: collection({ fields: { name: string(), n: integer() }, access: { read: anyone, create: role('admin') } }) },
  { actions: {
    fell: action({
      of: 'trees',
      access: anyone,
      run() {
        throw new TypeError('no saw')
      },
    }),
  } },
)
`

const broken = `import { anyone, collection, model, string } from 'portico'
export default model({
  trees: collection({ fields: { name: string({ pattern: '(' }) }, access: { read: anyone } }),
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

/** Writes so many rows to the file, past the service, that their sort takes long. */
function plant(file: string): void {
  const database = new DatabaseSync(file, { timeout: 10_000 })
  database.exec(`INSERT INTO "trees" ("name", "n", "created_at")
    WITH RECURSIVE "c"("i") AS (SELECT 1 UNION ALL SELECT "i" + 1 FROM "c" WHERE "i" < 100000)
    SELECT 'tree ' || "i", "i" * 7919 % 100000, '2026-01-01T00:00:00.000Z' FROM "c"`)
  database.close()
}

/** The command lines of a process's children, whichever of its threads started them. */
function commandsOf(pid: number): readonly string[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap(thread => readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' '))
    .filter(child => child !== '' && existsSync(`/proc/${child}`))
    .map(child => readFileSync(`/proc/${child}/cmdline`, 'latin1'))
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
      packed.filter(path => path.startsWith('dist/') && /(?<!\.d)\.ts$|\.tmp/.test(path)),
      [],
    )
  })

  it('has its modules once: bundled, with a source map each, in one folder beside the unbundled client', () => {
    const modules = packed.filter(path => /^dist\/(?!client[/.]|assets\/|rolldown-runtime).*\.js$/.test(path))
    const read = (path: string) => readFileSync(join(project, 'node_modules', 'portico', path), 'utf8')
    /** It only exports what other modules define. */
    const isFacade = (path: string) => /^(?:(?:import|export) [^;]*;\s*)*$/.test(read(path))
    assert.deepEqual(
      modules.filter(path => dirname(path) !== 'dist' || !(packed.includes(`${path}.map`) || isFacade(path))),
      [],
    )
    const maps = packed.filter(path => path.endsWith('.js.map'))
    const sources: readonly string[] = maps.flatMap(path => JSON.parse(read(path)).sources)
    assert.ok(sources.length > 500)
    assert.deepEqual(
      sources.filter(
        (source, index) => sources.indexOf(source) !== index || source.startsWith('../src/client'),
      ),
      [],
    )
    assert.match(read('dist/testing.js'), /from "\.\/client\.js"/)
    // An older Node must be able to parse the program, which then says that it is too old.
    assert.doesNotMatch(read('dist/bin.js'), /^import (?!.* from "node:|"\.\/rolldown-runtime\.js")/m)
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

  it('serves with its workers, reader processes, pages and guides, and logs the places of its sources', async () => {
    const bin = join(project, 'node_modules', 'portico', 'dist', 'bin.js')
    const { stdout: version } = await run(process.execPath, [bin, '--version'], { env })
    assert.equal(version.trim(), JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version)
    writeFileSync(join(project, 'felling.ts'), failing)
    const database = join(project, 'felling.db')
    const settings = {
      ...{ PORT: '0', HOST: '127.0.0.1', PORTICO_MODEL: 'felling.ts', DATABASE_URL: database },
      ...{ PORTICO_WORKERS: '2', PORTICO_DOCS_GUIDES: 'all' },
    }
    const child = spawn(process.execPath, [bin, 'start'], { cwd: project, env: { ...env, ...settings } })
    const exit = new Promise<number | null>(resolve => child.on('exit', resolve))
    let log = ''
    child.stdout.on('data', chunk => {
      log += chunk
    })
    try {
      const origin = await listening(child)
      for (const path of [
        '/docs/guides',
        '/docs/guides/rest',
        '/docs/assets/style.css',
        '/docs/assets/frame.js',
      ]) {
        assert.equal((await fetch(origin + path)).status, 200, path)
      }
      plant(database)
      const slow = await fetch(`${origin}/api/v1/trees?sort=name,-n&name[ne]=x&per_page=5`)
      assert.equal(slow.status, 200)
      if (process.platform === 'linux')
        assert.ok(commandsOf(child.pid ?? 0).some(line => /dist.reader\.js/.test(line)))
      const failed = await fetch(`${origin}/api/v1/trees/fell`, { method: 'POST' })
      assert.equal(failed.status, 500)
      while (!log.includes('no saw')) await new Promise(resolve => child.stdout.once('data', resolve))
      const [, stack = ''] = /"stack":"((?:[^"\\]|\\.)*no saw(?:[^"\\]|\\.)*)"/.exec(log) ?? []
      assert.match(stack, /felling\.ts:9:/)
      assert.match(stack, /\/portico\/src\/engine\/logic\/[\w/-]+\.ts:\d+:\d+/)
      assert.doesNotMatch(stack, /dist/)
    } finally {
      child.kill('SIGTERM')
    }
    assert.equal(await exit, 0)
  })

  it('names the place of a fault in a model, in the file of the project', async () => {
    const bin = join(project, 'node_modules', 'portico', 'dist', 'bin.js')
    writeFileSync(join(project, 'broken.ts'), broken)
    const settings = { PORTICO_MODEL: 'broken.ts', DATABASE_URL: './broken.db' }
    const check = run(process.execPath, [bin, 'check'], { cwd: project, env: { ...env, ...settings } })
    await assert.rejects(check, ({ stderr }: { stderr: string }) => {
      assert.match(stderr, /broken\.ts:3/)
      assert.doesNotMatch(stderr, /dist/)
      return true
    })
  })

  it('serves while a project is developed', async () => {
    const bin = join(project, 'node_modules', 'portico', 'dist', 'bin.js')
    const settings = { PORT: '0', HOST: '127.0.0.1', PORTICO_MODEL: 'model.ts', DATABASE_URL: './dev.db' }
    const child = spawn(process.execPath, [bin, 'dev'], { cwd: project, env: { ...env, ...settings } })
    const exit = new Promise<number | null>(resolve => child.on('exit', resolve))
    try {
      const origin = await new Promise<string>((resolve, reject) => {
        let text = ''
        child.stdout.on('data', chunk => {
          text += chunk
          const [, port] = /REST +http:\/\/[^:]+:(\d+)\//.exec(text) ?? []
          if (port !== undefined) resolve(`http://127.0.0.1:${port}`)
        })
        child.on('exit', code => reject(new Error(`portico dev exited with ${code}: ${text}`)))
      })
      assert.equal((await fetch(`${origin}/api/v1/trees`)).status, 200)
    } finally {
      child.kill('SIGINT')
    }
    assert.equal(await exit, 0)
  })

  it('finds the places of its sources as Node does', async () => {
    const folder = join(project, 'node_modules', 'portico', 'dist')
    const map = JSON.parse(readFileSync(join(folder, 'command.js.map'), 'utf8'))
    const reference = new SourceMap(map)
    let compared = 0
    for (let line = 1; line < 400; line += 7) {
      for (const column of [1, 2, 9, 30]) {
        const entry = reference.findEntry(line - 1, column - 1)
        // For a place before the first of its line, Node returns the last of an earlier line.
        if (!('generatedLine' in entry) || entry.generatedLine !== line - 1) continue
        const { originalSource, originalLine, originalColumn } = entry
        const expected = `${originalSource}:${originalLine + 1}:${originalColumn + 1}`
        assert.equal(sourcePlace(map, line, column), expected)
        compared++
      }
    }
    assert.ok(compared > 50)
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
