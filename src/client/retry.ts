/** Which requests are retried, and after how long. */
import type { ApiError } from './api-error.ts'

const firstPauseMs = 250
const longestPauseMs = 8_000
/** With a longer `Retry-After`, the call fails instead of waiting. */
const longestWaitMs = 30_000

const temporary: ReadonlySet<number> = new Set([0, 408, 429, 502, 503, 504])

/** A 409 with `Retry-After` means that the first request with this Idempotency-Key is still running. */
function isTemporary({ status, retryAfter }: ApiError): boolean {
  return temporary.has(status) || (status === 409 && retryAfter !== undefined)
}

/** Returns the milliseconds until the next attempt; undefined if a retry would not help. `attempt`: 0 for the first. */
export function pauseAfter(error: ApiError, attempt: number): number | undefined {
  if (!isTemporary(error)) return undefined
  const { retryAfter } = error
  if (retryAfter === undefined) return backOff(attempt, firstPauseMs, longestPauseMs)
  // Jitter: clients with the same `Retry-After` must not all return at once.
  const wait = retryAfter * 1_000 + Math.random() * firstPauseMs
  return wait > longestWaitMs ? undefined : wait
}

/** Exponential backoff with full jitter. */
export function backOff(attempt: number, firstMs: number, longestMs: number): number {
  return Math.random() * Math.min(longestMs, firstMs * 2 ** attempt)
}

/** Waits. Rejects with the signal's reason. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}
