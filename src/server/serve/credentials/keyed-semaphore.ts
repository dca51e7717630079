import { type Release, releaseOnce } from '../../../base/quota.ts'

interface KeyState {
  running: number
  readonly waiting: (() => void)[]
}

/** A semaphore for each key, with a bounded queue, in order of arrival. */
export class KeyedSemaphore {
  readonly #permits: number
  readonly #maxWaiting: number
  readonly #byKey = new Map<string, KeyState>()

  constructor(permits: number, maxWaiting: number) {
    this.#permits = permits
    this.#maxWaiting = maxWaiting
  }

  /** Resolves with a function that releases the permit, which may be called repeatedly; undefined if too many wait. */
  async acquire(key: string): Promise<Release | undefined> {
    const state = this.#byKey.get(key) ?? { running: 0, waiting: [] }
    this.#byKey.set(key, state)
    if (state.running < this.#permits) state.running++
    else if (state.waiting.length >= this.#maxWaiting) return undefined
    else await new Promise<void>(resolve => state.waiting.push(resolve))
    return releaseOnce(() => this.#release(key))
  }

  /** Passes the permit to the first in the queue, ahead of new callers. */
  #release(key: string): void {
    const state = this.#byKey.get(key)
    if (!state) return
    const next = state.waiting.shift()
    if (next) next()
    else state.running--
    if (state.running === 0) this.#byKey.delete(key)
  }
}
