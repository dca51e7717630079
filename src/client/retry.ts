/** When a request is sent again, and after how long. */
import type { ApiError } from './api-error.ts'

const firstPauseMs = 250
const longestPauseMs = 8_000
/** A longer `Retry-After` is not waited for: the call fails. */
const longestWaitMs = 30_000

const passing: ReadonlySet<number> = new Set([0, 408, 429, 502, 503, 504])

/** A conflict with `Retry-After`: the first request with this Idempotency-Key is still running. */
function isPassing({ status, retryAfter }: ApiError): boolean {
  return passing.has(status) || (status === 409 && retryAfter !== undefined)
}

/** Milliseconds until the next attempt; undefined if a retry would not help. `attempt`: 0 for the first. */
export function pauseAfter(error: ApiError, attempt: number): number | undefined {
  if (!isPassing(error)) return undefined
  const { retryAfter } = error
  if (retryAfter === undefined) return backOff(attempt, firstPauseMs, longestPauseMs)
  // Jitter: clients with the same `Retry-After` must not all return at once.
  const wait = retryAfter * 1_000 + Math.random() * firstPauseMs
  return wait > longestWaitMs ? undefined : wait
}

/** Exponential, with full jitter. */
export function backOff(attempt: number, firstMs: number, longestMs: number): number {
  return Math.random() * Math.min(longestMs, firstMs * 2 ** attempt)
}

/** Rejects with the signal's reason. */
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
