// What every script needs: the packages installed, the pinned Node, and child processes that end well.
// Runs on the machine's own Node, from version 20.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

const onWindows = process.platform === 'win32'
const oldestNode = 24

export function say(text) {
  process.stderr.write(`${text}\n`)
}

function lockedPackages(file) {
  return Object.entries(JSON.parse(readFileSync(file, 'utf8')).packages)
}

/** Whether node_modules holds what package-lock.json names. */
export function isInstalled(folder = root) {
  const hidden = join(folder, 'node_modules', '.package-lock.json')
  if (!existsSync(hidden)) return false
  const there = new Map(lockedPackages(hidden))
  return lockedPackages(join(folder, 'package-lock.json')).every(
    ([place, entry]) => place === '' || entry.optional || there.get(place)?.version === entry.version,
  )
}

/** Runs a command to its end; gives its exit code and what it printed. */
export function capture(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    const chunks = []
    child.stdout.on('data', chunk => chunks.push(chunk))
    child.stderr.on('data', chunk => chunks.push(chunk))
    child.on('error', reject)
    child.on('close', code => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() }))
  })
}

/** Runs a command that shares our terminal; passes signals on; gives its exit code. */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit', ...options })
    const pass = signal => child.kill(signal)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, pass)
    child.on('error', reject)
    child.on('close', (code, signal) => {
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(name, pass)
      resolve(code ?? (signal === 'SIGINT' || signal === 'SIGTERM' ? 0 : 1))
    })
  })
}

/**
 * The package that brings the pinned Node for a platform, with the path of its program; undefined where
 * package-lock.json names none. npm checks it against the checksum there, and no install script runs.
 */
export function lockedNode(folder = root, platform = process.platform, processor = process.arch) {
  const packages = new Map(lockedPackages(join(folder, 'package-lock.json')))
  for (const name of Object.keys(packages.get('runtime').optionalDependencies)) {
    const { os, cpu, version, bin } = packages.get(`node_modules/${name}`)
    if (![os].flat().includes(platform) || ![cpu].flat().includes(processor)) continue
    return { name, version, path: join(folder, 'node_modules', name, bin.node) }
  }
  return undefined
}

/** Debian without its compiler lacks one that Node 26 is linked with. */
export function missingLibrary(output) {
  const [, library] = /error while loading shared libraries: (\S+?):/.exec(output) ?? []
  if (library === undefined) return undefined
  const how = library.startsWith('libatomic.')
    ? ': as root, `apt install libatomic1`, or `dnf install libatomic`'
    : ''
  return `The pinned Node needs the library ${library}, which this machine lacks. Install it${how}. Then try again.`
}

async function installPackages() {
  say('Installing the packages that package-lock.json names (once) …')
  const args = ['ci', '--ignore-scripts', '--include=dev', '--include=optional']
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error']
  const { code, output } = await capture('npm', [...args, ...quiet], { shell: onWindows })
  if (code === 0) return
  say(output)
  say('`npm ci` failed; its output is above. It needs npm and a way to a package registry.')
  process.exit(code)
}

/** Why the pinned Node cannot be used, and what to do; undefined when it runs. */
async function nodeFault() {
  const pinned = lockedNode()
  if (pinned === undefined) return `Portico pins no Node for ${process.platform} on ${process.arch}.`
  if (!existsSync(pinned.path)) {
    return (
      `npm did not install the pinned Node, ${pinned.name} ${pinned.version}: it could not be fetched, ` +
      'or it does not have the checksum that package-lock.json names.'
    )
  }
  const { code, output } = await capture(pinned.path, ['--version']).catch(({ message }) => ({
    code: 1,
    output: message,
  }))
  if (code === 0) return undefined
  return missingLibrary(output) ?? `The pinned Node does not run on this machine: ${output.trim()}.`
}

let usesOwnNode = false

/**
 * Installs the locked packages unless they are there already. Where the pinned Node cannot be used, the machine's
 * own takes its place when it is new enough; otherwise the process ends.
 */
export async function install(ownVersion = process.versions.node) {
  const isNewEnough = Number.parseInt(ownVersion, 10) >= oldestNode
  const pinned = lockedNode()
  const isThere = pinned !== undefined && existsSync(pinned.path)
  const isComplete = isInstalled() && (isThere || pinned === undefined || isNewEnough)
  if (!isComplete) await installPackages()
  // It ran before: npm's link to it is removed below when it does not.
  else if (isThere && existsSync(tool('node'))) return
  const fault = await nodeFault()
  if (fault === undefined) return
  // npm puts this folder first in the PATH of every script.
  rmSync(tool('node'), { force: true })
  usesOwnNode = isNewEnough
  if (isNewEnough) return say(`${fault} This machine's own Node ${ownVersion} is used.`)
  say(`${fault} This machine's own Node is ${ownVersion}; version ${oldestNode} or later would do as well.`)
  process.exit(1)
}

/** The Node that package-lock.json pins; the machine's own where that one cannot be used. */
export function pinnedNode() {
  const pinned = usesOwnNode ? undefined : lockedNode()
  return pinned !== undefined && existsSync(pinned.path) ? pinned.path : process.execPath
}

/** The path of a tool that a development dependency brings. */
export function tool(name) {
  return join(root, 'node_modules', '.bin', onWindows ? `${name}.cmd` : name)
}

/** The environment in which `portico` means the sources, not the built package. */
export function sourceEnvironment() {
  const options = [process.env.NODE_OPTIONS, '--conditions=portico-source'].filter(Boolean).join(' ')
  const path = [join(root, 'node_modules', '.bin'), dirname(pinnedNode()), process.env.PATH].join(
    onWindows ? ';' : ':',
  )
  return { ...process.env, NODE_OPTIONS: options, PATH: path }
}
