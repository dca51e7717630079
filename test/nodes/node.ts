/** One Portico process, as `portico start` makes it. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { inheritedEnvironment } from '../processes/environment.ts'

const bin = resolve(import.meta.dirname, '../../src/bin.ts')
const START = 90_000
const STOP = 40_000

export interface NodeOptions {
  /** Where the process runs; a `portico.config.json` in it holds the settings. */
  readonly folder: string
  readonly model: string
  readonly environment?: Readonly<Record<string, string>>
}

const running = new Set<ChildProcess>()
// Where a test fails in a way that skips its end, nothing stays behind.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** A node keeps its port over restarts. */
export class Node {
  readonly #options: NodeOptions
  #child: ChildProcess | undefined
  #ended: Promise<unknown> = Promise.resolve()
  #port = 0
  /** All that the process has said so far, of every life. */
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

  /** Resolves when it can serve. */
  async start(): Promise<void> {
    this.#launch()
    await this.#listening()
    await this.ready()
  }

  /** Resolves when `/readyz` is 200. */
  async ready(milliseconds = START): Promise<void> {
    const end = performance.now() + milliseconds
    let told = 'nothing'
    while (performance.now() < end) {
      const answer = await fetch(`${this.url}/readyz`).catch(error => String(error.cause ?? error))
      if (typeof answer !== 'string' && answer.status === 200) return
      told = typeof answer === 'string' ? answer : `${answer.status} ${await answer.text()}`
      await wait(20)
    }
    throw new Error(`${this.url} is not ready: ${told}\n${this.log}`)
  }

  #launch(): void {
    if (this.#child) throw new Error('the node runs already')
    const { folder, model, environment = {} } = this.#options
    const child = spawn(process.execPath, ['--conditions=portico-source', bin, 'start'], {
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
    const said = (chunk: Buffer) => {
      this.log += chunk
    }
    child.stdout.on('data', said)
    child.stderr.on('data', said)
    this.#ended = once(child, 'close').then(() => {
      running.delete(child)
      if (this.#child === child) this.#child = undefined
    })
  }

  async #listening(): Promise<void> {
    const from = this.log.length
    const end = performance.now() + START
    while (performance.now() < end) {
      const found = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(this.log.slice(from))
      if (found) {
        this.#port = Number(found[1])
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
    await this.#ended
  }

  /** As an operator would; killed where it does not end. */
  async stop(): Promise<void> {
    const child = this.#child
    if (!child) return
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), STOP)
    await this.#ended
    clearTimeout(late)
  }

  /** SIGSTOP, as a machine that hangs. */
  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }
}
