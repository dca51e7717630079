/** One process of `portico start`. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { inheritedEnvironment } from '../processes/environment.ts'
import { programOfTestModels } from '../processes/program.ts'

const startTimeoutMs = 90_000
const stopTimeoutMs = 40_000

export interface NodeOptions {
  /** The working directory, whose `portico.config.json` has the settings. */
  readonly folder: string
  readonly model: string
  readonly environment?: Readonly<Record<string, string>>
}

const running = new Set<ChildProcess>()
// No process is left behind if a test fails without its cleanup.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** A node, which keeps its port across restarts. */
export class Node {
  readonly #options: NodeOptions
  #child: ChildProcess | undefined
  #exit: Promise<unknown> = Promise.resolve()
  #port = 0
  /** The output of all runs of the process. */
  log = ''

  constructor(options: NodeOptions) {
    this.#options = options
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  get socketUrl(): string {
    return `ws://127.0.0.1:${this.#port}/graphql`
  }

  get port(): number {
    return this.#port
  }

  get isUp(): boolean {
    return this.#child !== undefined
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Resolves when the node is ready. */
  async start(): Promise<void> {
    this.#launch()
    await this.#listening()
    await this.ready()
  }

  /** Resolves when `/readyz` is 200. */
  async ready(milliseconds = startTimeoutMs): Promise<void> {
    const end = performance.now() + milliseconds
    let last = 'nothing'
    while (performance.now() < end) {
      const answer = await fetch(`${this.url}/readyz`).catch(error => String(error.cause ?? error))
      if (typeof answer !== 'string' && answer.status === 200) return
      last = typeof answer === 'string' ? answer : `${answer.status} ${await answer.text()}`
      await wait(20)
    }
    throw new Error(`${this.url} is not ready: ${last}\n${this.log}`)
  }

  #launch(): void {
    if (this.#child) throw new Error('the node is already running')
    const { folder, model, environment = {} } = this.#options
    const child = spawn(process.execPath, [...programOfTestModels, 'start'], {
      cwd: folder,
      env: {
        ...inheritedEnvironment,
        PORTICO_MODEL: model,
        HOST: '127.0.0.1',
        PORT: String(this.#port),
        LOG_LEVEL: 'info',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.add(child)
    this.#child = child
    const append = (chunk: Buffer) => {
      this.log += chunk
    }
    child.stdout.on('data', append)
    child.stderr.on('data', append)
    this.#exit = once(child, 'close').then(() => {
      running.delete(child)
      if (this.#child === child) this.#child = undefined
    })
  }

  async #listening(): Promise<void> {
    const from = this.log.length
    const end = performance.now() + startTimeoutMs
    while (performance.now() < end) {
      const match = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(this.log.slice(from))
      if (match) {
        this.#port = Number(match[1])
        return
      }
      if (!this.#child) break
      await wait(10)
    }
    throw new Error(`the node did not start:\n${this.log}`)
  }

  /** `kill -9`. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#exit
  }

  /** Sends SIGTERM, and SIGKILL if the process does not exit. */
  async stop(): Promise<void> {
    const child = this.#child
    if (!child) return
    child.kill('SIGTERM')
    const killTimer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
    await this.#exit
    clearTimeout(killTimer)
  }

  /** Sends SIGSTOP, like a machine that hangs. */
  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }
}
