// Used by every script: installed packages, the right Node, and child processes.
// Runs on the machine's own Node, from version 20.
import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { installPackages } from './debian.mjs'
import { isInstalled, lockedNode, root } from './packages.mjs'

export { root }

const onWindows = process.platform === 'win32'
/** As in `engines`: the first version with argon2 in node:crypto, and with node:sqlite without a warning. */
export const oldestNode = '24.15'

export function say(text) {
  process.stderr.write(`${text}\n`)
}

/** Runs a command. Resolves with its exit code and its output. */
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

/** Runs a command on this terminal, and forwards signals to it. Resolves with its exit code. */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit', ...options })
    const forward = signal => child.kill(signal)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, forward)
    child.on('error', reject)
    child.on('close', (code, signal) => {
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(name, forward)
      resolve(code ?? (signal === 'SIGINT' || signal === 'SIGTERM' ? 0 : 1))
    })
  })
}

/** The library for which a program does not start; undefined if it starts, or fails for another reason. */
function missingLibrary(output) {
  return /error while loading shared libraries: (\S+?):/.exec(output)?.[1]
}

/** Why a program does not start that printed this, and what to do; undefined if no library is missing. */
export function libraryFault(output) {
  const library = missingLibrary(output)
  if (library === undefined) return undefined
  const instructions = library.startsWith('libatomic.')
    ? ': as root, `apt install libatomic1`, or `dnf install libatomic`'
    : ''
  return `The pinned Node needs the library ${library}, which this machine lacks. Install it${instructions}. Then try again.`
}

function npm(...args) {
  const always = ['--ignore-scripts', '--include=dev', '--include=optional']
  const quietFlags = ['--no-audit', '--no-fund', '--loglevel=error']
  return capture('npm', [...args, ...always, ...quietFlags], { shell: onWindows })
}

function exitOnFailure({ code, output }) {
  if (code === 0) return
  say(output)
  say('npm failed; its output is above. It needs access to a package registry.')
  process.exit(code)
}

/** Whether the packages of the tests were installed once: then a newer lock file applies to them, too. */
function hasTestPackages() {
  return existsSync(join(root, 'node_modules', 'portico-test'))
}

async function installToServe(ownVersion) {
  if (hasTestPackages()) return installEverything()
  const node = usesOwnNode
    ? ''
    : `, and Node ${lockedNode()?.version ?? ''} since this machine has ${ownVersion}`
  say(`Installing what Portico needs to serve${node} (once) …`)
  const workspaces = usesOwnNode
    ? ['--workspaces=false']
    : ['--workspace=runtime', '--include-workspace-root']
  exitOnFailure(await npm('ci', ...workspaces))
}

/** Adds to what `npm start` has installed, so that a running service keeps its packages. */
async function installEverything() {
  say('Installing what tests, checks and measurements need (once) …')
  if (isInstalled('serve') && (await npm('install', '--no-save')).code === 0 && isInstalled()) return
  exitOnFailure(await npm('ci'))
}

function versionOf(node) {
  return capture(node, ['--version']).catch(({ message }) => ({ code: 1, output: message }))
}

/** Why the pinned Node cannot be used, and what to do; undefined if it runs. */
async function nodeFault() {
  const pinned = lockedNode()
  if (pinned === undefined) return `Portico pins no Node for ${process.platform} on ${process.arch}.`
  if (!existsSync(pinned.path)) {
    return (
      `npm did not install the pinned Node, ${pinned.name} ${pinned.version}: it could not be fetched, ` +
      'or it does not have the checksum that package-lock.json names.'
    )
  }
  let { code, output } = await versionOf(pinned.path)
  // Debian without a compiler lacks this library, with which Node 26 is linked.
  if (missingLibrary(output)?.startsWith('libatomic.')) {
    installPackages(['libatomic1'], say)
    ;({ code, output } = await versionOf(pinned.path))
  }
  if (code === 0) return undefined
  return libraryFault(output) ?? `The pinned Node does not run on this machine: ${output.trim()}.`
}

function isNewEnough(version) {
  return version.localeCompare(oldestNode, 'en', { numeric: true }) >= 0
}

function hasPinnedNode() {
  const pinned = lockedNode()
  return pinned !== undefined && existsSync(pinned.path)
}

let usesOwnNode = false

/** Selects the pinned Node or, if that cannot be used, the machine's own if it is new enough. Otherwise ends the process. */
async function selectPinnedNode(ownVersion) {
  const fault = await nodeFault()
  if (fault === undefined) return
  // npm puts this folder first in the PATH of every script.
  rmSync(tool('node'), { force: true })
  usesOwnNode = isNewEnough(ownVersion)
  if (usesOwnNode) return say(`${fault} This machine's own Node ${ownVersion} is used.`)
  say(`${fault} This machine's own Node is ${ownVersion}; version ${oldestNode} or later would do as well.`)
  process.exit(1)
}

/**
 * For `npm start` and other scripts that only build and serve: installs what they need, unless it is already installed, and
 * uses the machine's own Node if it is new enough. Otherwise installs the pinned one.
 */
export async function prepareToServe(ownVersion = process.versions.node) {
  usesOwnNode = isNewEnough(ownVersion)
  const hasPackages = isInstalled('serve') && (usesOwnNode || hasPinnedNode() || lockedNode() === undefined)
  if (!hasPackages) await installToServe(ownVersion)
  // An earlier run removed npm's link to a Node that does not run here.
  if (!usesOwnNode && !(hasPackages && existsSync(tool('node')))) await selectPinnedNode(ownVersion)
}

/**
 * For tests, checks and measurements: installs every locked package, unless they are already installed, and uses the pinned
 * Node, so that results are the same everywhere.
 */
export async function install(ownVersion = process.versions.node) {
  const hasPackages =
    isInstalled() && (hasPinnedNode() || lockedNode() === undefined || isNewEnough(ownVersion))
  if (!hasPackages) await installEverything()
  else if (hasPinnedNode() && existsSync(tool('node'))) return
  await selectPinnedNode(ownVersion)
}

/** The Node to use, after one of the functions above has selected it. */
export function chosenNode() {
  const pinned = usesOwnNode ? undefined : lockedNode()
  return pinned !== undefined && existsSync(pinned.path) ? pinned.path : process.execPath
}

/** The path of a tool from a development dependency. */
export function tool(name) {
  return join(root, 'node_modules', '.bin', onWindows ? `${name}.cmd` : name)
}

/** The environment in which `portico` resolves to the sources, not to the built package. */
export function sourceEnvironment() {
  const options = [process.env.NODE_OPTIONS, '--conditions=portico-source'].filter(Boolean).join(' ')
  const path = [join(root, 'node_modules', '.bin'), dirname(chosenNode()), process.env.PATH].join(
    onWindows ? ';' : ':',
  )
  return { ...process.env, NODE_OPTIONS: options, PATH: path }
}
