/** Tools that only the client tests need, in a cache beside the sources: reinstalled when their lock file changes. */
import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram, installedPath } from '../programs.ts'

const run = promisify(execFile)
/** The folder of the cache. */
export const cache = join(import.meta.dirname, '..', '..', '.cache', 'clients')

interface Tools {
  /** The files that determine the installation, including the lock file. */
  readonly files: readonly string[]
  /** The folder with these files. */
  readonly from: string
  /** The requirements, for the error message. */
  readonly needs: string
  install(folder: string): Promise<unknown>
}

function nameOf({ files, from }: Tools): string {
  const hash = createHash('sha256')
  for (const file of files) hash.update(readFileSync(join(from, file)))
  return `${from.split(/[\\/]/).at(-1)}-${hash.digest('hex').slice(0, 16)}`
}

/** The folder with the tools. Throws with the requirements when they cannot be installed. */
async function install(tools: Tools): Promise<string> {
  const folder = join(cache, nameOf(tools))
  if (existsSync(folder)) return folder
  mkdirSync(cache, { recursive: true })
  // Test files run concurrently: each installs its own copy, and the first one stays.
  const temporary = mkdtempSync(join(cache, 'new-'))
  try {
    for (const file of tools.files) cpSync(join(tools.from, file), join(temporary, file))
    await tools.install(temporary)
    if (!existsSync(folder)) renameSync(temporary, folder)
    return folder
  } catch (error) {
    throw new Error(`${tools.needs}\n${(error as { stderr?: string }).stderr ?? error}`)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

const limits = { timeout: 300_000, maxBuffer: 2 ** 26 }

/** The node_modules of a folder beside this file that contains package.json and its lock file. */
export async function npmPackages(name: string): Promise<string> {
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline']
  const folder = await install({
    from: join(import.meta.dirname, 'packages', name),
    files: ['package.json', 'package-lock.json'],
    needs: `The test needs the npm packages of test/clients/packages/${name}, from a registry or npm's cache.`,
    install: cwd => run('npm', args, { ...limits, cwd }),
  })
  return join(folder, 'node_modules')
}

/** A Python with the packages in requirements.txt of this folder. */
export async function pythonWith(from: string): Promise<string> {
  const python = findProgram({
    names: ['python3'],
    variable: 'PYTHON',
    package: 'python3-venv',
    otherwise: 'name a Python 3.10 or later in PYTHON',
    // On Debian, python3 needs that package to install pip in a new environment.
    accepts: path => spawnSync(path, ['-c', 'import venv, ensurepip']).status === 0,
  })
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', 'requirements.txt']
  const folder = await install({
    from,
    files: ['requirements.txt'],
    needs: `The test needs Python 3.10 or later with venv, and the packages of ${from}/requirements.txt from PyPI.`,
    async install(cwd) {
      await run(python, ['-m', 'venv', 'venv'], { ...limits, cwd })
      await run(join(cwd, 'venv', 'bin', 'python'), pip, { ...limits, cwd })
    },
  })
  return join(folder, 'venv', 'bin', 'python')
}

const oldestGo = 25

function isNewEnoughGo(path: string): boolean {
  const { stdout } = spawnSync(path, ['version'], { encoding: 'utf8' })
  return Number(/ go1\.(\d+)/.exec(stdout)?.[1] ?? 0) >= oldestGo
}

/**
 * Go 1.25 or later: from GO or the PATH, otherwise from PyPI, as named by requirements.txt in this folder. It fetches
 * modules itself, verifying the checksums in go.sum.
 */
export async function goFor(from: string): Promise<string> {
  const folders = ['/usr/local/go/bin']
  const machineGo = installedPath({ names: ['go'], variable: 'GO', folders, accepts: isNewEnoughGo })
  return machineGo ?? join(dirname(await pythonWith(from)), 'go')
}

/** Modules that Go fetches and compiles are kept for the next run. */
export function goEnvironment(): Readonly<Record<string, string>> {
  const { GOPATH, GOCACHE, GOPROXY, GOFLAGS } = process.env
  const all = { HOME: homedir(), GOPATH, GOCACHE, GOPROXY, GOFLAGS, CGO_ENABLED: '0' }
  return Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

/** The programs of openapi-generator and of its clients; undefined for those that the machine lacks. */
export function machinePrograms() {
  const folders = [join(homedir(), '.cargo', 'bin')]
  return {
    java: installedPath({ names: ['java'], variable: 'JAVA' }),
    javac: installedPath({ names: ['javac'] }),
    maven: installedPath({ names: ['mvn'], variable: 'MAVEN' }),
    cargo: installedPath({ names: ['cargo'], variable: 'CARGO', folders }),
  }
}

/** The jar of openapi-generator, which the pom.xml in this folder names. */
export async function openapiGenerator(from: string, maven: string): Promise<string> {
  const copy = ['dependency:copy-dependencies', '-DoutputDirectory=.', '-Dmdep.stripVersion=true']
  const folder = await install({
    from,
    files: ['pom.xml'],
    needs: `The test needs the artifact in ${from}/pom.xml, from Maven's repository.`,
    install: cwd => run(maven, ['--quiet', '--batch-mode', ...copy], { ...limits, cwd }),
  })
  return join(folder, 'openapi-generator-cli.jar')
}
