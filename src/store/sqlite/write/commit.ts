/**
 * Group commit: the writes that arrive in successive turns of the event loop become one transaction. Each is done
 * wholly or not at all, and none is answered before the commit that covers it is on disk.
 */
import { ApiError, stoppingRefusal, temporaryRefusal } from '../../../errors.ts'
import { unconfirmed } from '../../refusals.ts'
import { WriteHealth } from '../../write-health.ts'
import type { Connection } from '../connection.ts'
import { failureOf, isBusy, isForeignKeyFailure, isSurelyUndone, storageTrouble } from '../failure.ts'
import { LogTail } from '../file/log-tail.ts'
import type { OtherThreads } from '../file/other-threads.ts'
import { Probes } from '../file/write-probes.ts'

const maxBatch = 1000
/** No write waits longer for others, in milliseconds. */
const maxPatienceMs = 10
/** How many batches take savepoints from the start after one that needed them. */
const savepointBatches = 100

/** How soon the lock of another process is asked for again; later and later, as SQLite does. In milliseconds. */
const firstRetryMs = 1
const lastRetryMs = 25

interface QueuedWrite<T, A> {
  readonly job: () => T
  /** Whether it takes a savepoint at once, since it may well fail after it has changed something. */
  readonly hasSteps: boolean
  /** When it was added, by the clock. */
  readonly since: number
  readonly resolve: (answer: A) => void
  readonly reject: (error: ApiError) => void
}

/** A COMMIT that has failed, and nobody knows yet what it has left. */
class CommitFailed extends Error {}

type Outcome<T> = { readonly value: T } | { readonly error: ApiError }

export interface CommitOptions<T, A> {
  /** How many writes may wait; beyond, they are refused as UNAVAILABLE. */
  readonly maxWaiting: number
  /** How long a write may wait for another process's lock, from when it was added, in milliseconds. */
  readonly lockWaitMs: number
  /** Without it a commit would sleep until other threads have committed. */
  readonly lock: OtherThreads['lock']
  /** Within the transaction, before the writes. */
  readonly atBegin: () => void
  /** After the commit, with the result of each write that it holds. */
  readonly atCommit: (result: T) => void
  /** After a commit and its answers, while the lock is still ours. */
  readonly afterCommit?: () => void
  readonly health?: WriteHealth
  readonly answer: (result: T) => A
  /** In milliseconds. */
  readonly clock?: () => number
}

/** `T`: what a write gives; `A`: what of it answers. */
export class CommitQueue<T, A> {
  readonly #connection: Connection
  readonly #options: CommitOptions<T, A>
  readonly #clock: () => number
  readonly #drain = (): void => this.#next()
  readonly #locked = (): void => this.#commitNext()
  readonly #tail: LogTail
  readonly #health: WriteHealth
  readonly #probes: Probes
  #waiting: QueuedWrite<T, A>[] = []
  /** Whether the end of the log should be settled again. */
  #isSettlingDue = false
  #scheduled = false
  #savepointBatchesLeft = 0
  /** Of the writes that wait: how many there were a turn ago, and since when there are any. */
  #seen = 0
  #since = 0
  /** How long a write may wait for others: as long as the last transaction took, in milliseconds. */
  #patienceMs = 0
  /** When to ask again for a lock that another process has, in milliseconds; 0: nobody is known to have it. */
  #retryMs = 0
  /** Commits, and the writes that they hold. */
  readonly counts = { commits: 0, writes: 0 }

  constructor(connection: Connection, options: CommitOptions<T, A>) {
    this.#connection = connection
    this.#options = options
    this.#clock = options.clock ?? (() => performance.now())
    this.#health = options.health ?? new WriteHealth()
    this.#probes = new Probes({ connection, health: this.#health, clock: this.#clock })
    this.#tail = new LogTail(connection, () => {
      this.#isSettlingDue = true
      this.#schedule()
    })
  }

  /**
   * Runs `job` within the next transaction, perhaps several times. What it throws undoes it, and only it. `hasSteps`:
   * whether it may well fail after it has changed something.
   */
  add(job: () => T, hasSteps = false): Promise<A> {
    if (this.#waiting.length >= this.#options.maxWaiting) {
      return Promise.reject(temporaryRefusal('Too many changes are waiting to be stored.'))
    }
    if (this.#tail.failure !== undefined) return Promise.reject(this.#closed())
    const { promise, resolve, reject } = Promise.withResolvers<A>()
    this.#waiting.push({ job, hasSteps, since: this.#clock(), resolve, reject })
    this.#schedule()
    return promise
  }

  /** Resolves once a commit was durable, of writes that wait or of nothing; rejects where none can be made so. */
  confirm(): Promise<void> {
    if (this.#tail.failure !== undefined) return Promise.reject(this.#closed())
    this.#schedule()
    return this.#probes.add()
  }

  /** Commits everything that waits, now, or refuses it when its time is over. */
  flush(): void {
    while (this.#waiting.length > 0) this.#commit(this.#take())
  }

  /** Commits everything that waits; then nothing more is tried. */
  close(): void {
    this.flush()
    this.#probes.answer(stoppingRefusal())
    if (this.#tail.failure !== undefined) this.#tail.settle(this.#tail.failure, false)
    this.#tail.stop()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(this.#drain)
  }

  #next(): void {
    if (this.#awaitsMore()) setImmediate(this.#drain)
    else this.#commitNext()
  }

  /**
   * Whether the turn that ends has brought writes, so that the next may bring more: one transaction costs less than two.
   */
  #awaitsMore(): boolean {
    const { length } = this.#waiting
    if (length === this.#seen || length >= maxBatch) return false
    const now = this.#clock()
    if (this.#seen === 0) this.#since = now
    this.#seen = length
    return now - this.#since < this.#patienceMs
  }

  #commitNext(): void {
    const { lock, afterCommit } = this.#options
    const hasWork = this.#waiting.length > 0 || this.#probes.areWaiting || this.#isSettlingDue
    if (hasWork && !lock.take(this.#locked)) return
    this.#scheduled = false
    if (this.#isSettlingDue) this.#settleAgain()
    let isStored = this.#waiting.length > 0 && this.#commit(this.#take())
    if (this.#probes.areWaiting) {
      const error = isStored ? undefined : this.#probed()
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
    this.#scheduled = true
    setTimeout(this.#locked, this.#retryMs)
  }

  #take(): readonly QueuedWrite<T, A>[] {
    if (this.#waiting.length > maxBatch) return this.#waiting.splice(0, maxBatch)
    const batch = this.#waiting
    this.#waiting = []
    return batch
  }

  /** Returns whether something was made durable. */
  #commit(batch: readonly QueuedWrite<T, A>[]): boolean {
    const began = this.#clock()
    this.#seen = 0
    if (this.#tail.failure !== undefined) {
      for (const { reject } of batch) reject(this.#closed())
      return false
    }
    let outcomes: readonly Outcome<T>[]
    try {
      outcomes = this.#transaction(batch)
      this.#retryMs = 0
    } catch (cause) {
      if (isBusy(cause) && !this.#connection.isTransaction) return this.#putBack(batch, cause)
      return this.#failed(batch, cause)
    }
    this.#patienceMs = Math.min(this.#clock() - began, maxPatienceMs)
    batch.forEach(({ resolve, reject }, index) => {
      const outcome = outcomes[index]
      if (outcome === undefined) reject(new ApiError('INTERNAL_ERROR'))
      else if ('error' in outcome) this.#refuse(reject, outcome.error)
      else resolve(this.#options.answer(outcome.value))
    })
    return outcomes.some(outcome => 'value' in outcome)
  }

  #refuse(reject: (error: ApiError) => void, error: ApiError): void {
    if (error.code === 'UNAVAILABLE') this.#health.suspect()
    reject(error)
  }

  /** Refuses what the transaction held. Returns whether some of it was stored after all. */
  #failed(batch: readonly QueuedWrite<T, A>[], thrown: unknown): boolean {
    const cause = thrown instanceof CommitFailed ? thrown.cause : thrown
    const error = this.#undo(cause)
    // A reference that is checked at the end does not tell whose it is: each is tried by itself.
    if (isForeignKeyFailure(cause) && batch.length > 1) {
      return batch.map(one => this.#commit([one])).some(isStored => isStored)
    }
    this.#health.suspect()
    const isUndone =
      !(thrown instanceof CommitFailed) || isSurelyUndone(cause) || this.#tail.settle(cause, true)
    for (const { reject } of batch) reject(isUndone ? error : unconfirmed(cause))
    return false
  }

  /** No write can be taken: what came of it could not be told truly. */
  #closed(): ApiError {
    const { failure } = this.#tail
    return new ApiError('UNAVAILABLE', storageTrouble(failure), { cause: failure })
  }

  #settleAgain(): void {
    this.#isSettlingDue = false
    const { failure } = this.#tail
    if (failure !== undefined && this.#tail.settle(failure, false)) this.#probes.stored()
  }

  #probed(): ApiError | undefined {
    return this.#tail.failure === undefined ? this.#probes.look() : this.#closed()
  }

  /** Another process has the lock, and nothing is done: those whose time is not over wait on. */
  #putBack(batch: readonly QueuedWrite<T, A>[], cause: unknown): false {
    const late = this.#clock() - this.#options.lockWaitMs
    this.#waiting = [...batch.filter(({ since }) => since > late), ...this.#waiting]
    for (const { since, reject } of batch) if (since <= late) this.#refuse(reject, failureOf(cause))
    this.#retryMs = Math.min(Math.max(firstRetryMs, this.#retryMs * 2), lastRetryMs)
    return false
  }

  #transaction(batch: readonly QueuedWrite<T, A>[]): readonly Outcome<T>[] {
    const outcomes = this.#plainly(batch) ?? this.#withSavepoints(batch)
    try {
      this.#connection.commit()
    } catch (cause) {
      throw new CommitFailed('COMMIT has failed.', { cause })
    }
    this.counts.commits++
    if (outcomes.some(outcome => 'value' in outcome)) this.#probes.stored()
    for (const outcome of outcomes) {
      if (!('value' in outcome)) continue
      this.counts.writes++
      this.#notify(outcome.value)
    }
    return outcomes
  }

  /** What is stored is not refused because a listener failed. */
  #notify(result: T): void {
    try {
      this.#options.atCommit(result)
    } catch (cause) {
      process.emitWarning(cause instanceof Error ? cause : String(cause))
    }
  }

  #begin(): void {
    this.#connection.beginWrite()
    this.#options.atBegin()
  }

  /**
   * Savepoints make a write a tenth dearer, and nearly no write fails after it has changed something.
   * When one does, everything is undone, and done again with them. Undefined: nothing is done.
   */
  #plainly(batch: readonly QueuedWrite<T, A>[]): Outcome<T>[] | undefined {
    if (this.#savepointBatchesLeft > 0) {
      this.#savepointBatchesLeft--
      return undefined
    }
    this.#begin()
    const outcomes: Outcome<T>[] = []
    for (const { job, hasSteps } of batch) {
      if (hasSteps) {
        outcomes.push(this.#savepoint(job))
        continue
      }
      const before = this.#connection.changes
      try {
        outcomes.push({ value: job() })
      } catch (cause) {
        this.#requireTransaction(cause)
        if (this.#connection.changes !== before) {
          this.#connection.rollback()
          this.#savepointBatchesLeft = savepointBatches
          return undefined
        }
        outcomes.push({ error: failureOf(cause) })
      }
    }
    return outcomes
  }

  #withSavepoints(batch: readonly QueuedWrite<T, A>[]): Outcome<T>[] {
    this.#begin()
    return batch.map(({ job }) => this.#savepoint(job))
  }

  #savepoint(job: () => T): Outcome<T> {
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

  /** A full disk or a failing one may have undone the whole transaction: then every write of it failed. */
  #requireTransaction(cause: unknown): void {
    if (!this.#connection.isTransaction) throw cause
  }

  #undo(cause: unknown): ApiError {
    try {
      this.#connection.rollback()
    } catch {
      // The first failure is the one to report.
    }
    const error = failureOf(cause)
    if (error.code === 'UNAVAILABLE' || isForeignKeyFailure(cause)) return error
    return new ApiError('UNAVAILABLE', undefined, { cause })
  }
}
