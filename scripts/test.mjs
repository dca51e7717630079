// Runs tests on the pinned Node, after a build:
//
//   npm test                 tests in one process on SQLite, and a few that show that the rest works
//   npm test -- NAMES        the named files, folders and patterns, on every database
//   npm test -- --changed    what the changes since the last commit, or since --changed=COMMIT, can reach
//   npm run test:all         every test; with --rest, those that `npm test` leaves out
//   npm run test:whole       every test, the long ones with all their cases
//
// Other options are those of `node --test`.
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, isBuilt } from './build.mjs'
import { serveDatabases } from './databases.mjs'
import { chosenNode, install, root, say, sourceEnvironment } from './node.mjs'
import { selectTests } from './selection.mjs'

/** A test that hangs fails after this. */
const timeoutMs = 600_000
/** A whole run that hangs is ended after this, and names the files that were running. `--whole` may take longer. */
const maxRunMs = 60 * 60_000

/** What the arguments of this program ask for: what to run, and the options of `node --test`. */
function read(args) {
  const names = args.filter(arg => !arg.startsWith('-'))
  const changed = args.filter(arg => /^--changed(=|$)/.test(arg))
  const own = ['--all', '--rest', '--whole', ...changed]
  const options = args.filter(arg => arg.startsWith('-') && !own.includes(arg))
  if (names.length > 0) return { selected: names, options, isShared: false }
  if (changed.length > 0) return { selected: changed, options, isShared: true }
  if (args.includes('--rest')) return { selected: ['--rest'], options, isShared: true }
  if (args.includes('--all') || args.includes('--whole')) return { selected: [], options, isShared: true }
  return { selected: ['--quick'], options, isShared: true }
}

/**
 * Folders whose tests share processes: starting a process, and compiling and warming up the sources in it, takes longer than
 * most of these files.
 */
const together = [
  ['identity/conformance'],
  ['identity'],
  ['api', 'web', 'server/http', 'delivery/webhooks'],
  ['delivery', 'server', 'engine/idempotency'],
  ['engine/store', 'setups'],
  ['system/matrix'],
  ['base', 'model', 'engine', 'layers', 'bench', 'client', 'tools'],
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

function setPart(part) {
  return part === undefined ? '' : `process.env.PORTICO_TEST_PART = '${part}'\n`
}

/** Writes a program that runs these files in one process. Returns its path. */
function writeShared(folder, name, files, part) {
  const path = join(folder, `${name}.mjs`)
  const paths = files.map(file => join(root, file))
  const program = pathToFileURL(join(root, 'test', 'together.ts')).href
  writeFileSync(
    path,
    `import { runTogether } from '${program}'\n${setPart(part)}runTogether(${JSON.stringify(paths, null, 2)})\n`,
  )
  return path
}

/** Writes a program that runs a part of the file's tests. Returns its path, from which scripts/slowest-files.mjs reads the name. */
function writePart(folder, file, part) {
  const path = join(folder, `${file.replaceAll('/', '~')}.mjs`)
  writeFileSync(path, `${setPart(part)}await import('${pathToFileURL(join(root, file)).href}')\n`)
  return path
}

/** Splits files into groups of about equal length, none of them longer than a process takes. */
function divide(files) {
  const count = Math.ceil(files.length / maxFilesPerProcess)
  return Array.from({ length: count }, (_, index) =>
    files.slice(Math.round((index * files.length) / count), Math.round(((index + 1) * files.length) / count)),
  )
}

/** Folders with files that take minutes. */
const startsEarly = /^test\/(system|tools|docs|scripts)\//

/** The runner sorts paths, and absolute ones come first: a file that takes minutes does not run alone at the end. */
function inOrder(file) {
  return startsEarly.test(file) ? join(root, file) : file
}

/** The programs that run several files, and the files that run alone. `part`: of their tests; undefined: all. */
function shareProcesses(files, part) {
  const folder = mkdtempSync(join(tmpdir(), 'portico-together-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const shared = together.flatMap(folders =>
    divide(files.filter(file => groupOf(file) === folders)).map((group, index) =>
      writeShared(folder, `${folders[0].replace('/', '-')}-${index + 1}`, group, part),
    ),
  )
  const alone = files.filter(file => groupOf(file) === undefined)
  return [
    ...shared,
    ...alone.map(file => (part === undefined ? inOrder(file) : writePart(folder, file, part))),
  ]
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

const reporters = ['spec', pathToFileURL(join(root, 'scripts', 'slowest-files.mjs')).href].flatMap(
  reporter => [`--test-reporter=${reporter}`, '--test-reporter-destination=stdout'],
)

await install()
const args = process.argv.slice(2)
const { selected, options, isShared } = read(args)
const { files, inBoth, text: leftOut } = await selectTests(chosenNode(), selected)
// Some tests run what users run.
if (!isBuilt()) await build()
const memory = folderInMemory()
if (memory !== undefined) process.env.TMPDIR = memory
/** The part of their tests that files run, as test/chosen.ts reads it. */
const part = selected[0] === '--quick' ? 'quick' : isShared && !args.includes('--whole') ? 'all' : undefined
/** The files that `npm test` runs on SQLite run on the other set-ups now. */
const onlyOthers = files.filter(file => inBoth.includes(file))
const whole = files.filter(file => !inBoth.includes(file))
const programs = isShared ? [...shareProcesses(onlyOthers, 'rest'), ...shareProcesses(whole)] : []
const databases = process.platform === 'win32' ? undefined : await serveDatabases(chosenNode())
const preloaded = ['no-open-handles.mjs', ...(isShared ? ['no-async-hooks.mjs'] : [])].map(
  name => `--import=${pathToFileURL(join(root, 'scripts', name)).href}`,
)
const child = spawn(
  chosenNode(),
  [
    '--test',
    // Three times the two cores of the smallest machine: tests also wait for the disk, browsers and other processes.
    '--test-concurrency=6',
    `--test-timeout=${timeoutMs}`,
    ...(options.some(option => option.startsWith('--test-reporter')) ? [] : reporters),
    ...options,
    ...preloaded,
    ...(isShared ? programs : files),
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
      // Mutants share no templates of databases: each has other sources.
      ...(databases && { PORTICO_TEST_SERVERS: databases.path, PORTICO_TEST_RUN: 'yes' }),
      ...(part && { PORTICO_TEST_PART: part }),
      ...(args.includes('--whole') && { PORTICO_MATRIX: 'whole' }),
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
const limit =
  isShared && !args.includes('--whole') ? setTimeout(() => child.kill('SIGINT'), maxRunMs) : undefined
child.on('close', async (code, signal) => {
  clearTimeout(limit)
  if (signal !== null) say(`The test runner was ended by ${signal}: its results are incomplete.`)
  await databases?.stop()
  const hadLeftovers = endGroup(child.pid)
  if (hadLeftovers) say('A test left a process running. It was ended, and the run counts as failed.')
  if (leftOut !== undefined) say(leftOut)
  process.exitCode = code === 0 && !hadLeftovers ? 0 : 1
})
