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
  take(key: string, limit: number, cost: number, windowSeconds?: number): Budget
  /** Sets what other nodes and this one have used of the key's budget in the window that ends at `resetAt`. */
  setUsed(key: string, used: number, resetAt: number, windowSeconds: number): void
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
    const counter = this.#counterFor(key)
    counter.granted = counter.used + cost <= limit
    if (counter.granted) counter.used += cost
    counter.limit = limit
    counter.remaining = Math.max(0, limit - counter.used)
    return counter
  }

  give(key: string, cost: number): void {
    this.#advance()
    const counter = this.#counters.get(key)
    if (!counter) return
    counter.used = Math.max(0, counter.used - cost)
    if (counter.used === 0) this.#counters.delete(key)
  }

  setUsed(key: string, used: number, resetAt: number): void {
    this.#advance()
    if (resetAt === this.#end) this.#counterFor(key).used = used
  }

  /** Begins a new window if the current one has ended. */
  #advance(): void {
    const seconds = Math.floor(this.#now() / 1000)
    if (seconds < this.#end && seconds >= this.#end - this.#seconds) return
    this.#counters.clear()
    this.#end = seconds - (seconds % this.#seconds) + this.#seconds
  }

  #counterFor(key: string): Counter {
    const existing = this.#counters.get(key)
    if (existing) return existing
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
    const windowsOfLength = byLength.get(seconds) ?? new Windows(seconds, now, maxKeys)
    byLength.set(seconds, windowsOfLength)
    return windowsOfLength
  }
  return {
    take: (key, limit, cost, windowSeconds = defaultWindowSeconds) =>
      windows(windowSeconds).take(key, limit, cost),
    give: (key, cost, windowSeconds = defaultWindowSeconds) => windows(windowSeconds).give(key, cost),
    setUsed: (key, used, resetAt, windowSeconds) => windows(windowSeconds).setUsed(key, used, resetAt),
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
