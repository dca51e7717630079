/** Python and Go with packages from PyPI, installed next to the sources. */
import { execFile, spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram, installedPath } from '../../programs.ts'
import { install, limits } from './installed.ts'

const run = promisify(execFile)

/** A Python with the packages in requirements.txt of this folder. */
export async function pythonWith(from: string): Promise<string> {
  const python = findProgram('python')
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
  const folders = () => ['/usr/local/go/bin']
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
