/**
 * Group commit: the writes that arrive in successive turns of the event loop become one transaction. Each write succeeds or
 * fails as a whole, and is answered only once the commit that contains it is on disk.
 */
import { type ApiError, databaseFault, stoppingRefusal } from '../../../../base/errors.ts'
import { tooManyChangesError, unconfirmedWriteError } from '../../refusals.ts'
import { WriteHealth } from '../../write-health.ts'
import type { Connection } from '../connection.ts'
import { failureOf, isBusy, isCertainlyUndone, isForeignKeyFailure, storageTrouble } from '../failure.ts'
import { LogTail } from '../file/log-tail.ts'
import type { OtherThreads } from '../file/other-threads.ts'
import { WriteProbes } from '../file/write-probes.ts'
import { type BatchedWrite, BatchRun, type WriteOutcome } from './batch-run.ts'

const maxBatch = 1000
/** The maximum time that a write waits for further writes, in milliseconds. */
const maxBatchWaitMs = 10

/** The pauses between attempts to take the lock of another process, in milliseconds. They double, as SQLite's own do. */
const minRetryMs = 1
const maxRetryMs = 25

interface QueuedWrite<T, A> extends BatchedWrite<T> {
  /** When it was added, by the queue's clock. */
  readonly addedAt: number
  readonly resolve: (answer: A) => void
  readonly reject: (error: ApiError) => void
}

/** A COMMIT failed. Its outcome is not known yet. */
class CommitError extends Error {}

export interface CommitOptions<T, A> {
  /** How many writes may wait; more are refused as UNAVAILABLE. */
  readonly maxWaiting: number
  /** How long a write may wait for the lock of another process after it was added, in milliseconds. */
  readonly lockWaitMs: number
  /** The lock of the threads of this process. Without it, a commit would block the event loop while another thread commits. */
  readonly lock: OtherThreads['lock']
  /** Within the transaction, before the writes. */
  readonly onBegin: () => void
  /** After the commit, with the result of each write in it. */
  readonly onCommit: (result: T) => void
  /** After a commit, before the lock is released. The answers are sent afterwards, in microtasks. */
  readonly afterCommit?: () => void
  readonly health?: WriteHealth
  readonly answer: (result: T) => A
  /** In milliseconds. */
  readonly clock?: () => number
}

/** `T`: the result of a write; `A`: its answer. */
export class CommitQueue<T, A> {
  readonly #connection: Connection
  readonly #options: CommitOptions<T, A>
  readonly #clock: () => number
  readonly #drain = (): void => this.#next()
  readonly #onLock = (): void => this.#commitNext()
  readonly #logTail: LogTail
  readonly #health: WriteHealth
  readonly #probes: WriteProbes
  readonly #batchRun: BatchRun<T>
  #waiting: QueuedWrite<T, A>[] = []
  /** Whether the next attempt to settle the end of the log is due. */
  #isSettlingDue = false
  #isScheduled = false
  /** The number of waiting writes in the previous turn, and the time when the first of them was seen. */
  #previousCount = 0
  #collectingSince = 0
  /** How long a write may wait for further writes: as long as the last transaction took, in milliseconds. */
  #batchWaitMs = 0
  /** The pause before the next attempt to take the lock of another process, in milliseconds; 0: no process has it. */
  #retryMs = 0
  /** The number of commits, and of the writes in them. */
  readonly counts = { commits: 0, writes: 0 }

  constructor(connection: Connection, options: CommitOptions<T, A>) {
    this.#connection = connection
    this.#options = options
    this.#clock = options.clock ?? (() => performance.now())
    this.#batchRun = new BatchRun(connection, options.onBegin, this.#clock)
    this.#health = options.health ?? new WriteHealth()
    this.#probes = new WriteProbes({ connection, health: this.#health, clock: this.#clock })
    this.#logTail = new LogTail(connection, () => {
      this.#isSettlingDue = true
      this.#schedule()
    })
  }

  /**
   * Runs `job` within the next transaction, perhaps several times. An error of the job undoes that job only. `hasSteps`:
   * whether the job is likely to fail after a change.
   */
  add(job: () => T, hasSteps = false): Promise<A> {
    if (this.#waiting.length >= this.#options.maxWaiting) return Promise.reject(tooManyChangesError())
    if (this.#logTail.failure !== undefined) return Promise.reject(this.#unsettledError())
    const { promise, resolve, reject } = Promise.withResolvers<A>()
    this.#waiting.push({ job, hasSteps, addedAt: this.#clock(), resolve, reject })
    this.#schedule()
    return promise
  }

  /** Resolves once a commit is durable, of the waiting writes or an empty one. Rejects if none can be made durable. */
  confirm(): Promise<void> {
    if (this.#logTail.failure !== undefined) return Promise.reject(this.#unsettledError())
    this.#schedule()
    return this.#probes.add()
  }

  /** Commits all waiting writes now, or refuses those whose time is over. */
  flush(): void {
    while (this.#waiting.length > 0) this.#commit(this.#take())
  }

  /** Commits all waiting writes. Nothing is retried afterwards. */
  close(): void {
    this.flush()
    this.#probes.answer(stoppingRefusal())
    if (this.#logTail.failure !== undefined) this.#logTail.settle(this.#logTail.failure, false)
    this.#logTail.stop()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#drain)
  }

  #next(): void {
    if (this.#mayGrow()) setImmediate(this.#drain)
    else this.#commitNext()
  }

  /**
   * Whether this turn has added writes, so that the next turn may add more: one transaction costs less than two.
   */
  #mayGrow(): boolean {
    const { length } = this.#waiting
    if (length === this.#previousCount || length >= maxBatch) return false
    const now = this.#clock()
    if (this.#previousCount === 0) this.#collectingSince = now
    this.#previousCount = length
    return now - this.#collectingSince < this.#batchWaitMs
  }

  #commitNext(): void {
    const { lock, afterCommit } = this.#options
    const hasWork = this.#waiting.length > 0 || this.#probes.areWaiting || this.#isSettlingDue
    if (hasWork && !lock.take(this.#onLock)) return
    this.#isScheduled = false
    if (this.#isSettlingDue) this.#settleAgain()
    let isStored = this.#waiting.length > 0 && this.#commit(this.#take())
    if (this.#probes.areWaiting) {
      const error = isStored ? undefined : this.#probe()
      this.#probes.answer(error)
      isStored ||= error === undefined
    }
    if (isStored) afterCommit?.()
    lock.release()
    if (this.#waiting.length === 0 && !this.#probes.areWaiting) return
    if (this.#retryMs === 0) this.#schedule()
    else this.#retryLater()
  }

  #retryLater(): void {
    this.#isScheduled = true
    setTimeout(this.#onLock, this.#retryMs)
  }

  #take(): readonly QueuedWrite<T, A>[] {
    if (this.#waiting.length > maxBatch) return this.#waiting.splice(0, maxBatch)
    const batch = this.#waiting
    this.#waiting = []
    return batch
  }

  /** Returns whether something was stored. */
  #commit(batch: readonly QueuedWrite<T, A>[]): boolean {
    const startedAt = this.#clock()
    this.#previousCount = 0
    if (this.#logTail.failure !== undefined) {
      for (const { reject } of batch) reject(this.#unsettledError())
      return false
    }
    let outcomes: readonly WriteOutcome<T>[]
    try {
      outcomes = this.#transaction(batch)
      this.#retryMs = 0
    } catch (cause) {
      if (isBusy(cause) && !this.#connection.isTransaction) return this.#requeue(batch, cause)
      return this.#handleFailure(batch, cause)
    }
    this.#batchWaitMs = Math.min(this.#clock() - startedAt, maxBatchWaitMs)
    if (outcomes.length < batch.length) this.#waiting = [...batch.slice(outcomes.length), ...this.#waiting]
    outcomes.forEach((outcome, index) => {
      const { resolve, reject } = batch[index] as QueuedWrite<T, A>
      if ('error' in outcome) this.#refuse(reject, outcome.error)
      else resolve(this.#options.answer(outcome.value))
    })
    return outcomes.some(outcome => 'value' in outcome)
  }

  #refuse(reject: (error: ApiError) => void, error: ApiError): void {
    if (error.code === 'UNAVAILABLE') this.#health.recordFailure()
    reject(error)
  }

  /** Refuses the writes of the transaction. Returns whether some of them were stored after all. */
  #handleFailure(batch: readonly QueuedWrite<T, A>[], thrown: unknown): boolean {
    const cause = thrown instanceof CommitError ? thrown.cause : thrown
    const error = this.#undo(cause)
    // The failure of a deferred foreign key does not name the write, so each write is committed separately.
    if (isForeignKeyFailure(cause) && batch.length > 1) {
      return batch.map(write => this.#commit([write])).some(isStored => isStored)
    }
    this.#health.recordFailure()
    const isUndone =
      !(thrown instanceof CommitError) || isCertainlyUndone(cause) || this.#logTail.settle(cause, true)
    for (const { reject } of batch) reject(isUndone ? error : unconfirmedWriteError(cause))
    return false
  }

  /** The error for all writes while the outcome of a failed COMMIT is unknown: their outcome would be unknown as well. */
  #unsettledError(): ApiError {
    const { failure } = this.#logTail
    return databaseFault(failure, storageTrouble(failure))
  }

  #settleAgain(): void {
    this.#isSettlingDue = false
    const { failure } = this.#logTail
    if (failure !== undefined && this.#logTail.settle(failure, false)) this.#probes.recordCommit()
  }

  #probe(): ApiError | undefined {
    return this.#logTail.failure === undefined ? this.#probes.probe() : this.#unsettledError()
  }

  /** Another process has the lock, so nothing has been changed. Writes whose time is not over keep waiting. */
  #requeue(batch: readonly QueuedWrite<T, A>[], cause: unknown): false {
    const deadline = this.#clock() - this.#options.lockWaitMs
    this.#waiting = [...batch.filter(({ addedAt }) => addedAt > deadline), ...this.#waiting]
    for (const { addedAt, reject } of batch) if (addedAt <= deadline) this.#refuse(reject, failureOf(cause))
    this.#retryMs = Math.min(Math.max(minRetryMs, this.#retryMs * 2), maxRetryMs)
    return false
  }

  #transaction(batch: readonly QueuedWrite<T, A>[]): readonly WriteOutcome<T>[] {
    const outcomes = this.#batchRun.run(batch)
    try {
      this.#connection.commit()
    } catch (cause) {
      throw new CommitError('COMMIT has failed.', { cause })
    }
    this.counts.commits++
    if (outcomes.some(outcome => 'value' in outcome)) this.#probes.recordCommit()
    for (const outcome of outcomes) {
      if (!('value' in outcome)) continue
      this.counts.writes++
      this.#notify(outcome.value)
    }
    return outcomes
  }

  /** A stored write is not refused because a listener failed. */
  #notify(result: T): void {
    try {
      this.#options.onCommit(result)
    } catch (cause) {
      process.emitWarning(cause instanceof Error ? cause : String(cause))
    }
  }

  #undo(cause: unknown): ApiError {
    try {
      this.#connection.rollback()
    } catch {
      // The first failure is the one to report.
    }
    const error = failureOf(cause)
    if (error.code === 'UNAVAILABLE' || isForeignKeyFailure(cause)) return error
    return databaseFault(cause)
  }
}
