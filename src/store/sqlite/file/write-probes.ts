/** Who asks whether changes can be stored, and what is answered. */
import { ApiError } from '../../../errors.ts'
import type { WriteHealth } from '../../write-health.ts'
import type { Connection } from '../connection.ts'
import { isBusy, storageTrouble } from '../failure.ts'

/** For so long another process may write before that keeps this one from being ready, in milliseconds. */
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

export class Probes {
  readonly #options: ProbesOptions
  #waiting: Probe[] = []
  /** Since when another process has had the lock. */
  #busySince: number | undefined
  /** What was found last, beside that. */
  #trouble: ApiError | undefined

  constructor(options: ProbesOptions) {
    this.#options = options
  }

  get areWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** Settles with the next answer. */
  add(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ resolve, reject })
    return promise
  }

  /** A commit that changed something is durable. */
  stored(): void {
    this.#trouble = undefined
    this.#busySince = undefined
    this.#options.health.stored()
  }

  /** Commits nothing. Does not wait for another process's write. Returns why it cannot be done; undefined: it can. */
  look(): ApiError | undefined {
    const { connection, health, clock } = this.#options
    try {
      connection.mark(false)
      this.stored()
    } catch (cause) {
      const now = clock()
      if (isBusy(cause)) this.#busySince ??= now
      if (isBusy(cause) && now - (this.#busySince ?? now) < maxBusyMs) return this.#trouble
      health.suspect()
      this.#trouble = new ApiError('UNAVAILABLE', storageTrouble(cause), { cause })
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
