/** Readiness: whether this node would answer an ordinary read and an ordinary write now. */
import { ApiError, databaseFault } from '../../../base/errors.ts'

/** Health checks within this time share one check of the database. */
const defaultSharedMs = 250
/** The maximum duration of a check. */
const defaultTimeoutMs = 3000

export interface ReadinessOptions {
  readonly sharedMs?: number
  readonly timeoutMs?: number
}

export class Readiness {
  readonly #check: () => Promise<void>
  readonly #sharedMs: number
  readonly #timeoutMs: number
  #last: Promise<void> | undefined
  #startedAt = 0
  #isRunning = false

  /** `check` rejects with an `ApiError` that says why the node cannot answer. */
  constructor(
    check: () => Promise<void>,
    { sharedMs = defaultSharedMs, timeoutMs = defaultTimeoutMs }: ReadinessOptions = {},
  ) {
    this.#check = check
    this.#sharedMs = sharedMs
    this.#timeoutMs = timeoutMs
  }

  /** Rejects with UNAVAILABLE if the node is not ready. */
  async require(): Promise<void> {
    const now = performance.now()
    if (this.#last === undefined || (!this.#isRunning && now - this.#startedAt >= this.#sharedMs)) {
      this.#startedAt = now
      this.#last = this.#run()
      // If no client waits any more, a rejection would be unhandled and end the process.
      this.#last.catch(() => {})
    }
    await withTimeout(this.#last, this.#startedAt + this.#timeoutMs - now)
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    try {
      await this.#check()
    } catch (cause) {
      if (cause instanceof ApiError && cause.code === 'UNAVAILABLE') throw cause
      throw databaseFault(cause, 'The database does not answer.')
    } finally {
      this.#isRunning = false
    }
  }
}

async function withTimeout(check: Promise<void>, timeoutMs: number): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(
    () => late.reject(new ApiError('UNAVAILABLE', 'The database does not answer in time.')),
    Math.max(0, timeoutMs),
  )
  try {
    await Promise.race([check, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
