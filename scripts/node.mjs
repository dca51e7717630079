// What every script needs: the packages installed, the pinned Node, and child processes that end well.
// Runs on the machine's own Node, from version 20.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

const onWindows = process.platform === 'win32'
const downloadedNode = join(root, 'node_modules', 'node', 'bin', onWindows ? 'node.exe' : 'node')
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

/** Debian without its compiler lacks one that Node 26 is linked with; npm runs packages' scripts with that Node. */
export function missingLibrary(output) {
  const [, library] = /error while loading shared libraries: (\S+?):/.exec(output) ?? []
  if (library === undefined) return undefined
  const how = library.startsWith('libatomic.')
    ? ': as root, `apt install libatomic1`, or `dnf install libatomic`'
    : ''
  return `The pinned Node needs the library ${library}, which this machine lacks. Install it${how}. Then try again.`
}

/** Installs the locked packages unless they are there already. */
export async function install() {
  const isNew = !isInstalled()
  if (isNew) {
    say('Installing the packages that package-lock.json names (once) …')
    const { code, output } = await capture('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
      shell: onWindows,
    })
    if (code !== 0) {
      say(output)
      say(
        missingLibrary(output) ??
          '`npm ci` failed; its output is above. It needs npm and a way to a package registry.',
      )
      process.exit(code)
    }
  }
  if (!existsSync(downloadedNode)) await fetchNode()
  else if (isNew) await requireRunning()
}

async function requireRunning() {
  const { code, output } = await capture(downloadedNode, ['--version'])
  if (code === 0) return
  say(output)
  say(missingLibrary(output) ?? 'The pinned Node does not run on this machine; what it says is above.')
  process.exit(1)
}

/** npm may be told not to run install scripts; the one of the package `node` brings the runtime. */
async function fetchNode() {
  const folder = join(root, 'node_modules', 'node')
  say('npm did not run the install script of the package `node`, which brings Node itself. Running it now …')
  const { code, output } = await capture(process.execPath, ['installArchSpecificPackage.js'], { cwd: folder })
  if (code === 0 && existsSync(downloadedNode)) return requireRunning()
  if (Number.parseInt(process.versions.node, 10) >= oldestNode) return
  say(output)
  say(
    `The pinned Node could not be fetched, and this machine's own is ${process.version}. Install Node ${oldestNode} or later.`,
  )
  process.exit(1)
}

/** The Node that package-lock.json pins; the machine's own when that one cannot be had on this platform. */
export function pinnedNode() {
  return existsSync(downloadedNode) ? downloadedNode : process.execPath
}

/** The path of a tool that a development dependency brings. */
export function tool(name) {
  return join(root, 'node_modules', '.bin', onWindows ? `${name}.cmd` : name)
}

/** The environment in which `portico` means the sources, not the built package. */
export function sourceEnvironment() {
  const options = [process.env.NODE_OPTIONS, '--conditions=portico-source'].filter(Boolean).join(' ')
  const path = [join(root, 'node_modules', '.bin'), process.env.PATH].join(onWindows ? ';' : ':')
  return { ...process.env, NODE_OPTIONS: options, PATH: path }
}
