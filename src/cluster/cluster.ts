/** What nodes share. `memory.ts` is for one node. */

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
  /** Takes `cost` from the budget `key`, of which there are `limit` in each window of 60 seconds. */
  take(key: string, limit: number, cost: number): Budget | Promise<Budget>
}

/** The length of a window, in seconds. */
export const WINDOW = 60
