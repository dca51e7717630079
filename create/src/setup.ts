/** Creates the git repository and installs the packages, after the files are written. */
import { run } from './programs.ts'

/** Git sets variables for its hooks that name its repository, whatever the working folder is. */
function environmentWithoutGit(): NodeJS.ProcessEnv {
  const { GIT_DIR: _dir, GIT_WORK_TREE: _tree, GIT_INDEX_FILE: _index, ...rest } = process.env
  return rest
}

/** Creates a repository, if git is installed and the folder is not in one already. Returns whether it did. */
export async function makeRepository(folder: string): Promise<boolean> {
  const env = environmentWithoutGit()
  const { code } = await run('git', ['rev-parse', '--is-inside-work-tree'], folder, env)
  // 128: not in a repository. Undefined: no git.
  if (code === 0 || code === undefined) return false
  return (await run('git', ['init', '--quiet'], folder, env)).code === 0
}

/** npm's error codes if the registry cannot be reached. */
const unreachable =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT)\b/

/** Why npm failed, as a clause. */
function reasonIn(output: string): string {
  const [code] = unreachable.exec(output) ?? []
  if (code !== undefined) return `the package registry cannot be reached (${code})`
  const [, said = 'npm install failed'] = /^npm error (?!code )(.+)$/m.exec(output) ?? []
  return said.replace(/\.$/, '')
}

/** Installs the packages. Returns why that failed, as a clause; undefined if it succeeded. */
export async function installPackages(folder: string): Promise<string | undefined> {
  const args = ['install', '--include=dev', '--include=optional']
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--fetch-retry-mintimeout=1000']
  const { code, output } = await run('npm', [...args, ...quiet], folder)
  if (code === 0) return undefined
  return code === undefined ? 'npm was not found' : reasonIn(output)
}
