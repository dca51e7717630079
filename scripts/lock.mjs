// `npm run lock`: updates package-lock.json after a change of the dependencies, without the dependencies of packages that
// were bundled with them, and with the optional packages of other platforms. npm omits those if its registry does not have
// them, and `npm ci` then rejects the lock file everywhere.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { capture, root, say } from './node.mjs'
import { placeOf } from './packages.mjs'

/** Only a bundled file of these packages is used (scripts/build.mjs), so their dependencies are not installed. */
const prebuilt = ['graphiql', '@scalar/fastify-api-reference']

const systems = [
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
]
const processors = ['arm64', 'arm', 'ia32', 'loong64', 'ppc64', 'riscv64', 's390x', 'x64']

/** The lock entry of an optional package for one platform, derived from its name. */
export function platformEntry(name, version) {
  const words = name.split('/').at(-1).split('-')
  const os = systems.find(system => words.includes(system))
  const cpu = processors.find(processor => words.includes(processor))
  if (os === undefined || cpu === undefined) return undefined
  const libc = words.includes('musl') ? { libc: ['musl'] } : {}
  return { version, cpu: [cpu], dev: true, ...libc, license: 'MIT', optional: true, os: [os] }
}

/** Adds missing packages. Returns their names. */
export function completeLock(lock) {
  const added = []
  for (const [from, entry] of Object.entries(lock.packages)) {
    for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
      if (placeOf(lock.packages, from, name) !== undefined || !/^\d+\.\d+\.\d+/.test(range)) continue
      const entry = platformEntry(name, range)
      if (entry === undefined) continue
      lock.packages[`node_modules/${name}`] = entry
      added.push(name)
    }
  }
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
  return added
}

/** Removes the dependencies of the prebuilt packages. Returns the names of those that had any. */
export function separatePrebuilt(lock) {
  return prebuilt.filter(name => {
    const entry = lock.packages[`node_modules/${name}`]
    if (entry === undefined) return false
    const had = entry.dependencies ?? entry.peerDependencies
    delete entry.dependencies
    delete entry.peerDependencies
    return had !== undefined
  })
}

/** Runs in a separate folder: npm would also write to node_modules, as if everything were installed. */
async function updateLock(folder) {
  const { code, output } = await capture('npm', ['install', '--package-lock-only', '--ignore-scripts'], {
    cwd: folder,
    shell: process.platform === 'win32',
  })
  if (code === 0) return
  say(output)
  process.exit(code)
}

/** Copies what npm reads for the lock file. */
function copyDescriptions(folder) {
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const files = [
    'package.json',
    'package-lock.json',
    '.npmrc',
    ...workspaces.map(name => `${name}/package.json`),
  ]
  for (const file of files) cpSync(join(root, file), join(folder, file))
}

/** Changes the lock file with `change`, which returns the names of the changed packages. */
function changeLock(file, change) {
  const lock = JSON.parse(readFileSync(file, 'utf8'))
  const names = change(lock)
  if (names.length > 0) writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
  return names
}

async function main(folder) {
  const file = join(folder, 'package-lock.json')
  copyDescriptions(folder)
  await updateLock(folder)
  // npm then removes packages that are no longer needed.
  if (changeLock(file, separatePrebuilt).length > 0) await updateLock(folder)
  const added = changeLock(file, completeLock)
  cpSync(file, join(root, 'package-lock.json'))
  say(`package-lock.json: ${added.length} packages of other platforms added`)
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const folder = mkdtempSync(join(tmpdir(), 'portico-lock-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  await main(folder)
}
