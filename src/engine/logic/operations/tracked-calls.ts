/** Tracks the calls of the model's code, so that the failure of a call that is not awaited is reported without ending the process. */

class TrackedPromise<T> extends Promise<T> {
  static override get [Symbol.species]() {
    return Promise
  }

  isAwaited = false

  // biome-ignore lint/suspicious/noThenProperty: a promise that records whether it is awaited.
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isAwaited = true
    return super.then(onFulfilled, onRejected)
  }
}

export class TrackedCalls {
  readonly #failed = new Map<TrackedPromise<unknown>, unknown>()
  readonly #pending = new Set<Promise<unknown>>()

  /** Returns a promise for the result of the call, and tracks it. */
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

  /** Waits for all calls. Rejects with the failure of a call that nobody has awaited. */
  async requireAwaited(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending)
    for (const [call, error] of this.#failed) if (!call.isAwaited) throw error
  }
}
