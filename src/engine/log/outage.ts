/** An outage of the database: events wait, and are delivered once the database answers again. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Awaitable } from '../../base/awaitable.ts'
import { ApiError, isOutOfDescriptors } from '../../base/errors.ts'

const retryIntervalMs = 200
const maxRetryIntervalMs = 5000

/** Whether the same query or request may succeed later, because what failed is the database or this machine. */
export function isTemporary(error: unknown): boolean {
  return (error instanceof ApiError && error.code === 'UNAVAILABLE') || isOutOfDescriptors(error)
}

export class Outage {
  readonly #onFault: (error: unknown) => void
  readonly #probe: () => Awaitable<unknown>
  #isReported = false
  #waiting: Promise<void> | undefined

  /** `probe` rejects while the database is unavailable. */
  constructor(probe: () => Awaitable<unknown>, onFault: (error: unknown) => void) {
    this.#probe = probe
    this.#onFault = onFault
  }

  /** Reports a fault. Of the faults of one outage, only the first is reported. */
  report(error: unknown): void {
    if (isTemporary(error)) {
      if (this.#isReported) return
      this.#isReported = true
    }
    this.#onFault(error)
  }

  /** The outage is over: the next fault begins another one. */
  end(): void {
    this.#isReported = false
  }

  /** `doublings`: how often the interval is doubled, up to a maximum. */
  pause(doublings = 0): Promise<void> {
    const intervalMs = Math.min(retryIntervalMs * 2 ** doublings, maxRetryIntervalMs)
    return sleep(intervalMs, undefined, { ref: false })
  }

  /** Resolves when the database answers, or when `isWanted` returns false. */
  untilOver(isWanted: () => boolean): Promise<void> {
    this.#waiting ??= this.#poll(isWanted).finally(() => {
      this.#waiting = undefined
    })
    return this.#waiting
  }

  async #poll(isWanted: () => boolean): Promise<void> {
    do {
      await this.pause()
      try {
        await this.#probe()
        return
      } catch {
        // Still unavailable.
      }
    } while (isWanted())
  }
}
