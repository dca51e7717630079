/** What nodes share. `memory.ts` is for one node. What it holds may be lost without losing data. */

export interface Cluster {
  readonly counters: RateCounters
  /** Tells the other nodes that something was committed here. Neither waits nor throws. */
  wake(): void
  /** Calls `listener` when another node has told so. Returns what ends it. */
  onWake(listener: () => void): () => void
  /** What is amiss, in a sentence; undefined while all is well. */
  trouble(): string | undefined
  close(): Promise<void>
}

/** What is left of a key's budget in this window. Valid until the next `take`. */
export interface Budget {
  readonly limit: number
  /** Never below 0. */
  readonly remaining: number
  /** When the window ends, in Unix seconds. */
  readonly resetAt: number
  /** Whether the cost was within the limit. */
  readonly granted: boolean
}

export interface RateCounters {
  /** Takes `cost` from the budget `key`, of which there are `limit` in each window, of 60 seconds unless given. */
  take(key: string, limit: number, cost: number, window?: number): Budget | Promise<Budget>
}

/** The length of a window, in seconds. */
export const WINDOW = 60
