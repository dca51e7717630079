/** Tools that only the client tests need, in a cache next to the sources: reinstalled when their lock file changes. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** The folder of the cache. */
export const cache = join(import.meta.dirname, '..', '..', '..', '.cache', 'clients')

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
export async function install(tools: Tools): Promise<string> {
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

export const limits = { timeout: 300_000, maxBuffer: 2 ** 26 }

/** The node_modules of a folder next to this file that contains package.json and its lock file. */
export async function npmPackages(name: string): Promise<string> {
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline']
  const folder = await install({
    from: join(import.meta.dirname, 'packages', name),
    files: ['package.json', 'package-lock.json'],
    needs: `The test needs the npm packages of test/system/clients/packages/${name}, from a registry or npm's cache.`,
    install: cwd => run('npm', args, { ...limits, cwd }),
  })
  return join(folder, 'node_modules')
}
