/** Programs that tests need and that npm does not bring: found on the machine, or installed where that is easy. */
import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export interface Program {
  /** File names, the best one first. */
  readonly names: readonly string[]
  /** The environment variable that names its file. */
  readonly variable: string
  /** Debian's package. */
  readonly package: string
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

function onPath(names: readonly string[]): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...more]
  return folders.flatMap(folder => names.map(name => join(folder, name))).find(isProgram)
}

/** Debian and root, as in a container of a build: the package can simply be had. */
function install(name: string): void {
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0) return
  const quiet = { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } } as const
  // Test files run at the same time, and only one may install.
  const patient = ['-o', 'DPkg::Lock::Timeout=120', '-qq']
  try {
    execFileSync('apt-get', [...patient, 'update'], quiet)
    execFileSync('apt-get', [...patient, 'install', '-y', '--no-install-recommends', name], quiet)
  } catch {
    // The sentence of `findProgram` says what to do.
  }
}

/** The path of a program. Throws with what to do when it cannot be had. */
export function findProgram({ names, variable, package: name }: Program): string {
  const given = process.env[variable]
  if (given !== undefined && given !== '') return given
  const found = onPath(names)
  if (found !== undefined) return found
  install(name)
  const installed = onPath(names)
  if (installed !== undefined) return installed
  throw new Error(
    `There is no ${names[0]}: install it (Debian: \`apt-get install ${name}\`), or name its file in ${variable}.`,
  )
}
