// `npm test [paths or options]`: runs all tests or the named ones, on the pinned Node.
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { serveDatabases } from './databases.mjs'
import { selectTests } from './needs.mjs'
import { chosenNode, install, root, say, sourceEnvironment } from './node.mjs'

/** A test that hangs fails after this. */
const timeoutMs = 600_000

/** The arguments that name files or folders. The others are options of `node --test`. */
function namesIn(args) {
  return args.filter(arg => !arg.startsWith('-'))
}

/**
 * Folders whose tests share processes: starting a process, and compiling and warming up the sources in it, takes longer than
 * most of these files.
 */
const together = [
  ['auth'],
  ['conformance/oauth'],
  ['events', 'transports', 'graphql', 'portal', 'rest', 'contract', 'http'],
  ['logic', 'serve', 'observability', 'idempotency'],
  ['store', 'databases'],
  ['model', 'plan', 'unicode', 'computed', 'config', 'testing', 'outgoing', 'cluster', 'layers', 'source'],
  ['cli', 'bench', 'client', 'explain'],
]
/** More files in one process would run for longer than the rest of the tests. */
const maxFilesPerProcess = 24

/**
 * Files that match change global state of their process for each test, need a process that does nothing else, wait for
 * processes of their own, or cannot be required because they await.
 */
const needsOwnProcess =
  /\b(beforeEach|afterEach|shareSetup)\(|^(?:const .* = |} = )?await |node:(child_process|worker_threads)|\.mock\.|own-pages\.ts|process\.(env\.\w+ =|exit|memoryUsage)/m

/** The folders that share processes with the file; undefined if the file has its own process. */
function groupOf(file) {
  // Property tests take seconds, and need databases.
  if (file.endsWith('.property.test.ts') || needsOwnProcess.test(readFileSync(join(root, file), 'utf8')))
    return undefined
  return together.find(folders => folders.some(folder => file.startsWith(`test/${folder}/`)))
}

/** Writes a program that runs these files in one process. Returns its path. */
function writeShared(folder, name, files) {
  const path = join(folder, `${name}.mjs`)
  const paths = files.map(file => join(root, file))
  const program = pathToFileURL(join(root, 'test', 'together.ts')).href
  writeFileSync(
    path,
    `import { runTogether } from '${program}'\nrunTogether(${JSON.stringify(paths, null, 2)})\n`,
  )
  return path
}

/** Splits files into parts of about equal length, none of them longer than a process takes. */
function partsOf(files) {
  const parts = Math.ceil(files.length / maxFilesPerProcess)
  return Array.from({ length: parts }, (_, part) =>
    files.slice(Math.round((part * files.length) / parts), Math.round(((part + 1) * files.length) / parts)),
  )
}

/** For a whole run: the programs that run several files, and the files that run alone. */
function shareProcesses(files) {
  const folder = mkdtempSync(join(tmpdir(), 'portico-together-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const shared = together.flatMap(folders =>
    partsOf(files.filter(file => groupOf(file) === folders)).map((part, index) =>
      writeShared(folder, `${folders[0].replace('/', '-')}-${index + 1}`, part),
    ),
  )
  return [...shared, ...files.filter(file => groupOf(file) === undefined)]
}

/** Ten times what the tests keep in memory at once. */
const minFreeBytes = 4 * 2 ** 30

/**
 * Creates a folder in memory for what tests write: otherwise each of their commits waits for the disk. Returns undefined if
 * there is not enough memory, or if programs that tests build could not run there.
 */
function folderInMemory() {
  if (process.platform !== 'linux' || process.env.TMPDIR) return undefined
  let folder
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    if (Math.min(bavail * bsize, freemem()) < minFreeBytes) return undefined
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

/** Ends the processes of the group. Returns whether there were any. */
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
const args = process.argv.slice(2)
const named = namesIn(args)
const { files, text: leftOut } = await selectTests(chosenNode(), named)
const memory = folderInMemory()
if (memory !== undefined) process.env.TMPDIR = memory
const databases = process.platform === 'win32' ? undefined : await serveDatabases(chosenNode())
const cheaper = pathToFileURL(join(root, 'scripts', 'no-async-hooks.mjs')).href
const child = spawn(
  chosenNode(),
  [
    '--test',
    // Three times the two cores of the smallest machine: tests also wait for the disk, browsers and other processes.
    '--test-concurrency=6',
    `--test-timeout=${timeoutMs}`,
    ...args.filter(arg => arg.startsWith('-')),
    ...(named.length === 0 ? ['--import', cheaper] : []),
    ...(named.length === 0 ? shareProcesses(files) : files),
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      // Tests share the processor: no request is refused for load, except in the tests of that.
      PORTICO_MAX_DELAY: '60 s',
      // Test files run in separate processes, which share compiled code.
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
child.on('close', async (code, signal) => {
  if (signal !== null) say(`The test runner was ended by ${signal}: its results are incomplete.`)
  await databases?.stop()
  const hadLeftovers = endGroup(child.pid)
  if (hadLeftovers) say('A test left a process running. It was ended, and the run counts as failed.')
  if (leftOut !== undefined) say(leftOut)
  process.exitCode = code === 0 && !hadLeftovers ? 0 : 1
})
