/** Prunes the log where nothing is written for long: writes do it by themselves. */
import { setTimeout as wait } from 'node:timers/promises'

export interface IdlePruningOptions {
  /** How often to look, in milliseconds. */
  readonly intervalMs: number
  /** Prunes some events; returns whether there may be more. */
  readonly step: () => Promise<boolean>
}

/** Between steps, so that whoever comes to write has a turn. */
const pauseMs = 20

export class IdlePruning {
  readonly #options: IdlePruningOptions
  readonly #timer: NodeJS.Timeout
  #running: Promise<void> | undefined
  readonly #closing = new AbortController()

  constructor(options: IdlePruningOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#start(), options.intervalMs).unref()
  }

  /** Waits for the step that runs. */
  async close(): Promise<void> {
    this.#closing.abort()
    clearInterval(this.#timer)
    await this.#running
  }

  #start(): void {
    this.#running ??= this.#run()
      // The next look tries again.
      .catch(() => {})
      .finally(() => {
        this.#running = undefined
      })
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    // A pause that nothing else waits for would never end.
    while (!signal.aborted && (await this.#options.step()))
      await wait(pauseMs, undefined, { ref: false, signal })
  }
}
