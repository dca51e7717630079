// `npm test [paths or options]`: every test, or those named, on the pinned Node.
import { spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { serveDatabases } from './databases.mjs'
import { install, pinnedNode, root, say, sourceEnvironment } from './node.mjs'

/** A test that hangs fails after this. */
const timeoutMs = 600_000

/** The arguments that name files or folders; the others are options of `node --test`. */
function namesIn(args) {
  return args.filter(arg => !arg.startsWith('-'))
}

function patterns(named) {
  if (named.length === 0) return ['test/**/*.test.ts']
  return named.map(name => {
    const folder = existsSync(join(root, name)) && statSync(join(root, name)).isDirectory()
    return folder ? `${name.replace(/[\\/]$/, '')}/**/*.test.ts` : name
  })
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
const databases = process.platform === 'win32' ? undefined : await serveDatabases(pinnedNode())
const args = process.argv.slice(2)
const named = namesIn(args)
const cheaper = pathToFileURL(join(root, 'scripts', 'no-async-hooks.mjs')).href
const child = spawn(
  pinnedNode(),
  [
    '--test',
    // More than the two cores of the smallest machine: tests also wait, for a disk or for another process.
    '--test-concurrency=3',
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
