// Completes package-lock.json with the optional packages of other platforms. npm leaves them out when
// the registry it asked does not carry them, and `npm ci` then refuses the lock file everywhere.
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

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

/** Where the package `name`, wanted by the package at `from`, would be found in the lock. */
function isLocked(packages, from, name) {
  for (let place = from; ; place = place.slice(0, Math.max(place.lastIndexOf('/node_modules/'), 0))) {
    if (packages[`${place === '' ? '' : `${place}/`}node_modules/${name}`] !== undefined) return true
    if (place === '') return false
  }
}

/** The lock entry of an optional package that is built for one platform, told from its name. */
export function platformEntry(name, version) {
  const words = name.split('/').at(-1).split('-')
  const os = systems.find(system => words.includes(system))
  const cpu = processors.find(processor => words.includes(processor))
  if (os === undefined || cpu === undefined) return undefined
  const libc = words.includes('musl') ? { libc: ['musl'] } : {}
  return { version, cpu: [cpu], dev: true, ...libc, license: 'MIT', optional: true, os: [os] }
}

/** Adds what is missing; gives the names that it added. */
export function completeLock(lock) {
  const added = []
  for (const [from, entry] of Object.entries(lock.packages)) {
    for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
      if (isLocked(lock.packages, from, name) || !/^\d+\.\d+\.\d+/.test(range)) continue
      const made = platformEntry(name, range)
      if (made === undefined) continue
      lock.packages[`node_modules/${name}`] = made
      added.push(name)
    }
  }
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
  return added
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const file = new URL('../package-lock.json', import.meta.url)
  const lock = JSON.parse(readFileSync(file, 'utf8'))
  const added = completeLock(lock)
  if (added.length > 0) writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
  process.stdout.write(`package-lock.json: ${added.length} packages of other platforms added\n`)
}
