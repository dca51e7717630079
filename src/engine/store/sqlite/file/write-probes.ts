/** Checks whether changes can be stored, for readiness probes. */
import { type ApiError, databaseFault } from '../../../../base/errors.ts'
import type { WriteHealth } from '../../write-health.ts'
import type { Connection } from '../connection.ts'
import { isBusy, storageTrouble } from '../failure.ts'

/** How long another process may hold the write lock before this one counts as not ready, in milliseconds. */
const maxBusyMs = 5000

interface Probe {
  readonly resolve: () => void
  readonly reject: (error: ApiError) => void
}

export interface ProbesOptions {
  readonly connection: Connection
  readonly health: WriteHealth
  /** In milliseconds. */
  readonly clock: () => number
}

export class WriteProbes {
  readonly #options: ProbesOptions
  #waiting: Probe[] = []
  /** When another process was first seen to hold the lock. */
  #busySince: number | undefined
  /** The last failure for another reason. */
  #trouble: ApiError | undefined

  constructor(options: ProbesOptions) {
    this.#options = options
  }

  get areWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** Settles with the next call of `answer`. */
  add(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ resolve, reject })
    return promise
  }

  /** A commit that changed something is durable. */
  recordCommit(): void {
    this.#trouble = undefined
    this.#busySince = undefined
    this.#options.health.recordCommit()
  }

  /** Makes an empty commit, without waiting for another process's write. Returns the error if that is not possible. */
  probe(): ApiError | undefined {
    const { connection, health, clock } = this.#options
    try {
      connection.commitEmpty(false)
      this.recordCommit()
      health.recordProof()
    } catch (cause) {
      const now = clock()
      if (isBusy(cause)) this.#busySince ??= now
      if (isBusy(cause) && now - (this.#busySince ?? now) < maxBusyMs) return this.#trouble
      health.recordFailure()
      this.#trouble = databaseFault(cause, storageTrouble(cause))
    }
    return this.#trouble
  }

  answer(error: ApiError | undefined): void {
    for (const { resolve, reject } of this.#waiting.splice(0)) {
      if (error === undefined) resolve()
      else reject(error)
    }
  }
}
