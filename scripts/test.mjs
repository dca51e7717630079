// `npm test [paths or options]`: every test, or those named, on the pinned Node.
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { serveDatabases } from './databases.mjs'
import { chosenNode, install, root, say, sourceEnvironment } from './node.mjs'

/** A test that hangs fails after this. */
const timeoutMs = 600_000

/** The arguments that name files or folders; the others are options of `node --test`. */
function namesIn(args) {
  return args.filter(arg => !arg.startsWith('-'))
}

/**
 * Folders whose small tests share a process: a process for each file would take longer than most of them do. By the name of
 * the process.
 */
const together = {
  accounts: ['auth'],
  models: ['model', 'plan', 'unicode', 'computed', 'config', 'testing', 'outgoing', 'cluster'],
  oauth: ['conformance/oauth'],
  rest: ['rest', 'contract', 'http', 'graphql', 'transports', 'events', 'portal'],
  serve: ['serve', 'logic', 'observability', 'idempotency'],
  store: ['store', 'databases'],
}

/** What changes more of its process than a test's own, or needs a process that does nothing else. */
const ofItsOwn =
  /\b(before|after|beforeEach|afterEach|serviceOfFile|sharedFixtures|shareSetup)\(|node:(child_process|worker_threads)|\.mock\.|own-pages\.ts|process\.(env\.\w+ =|exit|memoryUsage)/

/** The process that runs the file with others; undefined where it has one of its own. */
function sharedBy(file) {
  // Those take seconds, and databases.
  if (file.endsWith('.property.test.ts') || ofItsOwn.test(readFileSync(join(root, file), 'utf8')))
    return undefined
  return Object.keys(together).find(name => together[name].some(folder => file.startsWith(`test/${folder}/`)))
}

/** Every test file, from the root. */
function testFiles() {
  return ['test', 'examples']
    .flatMap(folder =>
      readdirSync(join(root, folder), { recursive: true }).map(
        name => `${folder}/${name.replaceAll('\\', '/')}`,
      ),
    )
    .filter(name => name.endsWith('.test.ts'))
}

/** Writes what runs these files in one process. Returns its path. */
function writeShared(folder, name, files) {
  const path = join(folder, `${name}.mjs`)
  const urls = files.map(file => pathToFileURL(join(root, file)).href)
  const program = pathToFileURL(join(root, 'test', 'together.ts')).href
  writeFileSync(
    path,
    `import { runTogether } from '${program}'\nawait runTogether(${JSON.stringify(urls, null, 2)})\n`,
  )
  return path
}

/** Of every test: the programs that run several files, and the files that are run alone. */
function everyTest() {
  const folder = mkdtempSync(join(tmpdir(), 'portico-together-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const processes = Object.groupBy(testFiles().sort(), file => sharedBy(file) ?? '')
  return Object.entries(processes).flatMap(([name, files]) =>
    name === '' ? files : [writeShared(folder, name, files)],
  )
}

/** What `node --test` is given. */
function patterns(named) {
  if (named.length === 0) return everyTest()
  return named.map(name => {
    const folder = existsSync(join(root, name)) && statSync(join(root, name)).isDirectory()
    return folder ? `${name.replace(/[\\/]$/, '')}/**/*.test.ts` : name
  })
}

/** What tests keep in memory at once is a tenth of it. */
const roomBytes = 4 * 2 ** 30

/**
 * A folder for what tests write, in memory where there is room: every commit of theirs waits for the disk otherwise.
 * Undefined where there is none, or where programs that tests build could not run.
 */
function folderInMemory() {
  if (process.platform !== 'linux' || process.env.TMPDIR) return undefined
  let folder
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    if (Math.min(bavail * bsize, freemem()) < roomBytes) return undefined
    folder = mkdtempSync('/dev/shm/portico-')
    // PostgreSQL runs as another user.
    chmodSync(folder, 0o1777)
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
    const program = join(folder, 'program')
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
    return spawnSync(program).status === 0 ? folder : undefined
  } catch {
    return undefined
  }
}

/** Whether a process of the group is still there; ends what is. */
function endGroup(pid) {
  if (process.platform === 'win32') return false
  try {
    process.kill(-pid, 'SIGKILL')
    return true
  } catch {
    return false
  }
}

await install()
const memory = folderInMemory()
if (memory !== undefined) process.env.TMPDIR = memory
const databases = process.platform === 'win32' ? undefined : await serveDatabases(chosenNode())
const args = process.argv.slice(2)
const named = namesIn(args)
const cheaper = pathToFileURL(join(root, 'scripts', 'no-async-hooks.mjs')).href
const child = spawn(
  chosenNode(),
  [
    '--test',
    // More than the two cores of the smallest machine: tests also wait, for a disk or for another process.
    '--test-concurrency=4',
    `--test-timeout=${timeoutMs}`,
    ...args.filter(arg => arg.startsWith('-')),
    ...(named.length === 0 ? ['--import', cheaper] : []),
    ...patterns(named),
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      // Tests share the processor with each other: nobody is refused for that, but where a test is about it.
      PORTICO_MAX_DELAY: '60000',
      // Each test file is a process of its own: they share what is compiled.
      NODE_COMPILE_CACHE: join(root, '.cache', 'compiled'),
      ...sourceEnvironment(),
      ...(databases && { PORTICO_TEST_SERVERS: databases.path }),
    },
    detached: process.platform !== 'win32',
  },
)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    endGroup(child.pid)
    process.exit(1)
  })
}
child.on('close', async code => {
  await databases?.stop()
  const left = endGroup(child.pid)
  if (left) say('A test left a process running. It was ended, and the run counts as failed.')
  process.exitCode = code === 0 && !left ? 0 : 1
})
