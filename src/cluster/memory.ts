/** Rate counters of a single node. */
import { type Budget, type Cluster, type RateCounters, WINDOW } from './cluster.ts'

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
  /** The oldest keys are forgotten beyond this. */
  readonly maxKeys?: number
}

/** Windows begin at whole minutes for every key, so that one `clear` forgets them all. */
export function memoryCounters({
  now = Date.now,
  maxKeys = 100_000,
}: MemoryCountersOptions = {}): RateCounters {
  const counters = new Map<string, Counter>()
  let windowEnd = 0

  const counter = (key: string): Counter => {
    const known = counters.get(key)
    if (known) return known
    if (counters.size >= maxKeys) counters.delete(counters.keys().next().value ?? '')
    const made: Counter = { limit: 0, remaining: 0, resetAt: windowEnd, granted: true, used: 0 }
    counters.set(key, made)
    return made
  }

  return {
    take(key, limit, cost) {
      const seconds = Math.floor(now() / 1000)
      if (seconds >= windowEnd || seconds < windowEnd - WINDOW) {
        counters.clear()
        windowEnd = seconds - (seconds % WINDOW) + WINDOW
      }
      const taken = counter(key)
      taken.granted = taken.used + cost <= limit
      if (taken.granted) taken.used += cost
      taken.limit = limit
      taken.remaining = Math.max(0, limit - taken.used)
      return taken
    },
  }
}

/** The cluster of a node that is alone. */
export function singleNode(): Cluster {
  return {
    counters: memoryCounters(),
    wake() {},
    onWake: () => () => {},
    trouble: () => undefined,
    close: async () => {},
  }
}
