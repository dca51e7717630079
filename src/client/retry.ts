/** Decides which requests are retried, and after how long. */
import type { ApiError } from './api-error.ts'

const firstPauseMs = 250
const maxPauseMs = 8_000
/** With a longer `Retry-After`, the call fails instead of waiting. */
const maxRetryAfterMs = 30_000

const temporaryStatuses: ReadonlySet<number> = new Set([0, 408, 429, 502, 503, 504])

/** A 409 with `Retry-After` means that the first request with this Idempotency-Key is still running. */
function isTemporary({ status, retryAfter }: ApiError): boolean {
  return temporaryStatuses.has(status) || (status === 409 && retryAfter !== undefined)
}

/** Returns the milliseconds until the next attempt; undefined if a retry would not help. `attempt`: 0 for the first. */
export function pauseAfter(error: ApiError, attempt: number): number | undefined {
  if (!isTemporary(error)) return undefined
  const { retryAfter } = error
  if (retryAfter === undefined) return backOff(attempt, firstPauseMs, maxPauseMs)
  // Jitter: clients with the same `Retry-After` must not all return at once.
  const waitMs = retryAfter * 1_000 + Math.random() * firstPauseMs
  return waitMs > maxRetryAfterMs ? undefined : waitMs
}

/** Exponential backoff with full jitter. */
export function backOff(attempt: number, firstMs: number, maxMs: number): number {
  return Math.random() * Math.min(maxMs, firstMs * 2 ** attempt)
}

/** Waits. Rejects with the signal's reason. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
  })
}
