/** Prunes the log while nothing is written: each write prunes, too. */
import { setTimeout as wait } from 'node:timers/promises'

export interface IdlePruningOptions {
  /** How often to check for events to prune, in milliseconds. */
  readonly intervalMs: number
  /** Prunes some events; returns whether there may be more. */
  readonly step: () => Promise<boolean>
}

/** The pause between two steps, in which writes get their turn. */
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

  /** Waits for the running step. */
  async close(): Promise<void> {
    this.#closing.abort()
    clearInterval(this.#timer)
    await this.#running
  }

  #start(): void {
    this.#running ??= this.#run()
      // The next interval tries again.
      .catch(() => {})
      .finally(() => {
        this.#running = undefined
      })
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    // The signal ends the pause: its timer does not keep the process running, so the pause might never end.
    while (!signal.aborted && (await this.#options.step()))
      await wait(pauseMs, undefined, { ref: false, signal })
  }
}
