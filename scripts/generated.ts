/** The files that are generated from the sources: writes them, or with `--check` lists those that differ. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { checkModel, type Declaration, serve } from 'portico'
import { sdlOf } from '../src/api/graphql/schema/sdl.ts'
import { openapi } from '../src/api/rest/openapi/document.ts'
import { schemaSql } from '../src/engine/store/schema/sqlite/migrate.ts'
import { configurationPage, errorsPage } from '../src/server/config/pages.ts'

const root = join(import.meta.dirname, '..')

async function importBlog(): Promise<Declaration> {
  const { default: declaration } = (await import('../examples/blog/model.ts')) as { default: Declaration }
  return declaration
}

async function blog() {
  return checkModel(await importBlog())
}

const metricsIntro = `# Metrics

This page is generated from what a service on SQLite returns at \`/metrics\`, in the text format of Prometheus. It also
returns Node's own metrics, \`process_…\` and \`nodejs_…\`, and more with [Redis](nodes.md#when-redis-is-unavailable),
[read replicas](postgresql.md#read-replicas) and [workers](running.md#all-cores). [Operations](operations.md#what-to-monitor)
describes what to monitor.

| metric | kind | meaning |
|---|---|---|
`

/** The metrics of a service, from its own `/metrics`. */
async function metricsPage(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-metrics-'))
  const settings = {
    port: 0,
    host: '127.0.0.1',
    database: join(folder, 'data.db'),
    logLevel: 'silent',
  } as const
  const service = await serve(await importBlog(), settings)
  try {
    // The first request loads GraphQL.
    await (await fetch(`${service.url}/graphql?query={__typename}`)).text()
    const text = await (await fetch(`${service.url}/metrics`)).text()
    const rows = [...text.matchAll(/^# HELP (portico_\w+) (.*)\n# TYPE \w+ (\w+)$/gm)]
      .map(([, name, help, kind]) => `| \`${name}\` | ${kind} | ${help} |`)
      .sort()
    return `${metricsIntro}${rows.join('\n')}\n`
  } finally {
    await service.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const entries = [
  ['portico', 'index.ts'],
  ['portico/client', 'client.ts'],
  ['portico/test', 'testing.ts'],
] as const

/** The names that the package exports, including types, so that changes of its interface show up in the diff. */
function exportedNames(): string {
  return entries.map(([name, file]) => `# ${name}\n${namesIn(file)}`).join('\n')
}

function namesIn(file: string): string {
  const text = readFileSync(join(root, 'src', file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
  const lists = [...text.matchAll(/export\s+(type\s+)?\{([^}]*)\}/g)].flatMap(([, type, names = '']) =>
    names
      .split(',')
      .map(name => name.trim())
      .filter(name => name !== '')
      .map(name => (type === undefined ? name : `type ${name}`)),
  )
  const exported = [
    ...text.matchAll(/export\s+(?:async\s+)?(?:function|const|class|interface|type)\s+(\w+)/g),
  ].map(([, name = '']) => name)
  return `${[...lists, ...exported].sort().join('\n')}\n`
}

const files: readonly (readonly [file: string, make: () => string | Promise<string>])[] = [
  ['docs/configuration.md', configurationPage],
  ['docs/errors.md', errorsPage],
  ['docs/metrics.md', metricsPage],
  ['docs/reference/exports.txt', exportedNames],
  [
    'docs/reference/blog.openapi.json',
    async () => `${JSON.stringify(openapi(await blog(), 'http://localhost:3000'), null, 2)}\n`,
  ],
  ['docs/reference/blog.graphql', async () => sdlOf(await blog())],
  ['docs/reference/blog.sql', async () => `${schemaSql(await blog()).trim()}\n`],
]

function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** Describes the first line in which two texts differ. */
function difference(before: string | undefined, after: string): string {
  if (before === undefined) return 'does not exist'
  const [old, current] = [before.split('\n'), after.split('\n')]
  const differing = current.findIndex((line, index) => line !== old[index])
  const line = differing === -1 ? current.length : differing
  return `line ${line + 1} is\n  ${old[line] ?? '(nothing)'}\nand would be\n  ${current[line] ?? '(nothing)'}`
}

const checking = process.argv.includes('--check')
for (const [file, make] of files) {
  const path = join(root, file)
  const text = await make()
  const before = readIfExists(path)
  if (before === text) continue
  if (checking) {
    process.stdout.write(`${file}: ${difference(before, text)}\n`)
    process.exitCode = 1
  } else {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    process.stdout.write(`${file} written\n`)
  }
}
