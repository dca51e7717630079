/** The service in a process of its own, as started by a user, with the reference model. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type Answer, type CallOptions, call } from '../serve/service.ts'
import { bin, blog, type Surroundings } from './command.ts'
import { inheritedEnvironment } from './environment.ts'

export interface Process {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Its standard output and standard error so far. */
  output(): string
  call(path: string, options?: CallOptions): Promise<Answer>
  /** Sends a signal and waits for the exit. Returns the exit code, null if the signal killed it. */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

export interface Start extends Surroundings {
  /** The command that runs the service, e.g. `['strace', '-f']`. */
  readonly under?: readonly string[]
  /** Options for Node. */
  readonly node?: readonly string[]
}

function listening(child: ChildProcess, output: () => string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', () => {
      const [, port] = /listening on http:\/\/[^"]*:(\d+)/.exec(output()) ?? []
      if (port !== undefined) resolve(Number(port))
    })
    child.once('error', reject)
    child.once('close', code => reject(new Error(`The service exited with ${code}:\n${output()}`)))
  })
}

/** The process of the service, even if another program has started it. */
function serviceOf({ pid = 0 }: ChildProcess, { under = [] }: Start): number {
  if (under.length === 0) return pid
  return Number.parseInt(readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1'), 10) || pid
}

/** Starts a service and waits until it listens. */
export async function startProcess(start: Start): Promise<Process> {
  const { folder: cwd, environment, under = [], node = [] } = start
  const words = [...under, process.execPath, '--conditions=portico-source', ...node, bin, 'start']
  const [command = '', ...rest] = words
  const child = spawn(command, rest, {
    cwd,
    env: {
      ...inheritedEnvironment,
      PORTICO_MODEL: blog,
      HOST: '127.0.0.1',
      PORT: '0',
      LOG_LEVEL: 'info',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', chunk => {
      text += chunk
    })
  }
  const output = () => text
  const port = await listening(child, output).catch(error => {
    if (child.exitCode === null) process.kill(serviceOf(child, start), 'SIGKILL')
    throw error
  })
  const pid = serviceOf(child, start)
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    port,
    pid,
    output,
    call: (path, options) => call(url + path, options),
    async end(signal = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      const exit = once(child, 'close')
      process.kill(pid, signal)
      const [code] = await exit
      return code
    },
  }
}
