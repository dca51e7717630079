/** The state that nodes share: rate counters and notifications of commits. Losing it loses no data. */

export interface Cluster {
  readonly counters: RateCounters
  /** Notifies the other nodes of a commit of this node. Neither waits nor throws. */
  wake(): void
  /** Calls `listener` after commits of other nodes. Returns a function that removes the listener. */
  onWake(listener: () => void): () => void
  /** A sentence that says what is wrong, and may be public; undefined if nothing is. */
  trouble(): string | undefined
  /** Undefined for a single node. */
  readonly counts?: () => ClusterCounts
  close(): Promise<void>
}

export interface ClusterCounts {
  readonly disconnections: number
  /** Takes that this node counted without Redis. */
  readonly localChecks: number
  /** Batches of takes sent to Redis. */
  readonly roundTrips: number
  readonly notificationsSent: number
  readonly notificationsReceived: number
}

/** The rest of a key's budget in this window. Valid until the next `take`. */
export interface Budget {
  readonly limit: number
  /** Never below 0. */
  readonly remaining: number
  /** When the window ends, in Unix seconds. */
  readonly resetAt: number
  /** Whether the cost was within the limit. */
  readonly granted: boolean
}

/** Windows of one length begin at the same time for all keys: at multiples of that length since 1970. */
export interface RateCounters {
  /**
   * Takes `cost` from the budget `key`, which has `limit` in each window of `windowSeconds`, 60 by default.
   * A take that is not granted takes nothing.
   */
  take(key: string, limit: number, cost: number, windowSeconds?: number): Budget | Promise<Budget>
  /** Gives back at most what was taken in the current window. Neither waits nor throws. */
  give(key: string, cost: number, windowSeconds?: number): void
}

/** The default length of a window. */
export const defaultWindowSeconds = 60
