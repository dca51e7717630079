/** Runs commands and services in a created project. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { generateKey } from '../../../src/identity/keys/key.ts'
import { blocksOf } from '../../docs/blocks.ts'
import { findProgram } from '../../programs.ts'

const run = promisify(execFile)

export interface ShellOptions {
  readonly cwd: string
  readonly env: Record<string, string>
}

/** Runs a command of a page. Returns its output; fails with all of it. */
export async function shell(line: string, options: ShellOptions): Promise<string> {
  const { stdout } = await run('bash', ['-e', '-c', line], options).catch(failed =>
    assert.fail(`${line}\n${failed.stdout}\n${failed.stderr}`),
  )
  return stdout
}

/** Runs a command that must fail. Returns its output, without what npm adds. */
export async function runFailing(line: string, options: ShellOptions): Promise<string> {
  const failed = await run('bash', ['-e', '-c', line], options).catch((error: { stderr: string }) => error)
  if ('stdout' in failed && !('code' in failed)) assert.fail(`${line} did not fail`)
  return failed.stderr.replace(/^npm (warn|error) .*\n/gm, '')
}

export interface RunningService {
  /** The user of the key KEY. */
  readonly env: Record<string, string>
  readonly url: string
  readonly output: () => string
  stop(): Promise<void>
}

/** Runs a command that serves until it is stopped. */
export async function startServing(line: string, { cwd, env }: ShellOptions): Promise<RunningService> {
  const KEY = generateKey()
  const serviceEnv = { ...env, KEY, PORTICO_ADMIN_API_KEY: KEY, PORT: '0', HOST: '127.0.0.1' }
  // In a process group of its own: npm is between the test and the service.
  const child = spawn('bash', ['-c', `exec ${line}`], { cwd, env: serviceEnv, detached: true })
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    const readPort = (chunk: Buffer) => {
      output += chunk
      const [, port] = /http:\/\/(?:localhost|127\.0\.0\.1):(\d+)/.exec(output) ?? []
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`)
    }
    child.stdout.on('data', readPort)
    child.stderr.on('data', readPort)
    child.once('close', code => reject(new Error(`${line} exited with ${code}:\n${output}`)))
  })
  return {
    env: serviceEnv,
    url,
    output: () => output,
    async stop() {
      if (child.pid === undefined || child.exitCode !== null) return
      const closed = once(child, 'close')
      process.kill(-child.pid, 'SIGTERM')
      await closed
    },
  }
}

/** Sends the requests of a page to a service. Returns the responses. */
export async function requestsOf(
  page: string,
  { url, env }: RunningService,
  cwd: string,
): Promise<unknown[]> {
  const answers: unknown[] = []
  for (const { language, text } of blocksOf(page)) {
    if (language !== 'sh' || !text.startsWith('curl ')) continue
    const line = text
      .replaceAll('http://localhost:3000', url)
      .replace(/^curl /, `${findProgram('curl')} -s --fail-with-body `)
    answers.push(JSON.parse(await shell(line, { cwd, env })))
  }
  return answers
}
