/** Rate counters of a single node. */
import { type Budget, type Cluster, defaultWindowSeconds, type RateCounters } from './cluster.ts'

interface Counter extends Budget {
  limit: number
  remaining: number
  resetAt: number
  granted: boolean
  used: number
}

interface MemoryCountersOptions {
  /** Milliseconds since the epoch; for tests. */
  readonly now?: () => number
  /** The maximum number of keys per window length. Beyond it, the oldest keys are evicted. */
  readonly maxKeys?: number
}

/** Counters that answer synchronously. */
export interface MemoryCounters extends RateCounters {
  take(key: string, limit: number, cost: number, window?: number): Budget
  /** Sets the count of the key to `used`, as counted elsewhere, in the window that ends at `resetAt`. */
  note(key: string, used: number, resetAt: number, window: number): void
}

/** The counters of one window length. Windows begin at the same time for all keys, so one `clear` resets them all. */
class Windows {
  readonly #seconds: number
  readonly #now: () => number
  readonly #maxKeys: number
  readonly #counters = new Map<string, Counter>()
  #end = 0

  constructor(seconds: number, now: () => number, maxKeys: number) {
    this.#seconds = seconds
    this.#now = now
    this.#maxKeys = maxKeys
  }

  take(key: string, limit: number, cost: number): Budget {
    this.#advance()
    const counter = this.#counter(key)
    counter.granted = counter.used + cost <= limit
    if (counter.granted) counter.used += cost
    counter.limit = limit
    counter.remaining = Math.max(0, limit - counter.used)
    return counter
  }

  give(key: string, cost: number): void {
    this.#advance()
    const known = this.#counters.get(key)
    if (!known) return
    known.used = Math.max(0, known.used - cost)
    if (known.used === 0) this.#counters.delete(key)
  }

  note(key: string, used: number, resetAt: number): void {
    this.#advance()
    if (resetAt === this.#end) this.#counter(key).used = used
  }

  /** Begins a new window if the current one has ended. */
  #advance(): void {
    const seconds = Math.floor(this.#now() / 1000)
    if (seconds < this.#end && seconds >= this.#end - this.#seconds) return
    this.#counters.clear()
    this.#end = seconds - (seconds % this.#seconds) + this.#seconds
  }

  #counter(key: string): Counter {
    const known = this.#counters.get(key)
    if (known) return known
    if (this.#counters.size >= this.#maxKeys) this.#counters.delete(this.#counters.keys().next().value ?? '')
    const counter: Counter = { limit: 0, remaining: 0, resetAt: this.#end, granted: true, used: 0 }
    this.#counters.set(key, counter)
    return counter
  }
}

export function memoryCounters({
  now = Date.now,
  maxKeys = 100_000,
}: MemoryCountersOptions = {}): MemoryCounters {
  const minute = new Windows(defaultWindowSeconds, now, maxKeys)
  const byLength = new Map([[defaultWindowSeconds, minute]])
  const windows = (seconds: number): Windows => {
    if (seconds === defaultWindowSeconds) return minute
    const known = byLength.get(seconds) ?? new Windows(seconds, now, maxKeys)
    byLength.set(seconds, known)
    return known
  }
  return {
    take: (key, limit, cost, window = defaultWindowSeconds) => windows(window).take(key, limit, cost),
    give: (key, cost, window = defaultWindowSeconds) => windows(window).give(key, cost),
    note: (key, used, resetAt, window) => windows(window).note(key, used, resetAt),
  }
}

/** The cluster of a single node. */
export function singleNode(): Cluster {
  return {
    counters: memoryCounters(),
    wake() {},
    onWake: () => () => {},
    trouble: () => undefined,
    close: async () => {},
  }
}
