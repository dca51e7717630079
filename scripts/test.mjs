// `npm test [paths or options]`: every test, or those named, on the pinned Node.
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { freemem } from 'node:os'
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

/** Their tests start no service and no process, so that a process for each file would take longer than they do. */
const together = ['auth/pages', 'model', 'plan', 'rest', 'unicode']

function isTogether(file) {
  // Those take seconds, and databases.
  if (file.endsWith('.property.test.ts')) return false
  return together.some(folder => file.startsWith(`test/${folder}/`))
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

/** What `node --test` is given: of all tests, those that share a process are one file. */
function patterns(named) {
  if (named.length === 0) return ['test/together.ts', ...testFiles().filter(file => !isTogether(file))]
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
      PORTICO_TESTS_TOGETHER: testFiles().filter(isTogether).sort().join('\n'),
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
