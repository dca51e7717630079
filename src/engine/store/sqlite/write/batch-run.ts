/** Runs a batch of writes within one transaction, so that a write which fails undoes only its own changes. */
import type { ApiError } from '../../../../base/errors.ts'
import type { Connection } from '../connection.ts'
import { failureOf } from '../failure.ts'

/** A batch that has taken this long, in milliseconds, ends before the next write with steps: all requests wait for it. */
const maxBatchMs = 50

/** How many batches use savepoints from the start, after one that needed them. */
const savepointBatches = 100

export interface BatchedWrite<T> {
  readonly job: () => T
  /** Whether it uses a savepoint from the start, since it is likely to fail after a change. */
  readonly hasSteps: boolean
}

export type WriteOutcome<T> = { readonly value: T } | { readonly error: ApiError }

/** `T`: the result of a write. */
export class BatchRun<T> {
  readonly #connection: Connection
  readonly #onBegin: () => void
  readonly #clock: () => number
  #savepointBatchesLeft = 0

  /** `onBegin`: called within the transaction, before the writes. `clock`: in milliseconds. */
  constructor(connection: Connection, onBegin: () => void, clock: () => number) {
    this.#connection = connection
    this.#onBegin = onBegin
    this.#clock = clock
  }

  /**
   * Begins a transaction and runs the writes in it, or the first ones of them. Throws if the transaction as a whole has failed. The
   * caller commits.
   */
  run(batch: readonly BatchedWrite<T>[]): readonly WriteOutcome<T>[] {
    return this.#runWithoutSavepoints(batch) ?? this.#runWithSavepoints(batch)
  }

  #begin(): void {
    this.#connection.beginWrite()
    this.#onBegin()
  }

  /**
   * Savepoints make a write 10 % slower, and hardly any write fails after it has changed something. When one does, all are
   * rolled back, to be run again with savepoints. Undefined: nothing was changed.
   */
  #runWithoutSavepoints(batch: readonly BatchedWrite<T>[]): WriteOutcome<T>[] | undefined {
    if (this.#savepointBatchesLeft > 0) {
      this.#savepointBatchesLeft--
      return undefined
    }
    this.#begin()
    const outcomes: WriteOutcome<T>[] = []
    const startedAt = this.#clock()
    for (const { job, hasSteps } of batch) {
      if (hasSteps) {
        if (this.#hasTakenLong(outcomes, startedAt)) break
        outcomes.push(this.#savepoint(job))
        continue
      }
      const changesBefore = this.#connection.changes
      try {
        outcomes.push({ value: job() })
      } catch (cause) {
        this.#requireTransaction(cause)
        if (this.#connection.changes !== changesBefore) {
          this.#connection.rollback()
          this.#savepointBatchesLeft = savepointBatches
          return undefined
        }
        outcomes.push({ error: failureOf(cause) })
      }
    }
    return outcomes
  }

  #runWithSavepoints(batch: readonly BatchedWrite<T>[]): WriteOutcome<T>[] {
    this.#begin()
    const outcomes: WriteOutcome<T>[] = []
    const startedAt = this.#clock()
    for (const { job, hasSteps } of batch) {
      if (hasSteps && this.#hasTakenLong(outcomes, startedAt)) break
      outcomes.push(this.#savepoint(job))
    }
    return outcomes
  }

  #hasTakenLong(outcomes: readonly WriteOutcome<T>[], startedAt: number): boolean {
    return outcomes.length > 0 && this.#clock() - startedAt > maxBatchMs
  }

  #savepoint(job: () => T): WriteOutcome<T> {
    this.#connection.savepoint()
    try {
      const value = job()
      this.#connection.releaseSavepoint()
      return { value }
    } catch (cause) {
      this.#requireTransaction(cause)
      this.#connection.rollbackSavepoint()
      return { error: failureOf(cause) }
    }
  }

  /** A full or failing disk may have rolled back the whole transaction: then all its writes have failed. */
  #requireTransaction(cause: unknown): void {
    if (!this.#connection.isTransaction) throw cause
  }
}
