/** Programs that tests need and that npm does not bring: found on the machine, or installed where that is easy. */
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
  /** Where else it is than on the path. */
  readonly folders?: readonly string[]
  /** What one can do who does not install it. */
  readonly otherwise?: string
  /** Whether one that was found will do; by default each does. */
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

/** Where servers are, and not on the path of everybody. */
const more = ['/usr/sbin', '/usr/local/sbin']

/** The path of a program that the variable names or that is on the machine. */
export function onMachine(program: Omit<Program, 'package'>): string | undefined {
  const { names, variable, folders = [], accepts = () => true } = program
  const given = variable === undefined ? undefined : process.env[variable]
  if (given !== undefined && given !== '') return given
  const all = [...(process.env.PATH ?? '').split(delimiter), ...more, ...folders]
  return all
    .flatMap(folder => names.map(name => join(folder, name)))
    .find(path => isProgram(path) && accepts(path))
}

const TRIES = 40
const PAUSE = 3000

/** Runs apt-get; waits while another process holds its locks, as test files run at the same time. */
function apt(...words: readonly string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  for (let tries = 0; tries < TRIES; tries++) {
    const { status, stderr } = spawnSync('apt-get', ['-qq', ...words], { env, encoding: 'utf8' })
    if (status === 0) return true
    if (!/lock/i.test(stderr ?? '')) return false
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE)
  }
  return false
}

/** How long a process may install, in milliseconds; one that takes longer was killed. */
const maxInstallMs = 300_000

/**
 * Runs `install` in one process at a time: apt-get finds no package while another one brings the lists up to date, and
 * does not say that it is for a lock.
 */
function alone<T>(install: () => T): T {
  const lock = join(tmpdir(), 'portico-install.lock')
  for (let waited = 0; ; waited += PAUSE) {
    try {
      mkdirSync(lock)
      break
    } catch {
      if (waited >= maxInstallMs) break
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE)
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
 * Debian and root, as in a container of a build: the package can simply be had. Where it cannot, whoever looks for
 * the program afterwards says what to do.
 */
function installPackage(name: string): void {
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0) return
  const own = !existsSync(policy)
  if (own) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    if (apt('update')) apt('install', '-y', '--no-install-recommends', name)
  } finally {
    if (own) rmSync(policy, { force: true })
  }
}

/** The path of a program. Throws with what to do when it cannot be had. */
export function findProgram(program: Program): string {
  const { names, variable, package: name } = program
  const found = onMachine(program)
  if (found !== undefined) return found
  const installed = alone(() => {
    const installedByOther = onMachine(program)
    if (installedByOther === undefined) installPackage(name)
    return installedByOther ?? onMachine(program)
  })
  if (installed !== undefined) return installed
  const otherwise = program.otherwise ?? `name its file in ${variable}`
  throw new Error(
    `There is no ${names[0]}: install it (Debian: \`apt-get install ${name}\`), or ${otherwise}.`,
  )
}
