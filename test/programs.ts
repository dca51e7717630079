/** Programs that tests need and npm does not provide. `npm test` installs them, or leaves out the files that call for them. */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export interface Program {
  /** What it is part of, for messages. */
  readonly title: string
  /** File names, the best one first. */
  readonly names: readonly string[]
  /** The environment variable that names its file. */
  readonly variable?: string
  /** Debian's package. */
  readonly package: string
  /** Folders to search in addition to the PATH. Called at each search, since a package may have been installed meanwhile. */
  readonly folders?: () => readonly string[]
  /** Whether the program at this path is suitable; by default every one is. */
  readonly accepts?: (path: string) => boolean
}

const postgresFolder = '/usr/lib/postgresql'

/** The program folders of the PostgreSQL versions that Debian installs into `base`, newest first. */
export function debianFolders(base = postgresFolder): readonly string[] {
  if (!existsSync(base)) return []
  return readdirSync(base)
    .sort((left, right) => Number(right) - Number(left))
    .map(version => join(base, version, 'bin'))
}

const table = {
  initdb: {
    title: 'PostgreSQL',
    names: ['initdb'],
    package: 'postgresql',
    folders: debianFolders,
  },
  'redis-server': { title: 'Redis', names: ['redis-server'], package: 'redis-server' },
  chromium: {
    title: 'Chromium',
    // Without windows it needs a third less time.
    names: [
      'chromium-headless-shell',
      'chromium',
      'chromium-browser',
      'google-chrome-stable',
      'google-chrome',
    ],
    variable: 'CHROMIUM',
    package: 'chromium-headless-shell',
  },
  haproxy: { title: 'HAProxy', names: ['haproxy'], variable: 'HAPROXY', package: 'haproxy' },
  strace: { title: 'strace', names: ['strace'], variable: 'STRACE', package: 'strace' },
  'systemd-analyze': {
    title: 'systemd-analyze',
    names: ['systemd-analyze'],
    variable: 'SYSTEMD_ANALYZE',
    package: 'systemd',
  },
  python: {
    title: 'Python 3.10 or later with venv',
    names: ['python3'],
    variable: 'PYTHON',
    package: 'python3-venv',
    // On Debian, python3 needs that package to install pip in a new environment.
    accepts: path => spawnSync(path, ['-c', 'import venv, ensurepip']).status === 0,
  },
  curl: { title: 'curl', names: ['curl'], package: 'curl' },
  git: { title: 'Git', names: ['git'], package: 'git' },
} satisfies Record<string, Program>

export type ProgramName = keyof typeof table
export const programs: Readonly<Record<ProgramName, Program>> = table

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

type Search = Pick<Program, 'names' | 'variable' | 'folders' | 'accepts'>

/** The path of a program: from its environment variable, or from the machine's folders. */
export function installedPath(program: Search): string | undefined {
  const { names, variable, folders = () => [], accepts = () => true } = program
  const configured = variable === undefined ? undefined : process.env[variable]
  if (configured !== undefined && configured !== '') return configured
  const all = [...(process.env.PATH ?? '').split(delimiter), ...serverFolders, ...folders()]
  return all
    .flatMap(folder => names.map(name => join(folder, name)))
    .find(path => isProgram(path) && accepts(path))
}

/** The path of a program. If it is missing, the error says what to do. `needs.ts` finds the calls, so the name is a literal. */
export function findProgram(name: ProgramName): string {
  const program = programs[name]
  const path = installedPath(program)
  if (path !== undefined) return path
  const { title, package: debianPackage, variable } = program
  const otherwise = variable === undefined ? '' : `, or name its file in ${variable}`
  throw new Error(
    `There is no ${title} on this machine: install it (Debian: \`apt install ${debianPackage}\`)${otherwise}.`,
  )
}

/** The URL of a running PostgreSQL server, for the tests that do not start one of their own; undefined means to start one. */
export function configuredPostgres(): string | undefined {
  return process.env.PORTICO_TEST_POSTGRES || undefined
}
