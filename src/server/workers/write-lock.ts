/**
 * The write lock decides which worker of this process may write to the SQLite file. Without it, a worker would sleep in
 * SQLite's busy handler, and answer no request, while another one commits.
 */
import { aliveIndex, waitingIndex, workersIn, writerIndex } from './shared-memory.ts'

/** Returns the next worker after `worker` that is alive and waits; `worker` itself is the last candidate. */
function nextWaiting(words: Int32Array, worker: number): number | undefined {
  const workers = workersIn(words)
  for (let step = 1; step <= workers; step++) {
    const next = (worker + step) % workers
    if (Atomics.load(words, waitingIndex(next)) === 1 && Atomics.load(words, aliveIndex(next)) === 1)
      return next
  }
  return undefined
}

/** Passes the lock of `worker` to a worker that waits, or frees it. Returns the new holder. */
function passOn(words: Int32Array, worker: number): number | undefined {
  for (;;) {
    const next = nextWaiting(words, worker)
    if (next === undefined) {
      Atomics.store(words, writerIndex, 0)
      // A worker may have begun to wait after it was checked, and may not yet have seen that the lock is free.
      if (nextWaiting(words, worker) === undefined) return undefined
      if (Atomics.compareExchange(words, writerIndex, 0, worker + 1) !== 0) return undefined
      continue
    }
    Atomics.store(words, waitingIndex(next), 0)
    Atomics.store(words, writerIndex, next + 1)
    // If the worker ended in between, `markDead` saw that `worker` had the lock.
    if (Atomics.load(words, aliveIndex(next)) === 1) return next
    if (Atomics.compareExchange(words, writerIndex, next + 1, worker + 1) !== next + 1) return undefined
  }
}

/** Call it when a worker has started. */
export function markAlive(words: Int32Array, worker: number): void {
  Atomics.store(words, waitingIndex(worker), 0)
  Atomics.store(words, aliveIndex(worker), 1)
}

/** Call it when a worker has ended: frees its lock. */
export function markDead(words: Int32Array, worker: number): void {
  Atomics.store(words, aliveIndex(worker), 0)
  Atomics.store(words, waitingIndex(worker), 0)
  if (Atomics.load(words, writerIndex) === worker + 1) passOn(words, worker)
}

interface WriteLockOptions {
  /** Tells a worker that it has the lock. */
  readonly notify: (worker: number) => void
  /** After this time the holder is considered stuck, and the write proceeds without the lock. */
  readonly timeoutMs?: number
}

/** How often a waiting worker checks whether it has the lock: a notification may be lost. */
const pollIntervalMs = 10
const defaultTimeoutMs = 5000

export class WriteLock {
  readonly #words: Int32Array
  readonly #worker: number
  readonly #options: WriteLockOptions
  #retry: (() => void) | undefined
  #waitingSince = 0
  #timer: NodeJS.Timeout | undefined

  constructor(words: Int32Array, worker: number, options: WriteLockOptions) {
    this.#words = words
    this.#worker = worker
    this.#options = options
  }

  /** Returns whether this worker may write now. If not, `retry` is called when it should try again. */
  take(retry: () => void): boolean {
    if (this.#isHeld() || this.#tryAcquire()) {
      this.#stopWaiting()
      return true
    }
    Atomics.store(this.#words, waitingIndex(this.#worker), 1)
    if (this.#tryAcquire()) {
      this.#stopWaiting()
      return true
    }
    if (this.#retry === undefined) this.#waitingSince = performance.now()
    // The holder is stuck: SQLite's own lock decides.
    else if (performance.now() - this.#waitingSince > (this.#options.timeoutMs ?? defaultTimeoutMs)) {
      this.#stopWaiting()
      return true
    }
    this.#retry = retry
    this.#timer ??= setInterval(() => this.#poll(), pollIntervalMs)
    return false
  }

  /** Passes the lock to the next worker that waits. */
  release(): void {
    if (!this.#isHeld()) return
    const next = passOn(this.#words, this.#worker)
    if (next === this.#worker) this.#retry?.()
    else if (next !== undefined) this.#options.notify(next)
  }

  /** Another worker has passed the lock to this one. */
  onNotified(): void {
    if (!this.#isHeld()) return
    if (this.#retry) this.#retry()
    else this.release()
  }

  #poll(): void {
    const isLate = performance.now() - this.#waitingSince > (this.#options.timeoutMs ?? defaultTimeoutMs)
    if (isLate || this.#isHeld() || Atomics.load(this.#words, writerIndex) === 0) this.#retry?.()
  }

  #isHeld(): boolean {
    return Atomics.load(this.#words, writerIndex) === this.#worker + 1
  }

  #tryAcquire(): boolean {
    return Atomics.compareExchange(this.#words, writerIndex, 0, this.#worker + 1) === 0
  }

  #stopWaiting(): void {
    Atomics.store(this.#words, waitingIndex(this.#worker), 0)
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#retry = undefined
  }
}
