/**
 * Group commit: the writes that arrive in one turn of the event loop become one transaction, each in a
 * savepoint of its own. None is answered before the commit that covers it is on disk.
 */
import { ApiError } from '../errors.ts'
import type { Connection } from './connection.ts'
import { failureOf } from './failure.ts'

const MAX_BATCH = 1000

interface Waiting<T> {
  readonly job: () => T
  readonly resolve: (value: T) => void
  readonly reject: (error: ApiError) => void
}

type Outcome<T> = { readonly value: T } | { readonly error: ApiError }

export interface CommitOptions<T> {
  /** How many writes may wait; beyond, they are refused as UNAVAILABLE. */
  readonly maxWaiting: number
  /** Within the transaction, before the writes. */
  readonly atBegin: () => void
  /** After the commit, with the results of the writes that it holds. */
  readonly atCommit: (results: readonly T[]) => void
}

export class CommitQueue<T> {
  readonly #connection: Connection
  readonly #options: CommitOptions<T>
  readonly #drain = (): void => this.#next()
  #waiting: Waiting<T>[] = []
  #scheduled = false

  constructor(connection: Connection, options: CommitOptions<T>) {
    this.#connection = connection
    this.#options = options
  }

  /** Runs `job` within the next transaction. What it throws undoes it, and only it. */
  add(job: () => T): Promise<T> {
    if (this.#waiting.length >= this.#options.maxWaiting) {
      return Promise.reject(new ApiError('UNAVAILABLE', 'Too many changes are waiting to be stored.'))
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#waiting.push({ job, resolve, reject })
    this.#schedule()
    return promise
  }

  /** Commits everything that waits, now. */
  flush(): void {
    while (this.#waiting.length > 0) this.#commit(this.#take())
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(this.#drain)
  }

  #next(): void {
    this.#scheduled = false
    if (this.#waiting.length === 0) return
    this.#commit(this.#take())
    if (this.#waiting.length > 0) this.#schedule()
  }

  #take(): readonly Waiting<T>[] {
    const batch = this.#waiting.slice(0, MAX_BATCH)
    this.#waiting = this.#waiting.slice(MAX_BATCH)
    return batch
  }

  #commit(batch: readonly Waiting<T>[]): void {
    let outcomes: readonly Outcome<T>[]
    try {
      outcomes = this.#transaction(batch)
    } catch (cause) {
      const error = this.#undo(cause)
      for (const { reject } of batch) reject(error)
      return
    }
    batch.forEach(({ resolve, reject }, index) => {
      const outcome = outcomes[index]
      if (outcome === undefined) reject(new ApiError('INTERNAL_ERROR'))
      else if ('error' in outcome) reject(outcome.error)
      else resolve(outcome.value)
    })
  }

  #transaction(batch: readonly Waiting<T>[]): readonly Outcome<T>[] {
    this.#connection.beginWrite()
    this.#options.atBegin()
    const outcomes = batch.map(({ job }) => this.#savepoint(job))
    this.#connection.commit()
    this.#options.atCommit(outcomes.flatMap(outcome => ('value' in outcome ? [outcome.value] : [])))
    return outcomes
  }

  #savepoint(job: () => T): Outcome<T> {
    this.#connection.savepoint()
    try {
      const value = job()
      this.#connection.releaseSavepoint()
      return { value }
    } catch (cause) {
      // A full disk or a failing one may have undone the whole transaction: then every write of it failed.
      if (!this.#connection.isTransaction) throw cause
      this.#connection.rollbackSavepoint()
      return { error: failureOf(cause) }
    }
  }

  #undo(cause: unknown): ApiError {
    try {
      this.#connection.rollback()
    } catch {
      // The first failure is the one to report.
    }
    const error = failureOf(cause)
    return error.code === 'UNAVAILABLE' ? error : new ApiError('UNAVAILABLE', undefined, { cause })
  }
}
