/** Calls of `data` whose failure nobody waits for: they would otherwise be lost, or end the process. */

class TrackedPromise<T> extends Promise<T> {
  static override get [Symbol.species]() {
    return Promise
  }

  isAwaited = false

  // biome-ignore lint/suspicious/noThenProperty: it is a promise that knows whether somebody waits for it.
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isAwaited = true
    return super.then(onFulfilled, onRejected)
  }
}

export class Calls {
  readonly #failed = new Map<TrackedPromise<unknown>, unknown>()
  readonly #pending = new Set<Promise<unknown>>()

  /** The same promise, as one whose failure is known here. */
  readonly track = <T>(promise: Promise<T>): Promise<T> => {
    const tracked = new TrackedPromise<T>((resolve, reject) => {
      promise.then(resolve, error => {
        this.#failed.set(tracked, error)
        reject(error)
      })
    })
    const settled = Promise.prototype.then.call(tracked, undefined, () => {})
    this.#pending.add(settled)
    void settled.then(() => this.#pending.delete(settled))
    return tracked
  }

  /** Waits for all calls; rejects with the failure of one that nobody has waited for. */
  async requireAwaited(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending)
    for (const [call, error] of this.#failed) if (!call.isAwaited) throw error
  }
}
