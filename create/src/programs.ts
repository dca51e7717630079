/** Other programs: npm, git, the machine's Node. */
import { spawn } from 'node:child_process'
import { delimiter, join } from 'node:path'

export interface Ended {
  /** Undefined if the program does not exist. */
  readonly code: number | undefined
  readonly output: string
}

const onWindows = process.platform === 'win32'

/** Runs a program without a terminal, and waits for its end. On Windows, npm is a batch file, which needs a shell. */
export function run(
  program: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Ended> {
  return new Promise(resolve => {
    const shell = onWindows && program === 'npm'
    const child = spawn(program, args, { cwd, env, shell, stdio: ['ignore', 'pipe', 'pipe'] })
    const chunks: Buffer[] = []
    child.stdout.on('data', chunk => chunks.push(chunk))
    child.stderr.on('data', chunk => chunks.push(chunk))
    child.on('error', () => resolve({ code: undefined, output: '' }))
    child.on('close', code => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() }))
  })
}

/** The environment without the programs of packages, which npm puts first in the path. */
export function machineEnvironment(): NodeJS.ProcessEnv {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const ofMachine = folders.filter(folder => !folder.includes(join('node_modules', '.bin')))
  return { ...process.env, PATH: ofMachine.join(delimiter) }
}
