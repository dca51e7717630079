/** When a failed delivery is retried, and when it is given up. */
import type { EpochMs } from '../../base/epoch-ms.ts'
import { longestBackOffMs, maxAttempts, retryDelayMs } from '../consumer/back-off.ts'

const secondMs = 1000
const hourMs = 3_600_000

/** The longest `Retry-After` that is respected. */
export const maxRetryAfterMs = 24 * hourMs
/** No delay is longer. */
export const longestDelayMs = Math.max(maxRetryAfterMs, longestBackOffMs)
/** A webhook that fails for this long without a success in between is paused. */
export const failingPeriodMs = 24 * hourMs

export interface FailedAttempt {
  /** How many attempts have failed, including this one. */
  readonly failures: number
  readonly now: EpochMs
  /** The `Retry-After` of the endpoint, in milliseconds. */
  readonly retryAfterMs: number | undefined
  readonly random: number
}

/** When to retry; undefined: never. */
export function retryAt({ failures, now, retryAfterMs = 0, random }: FailedAttempt): EpochMs | undefined {
  if (failures >= maxAttempts) return undefined
  return now + Math.max(retryDelayMs(failures, random), Math.min(retryAfterMs, maxRetryAfterMs))
}

/** Parses `Retry-After` (RFC 9110, 10.2.3), in milliseconds from `now`; undefined if it is invalid. */
export function parseRetryAfter(text: string | undefined, now: EpochMs): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,10}$/.test(text)) return Number(text) * secondMs
  // `Date.parse` also accepts texts that are not HTTP dates.
  const date = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(text)
    ? Date.parse(text)
    : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
