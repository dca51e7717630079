/** A database that is away comes back: what is to be delivered waits for it. */
import { setTimeout as wait } from 'node:timers/promises'
import { ApiError } from '../errors.ts'
import type { Awaitable } from '../plan/answer.ts'

/** How soon what has failed is tried again, in milliseconds. */
const AGAIN = 200

/** Whether the same may do when it is asked again. */
export function isPassing(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'UNAVAILABLE'
}

export class Outage {
  readonly #onFault: (error: unknown) => void
  readonly #ask: () => Awaitable<unknown>
  #isTold = false
  #ending: Promise<void> | undefined

  /** `ask`: rejects while the database is away. */
  constructor(ask: () => Awaitable<unknown>, onFault: (error: unknown) => void) {
    this.#ask = ask
    this.#onFault = onFault
  }

  /** Of an outage only the first fault is told, of others each. */
  tell(error: unknown): void {
    if (isPassing(error)) {
      if (this.#isTold) return
      this.#isTold = true
    }
    this.#onFault(error)
  }

  /** All went well. */
  over(): void {
    this.#isTold = false
  }

  pause(): Promise<void> {
    return wait(AGAIN, undefined, { ref: false })
  }

  /** Resolves when the database answers, or when nobody is there who wants to know. */
  end(isWanted: () => boolean): Promise<void> {
    this.#ending ??= this.#poll(isWanted).finally(() => {
      this.#ending = undefined
    })
    return this.#ending
  }

  async #poll(isWanted: () => boolean): Promise<void> {
    do {
      await this.pause()
      try {
        await this.#ask()
        return
      } catch {
        // Still away.
      }
    } while (isWanted())
  }
}
