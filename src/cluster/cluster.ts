/** What nodes share. `memory.ts` is for one node. What it holds may be lost without losing data. */

export interface Cluster {
  readonly counters: RateCounters
  /** Tells the other nodes that something was committed here. Neither waits nor throws. */
  wake(): void
  /** Calls `listener` when another node has told so. Returns what ends it. */
  onWake(listener: () => void): () => void
  /** What is amiss, in a sentence that anybody may read; undefined while all is well. */
  trouble(): string | undefined
  /** Undefined where there is nothing to count. */
  readonly counts?: () => ClusterCounts
  close(): Promise<void>
}

export interface ClusterCounts {
  /** How often what is shared was lost. */
  readonly losses: number
  /** Draws that this node has counted for itself. */
  readonly localDraws: number
  /** Batches of draws that were asked for. */
  readonly roundTrips: number
  readonly wakesSent: number
  readonly wakesReceived: number
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

/** Windows of one length begin at the same time for all keys: at whole multiples of it since 1970. */
export interface RateCounters {
  /**
   * Takes `cost` from the budget `key`, of which there are `limit` in each window, of 60 seconds unless given.
   * What is not granted takes nothing.
   */
  take(key: string, limit: number, cost: number, window?: number): Budget | Promise<Budget>
  /** Gives back what was taken in the window that is now; never more than was. Neither waits nor throws. */
  give(key: string, cost: number, window?: number): void
}

/** The length of a window, in seconds. */
export const WINDOW = 60
