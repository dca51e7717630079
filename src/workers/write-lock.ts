/**
 * Who may write to the SQLite file, among the workers of one process. Without it a worker would sleep in
 * SQLite's busy handler, and answer nobody, while another one commits.
 */
import { livesAt, WRITER, waitsAt, workersIn } from './memory.ts'

/** The next living worker after `worker` that waits, with it at the end. */
function nextWaiting(words: Int32Array, worker: number): number | undefined {
  const workers = workersIn(words)
  for (let step = 1; step <= workers; step++) {
    const next = (worker + step) % workers
    if (Atomics.load(words, waitsAt(next)) === 1 && Atomics.load(words, livesAt(next)) === 1) return next
  }
  return undefined
}

/** Hands the lock, which `worker` has, to whoever waits; frees it when nobody does. Returns who has it now. */
function handOn(words: Int32Array, worker: number): number | undefined {
  for (;;) {
    const next = nextWaiting(words, worker)
    if (next === undefined) {
      Atomics.store(words, WRITER, 0)
      // One may have begun to wait after it was looked at, and not have seen yet that the lock is free.
      if (nextWaiting(words, worker) === undefined) return undefined
      if (Atomics.compareExchange(words, WRITER, 0, worker + 1) !== 0) return undefined
      continue
    }
    Atomics.store(words, waitsAt(next), 0)
    Atomics.store(words, WRITER, next + 1)
    // It may have died in between: then whoever buried it saw the lock in our hands.
    if (Atomics.load(words, livesAt(next)) === 1) return next
    if (Atomics.compareExchange(words, WRITER, next + 1, worker + 1) !== next + 1) return undefined
  }
}

/** Marks a worker as living. */
export function enlist(words: Int32Array, worker: number): void {
  Atomics.store(words, waitsAt(worker), 0)
  Atomics.store(words, livesAt(worker), 1)
}

/** Marks a worker as dead, and frees what it had. */
export function bury(words: Int32Array, worker: number): void {
  Atomics.store(words, livesAt(worker), 0)
  Atomics.store(words, waitsAt(worker), 0)
  if (Atomics.load(words, WRITER) === worker + 1) handOn(words, worker)
}

interface WriteLockOptions {
  /** Tells a worker that the lock is its now. */
  readonly ring: (worker: number) => void
  /** For how long somebody else may have it, in milliseconds, before it is done without. */
  readonly patience?: number
}

/** How often a worker looks by itself whether the lock is its, in milliseconds: a bell may be lost. */
const LOOK = 10

export class WriteLock {
  readonly #words: Int32Array
  readonly #worker: number
  readonly #options: WriteLockOptions
  #again: (() => void) | undefined
  #since = 0
  #timer: NodeJS.Timeout | undefined

  constructor(words: Int32Array, worker: number, options: WriteLockOptions) {
    this.#words = words
    this.#worker = worker
    this.#options = options
  }

  /** Whether one may write now. If not, calls `again` when it should be asked anew. */
  take(again: () => void): boolean {
    if (this.#isOurs() || this.#isTaken()) {
      this.#stopWaiting()
      return true
    }
    Atomics.store(this.#words, waitsAt(this.#worker), 1)
    if (this.#isTaken()) {
      this.#stopWaiting()
      return true
    }
    if (this.#again === undefined) this.#since = performance.now()
    // Whoever has it so long is stuck: the database's own lock decides.
    else if (performance.now() - this.#since > (this.#options.patience ?? 5000)) {
      this.#stopWaiting()
      return true
    }
    this.#again = again
    this.#timer ??= setInterval(() => this.#look(), LOOK)
    return false
  }

  /** Gives it to whoever has waited. */
  release(): void {
    if (!this.#isOurs()) return
    const next = handOn(this.#words, this.#worker)
    if (next === this.#worker) this.#again?.()
    else if (next !== undefined) this.#options.ring(next)
  }

  /** Another worker says that the lock is ours. */
  rung(): void {
    if (!this.#isOurs()) return
    if (this.#again) this.#again()
    else this.release()
  }

  #look(): void {
    const isLate = performance.now() - this.#since > (this.#options.patience ?? 5000)
    if (isLate || this.#isOurs() || Atomics.load(this.#words, WRITER) === 0) this.#again?.()
  }

  #isOurs(): boolean {
    return Atomics.load(this.#words, WRITER) === this.#worker + 1
  }

  #isTaken(): boolean {
    return Atomics.compareExchange(this.#words, WRITER, 0, this.#worker + 1) === 0
  }

  #stopWaiting(): void {
    Atomics.store(this.#words, waitsAt(this.#worker), 0)
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#again = undefined
  }
}
