/** When failed deliveries, reactions and jobs are retried, and when they are given up. */

const secondMs = 1000
const hourMs = 3_600_000

const firstDelayMs = 5 * secondMs
const delayFactor = 4
const maxDelayMs = 12 * hourMs
/** A delay is up to this share shorter or longer, so that attempts that failed together are not retried together. */
const jitter = 0.2
/** With these delays the last attempt is about three days after the first: 67 hours in the middle. */
export const maxAttempts = 13
export const longestBackOffMs = maxDelayMs * (1 + jitter)

/** In milliseconds. `failures`: how many attempts have failed, at least 1; `random`: from 0 to below 1. */
export function retryDelayMs(failures: number, random: number): number {
  const delay = Math.min(firstDelayMs * delayFactor ** (failures - 1), maxDelayMs)
  return delay * (1 - jitter + 2 * jitter * random)
}
