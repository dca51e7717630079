/** A semaphore for each key, with a bounded queue, in order of arrival. */
export class KeyedSemaphore {
  readonly #permits: number
  readonly #maxWaiting: number
  readonly #byKey = new Map<string, { running: number; readonly waiting: (() => void)[] }>()

  constructor(permits: number, maxWaiting: number) {
    this.#permits = permits
    this.#maxWaiting = maxWaiting
  }

  /** Resolves with a function that releases the permit, which may be called again; undefined when too many wait. */
  async acquire(key: string): Promise<(() => void) | undefined> {
    const known = this.#byKey.get(key) ?? { running: 0, waiting: [] }
    this.#byKey.set(key, known)
    if (known.running < this.#permits) known.running++
    else if (known.waiting.length >= this.#maxWaiting) return undefined
    else await new Promise<void>(resolve => known.waiting.push(resolve))
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.#release(key)
    }
  }

  /** Passes the permit to the first in the queue, ahead of new callers. */
  #release(key: string): void {
    const known = this.#byKey.get(key)
    if (!known) return
    const next = known.waiting.shift()
    if (next) next()
    else known.running--
    if (known.running === 0) this.#byKey.delete(key)
  }
}
