/** Programs that tests need and npm does not provide. They are found on the machine, or installed with apt-get. */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

export interface Program {
  /** File names, the best one first. */
  readonly names: readonly string[]
  /** The environment variable that names its file. */
  readonly variable?: string
  /** Debian's package. */
  readonly package: string
  /** Folders to search in addition to the PATH. */
  readonly folders?: readonly string[]
  /** The alternative to installing it, for the error message. */
  readonly otherwise?: string
  /** Whether the program at this path is suitable; by default every one is. */
  readonly accepts?: (path: string) => boolean
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Folders of servers, which are not on the PATH of every user. */
const serverFolders = ['/usr/sbin', '/usr/local/sbin']

/** The path of a program: from its environment variable, or from the machine's folders. */
export function installedPath(program: Omit<Program, 'package'>): string | undefined {
  const { names, variable, folders = [], accepts = () => true } = program
  const configured = variable === undefined ? undefined : process.env[variable]
  if (configured !== undefined && configured !== '') return configured
  const all = [...(process.env.PATH ?? '').split(delimiter), ...serverFolders, ...folders]
  return all
    .flatMap(folder => names.map(name => join(folder, name)))
    .find(path => isProgram(path) && accepts(path))
}

const maxTries = 40
const pauseMs = 3000

/** Runs apt-get. Waits while another process holds its locks, because test files run concurrently. */
function apt(...args: readonly string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  for (let tries = 0; tries < maxTries; tries++) {
    const { status, stderr } = spawnSync('apt-get', ['-qq', ...args], { env, encoding: 'utf8' })
    if (status === 0) return true
    if (!/lock/i.test(stderr ?? '')) return false
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs)
  }
  return false
}

/** A lock older than this belongs to a process that was killed. */
const maxInstallMs = 300_000

/**
 * Runs `install` in one process at a time. While another process updates the package lists, apt-get finds no package and
 * does not report a lock.
 */
function installExclusively<T>(install: () => T): T {
  const lock = join(tmpdir(), 'portico-install.lock')
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    try {
      mkdirSync(lock)
      break
    } catch {
      if (waitedMs >= maxInstallMs) break
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs)
    }
  }
  try {
    return install()
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

/** Keeps packages from starting their services (https://people.debian.org/~hmh/invokerc.d-policyrc.d-specification.txt). */
const policy = '/usr/sbin/policy-rc.d'

/**
 * Installs a Debian package if this process is root on Debian, as in a build container. Otherwise it does nothing, and the
 * error of the missing program says what to do.
 */
function installPackage(name: string): void {
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0) return
  const isOwner = !existsSync(policy)
  if (isOwner) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    if (apt('update')) apt('install', '-y', '--no-install-recommends', name)
  } finally {
    if (isOwner) rmSync(policy, { force: true })
  }
}

/** The path of a program. If it is missing and cannot be installed, the error says what to do. */
export function findProgram(program: Program): string {
  const { names, variable, package: name } = program
  const path = installedPath(program)
  if (path !== undefined) return path
  const installed = installExclusively(() => {
    const installedByOther = installedPath(program)
    if (installedByOther === undefined) installPackage(name)
    return installedByOther ?? installedPath(program)
  })
  if (installed !== undefined) return installed
  const otherwise = program.otherwise ?? `name its file in ${variable}`
  throw new Error(
    `There is no ${names[0]}: install it (Debian: \`apt-get install ${name}\`), or ${otherwise}.`,
  )
}
