/** A service of the reference model in a process of its own, started as users start it. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type Answer, type CallOptions, call } from '../../server/serve/service.ts'
import { blog, type ProcessOptions } from './command.ts'
import { inheritedEnvironment } from './environment.ts'
import { program } from './program.ts'

export interface Process {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Its standard output and standard error so far. */
  output(): string
  call(path: string, options?: CallOptions): Promise<Answer>
  /** Resolves with the exit code; null if a signal killed it. */
  readonly ended: Promise<number | null>
  /** Sends a signal and waits for the exit. Returns the exit code, null if the signal killed it. */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

export interface StartOptions extends ProcessOptions {
  /** A command prefix, e.g. `['strace', '-f']`. */
  readonly wrapper?: readonly string[]
  readonly nodeOptions?: readonly string[]
}

/** Waits until the service listens. Returns its port. */
function listeningPort(child: ChildProcess, output: () => string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', () => {
      const [, port] = /listening on http:\/\/[^"]*:(\d+)/.exec(output()) ?? []
      if (port !== undefined) resolve(Number(port))
    })
    child.once('error', reject)
    child.once('close', code => reject(new Error(`The service exited with ${code}:\n${output()}`)))
  })
}

/** The id of the service's process. With a wrapper, it is a child of the started process. */
function servicePid({ pid = 0 }: ChildProcess, { wrapper = [] }: StartOptions): number {
  if (wrapper.length === 0) return pid
  return Number.parseInt(readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1'), 10) || pid
}

/** Starts a service and waits until it listens. */
export async function startProcess(start: StartOptions): Promise<Process> {
  const { folder: cwd, environment, wrapper = [], nodeOptions = [] } = start
  const argv = [...wrapper, process.execPath, ...nodeOptions, ...program, 'start']
  const [command = '', ...rest] = argv
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
  const port = await listeningPort(child, output).catch(error => {
    if (child.exitCode === null) process.kill(servicePid(child, start), 'SIGKILL')
    throw error
  })
  const pid = servicePid(child, start)
  const ended = once(child, 'close').then(([code]) => code)
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    port,
    pid,
    output,
    call: (path, options) => call(url + path, options),
    ended,
    async end(signal = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      process.kill(pid, signal)
      return ended
    },
  }
}
