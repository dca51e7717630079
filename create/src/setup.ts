/** What follows the files: a git repository, and the packages. */
import { run } from './programs.ts'

/** Git runs hooks with variables that name a repository, wherever a command is run. */
function environmentOfAnyFolder(): NodeJS.ProcessEnv {
  const { GIT_DIR: _dir, GIT_WORK_TREE: _tree, GIT_INDEX_FILE: _index, ...rest } = process.env
  return rest
}

/** Whether a repository was made: git is there, and the folder is not in one already. */
export async function makeRepository(folder: string): Promise<boolean> {
  const env = environmentOfAnyFolder()
  const { code } = await run('git', ['rev-parse', '--is-inside-work-tree'], folder, env)
  // 128: not in a repository. Undefined: no git.
  if (code === 0 || code === undefined) return false
  return (await run('git', ['init', '--quiet'], folder, env)).code === 0
}

/** npm's codes when no registry answers. */
const unreachable =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT)\b/

/** Why npm failed, in a clause. */
function reasonIn(output: string): string {
  const [code] = unreachable.exec(output) ?? []
  if (code !== undefined) return `the package registry cannot be reached (${code})`
  const [, said = 'npm install failed'] = /^npm error (?!code )(.+)$/m.exec(output) ?? []
  return said.replace(/\.$/, '')
}

/** Installs the packages. Returns what went wrong, in a clause; undefined when they are there. */
export async function installPackages(folder: string): Promise<string | undefined> {
  const args = ['install', '--include=dev', '--include=optional']
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--fetch-retry-mintimeout=1000']
  const { code, output } = await run('npm', [...args, ...quiet], folder)
  if (code === 0) return undefined
  return code === undefined ? 'npm is not there' : reasonIn(output)
}
