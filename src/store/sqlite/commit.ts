/**
 * Group commit: the writes that arrive in successive turns of the event loop become one transaction. Each is done
 * wholly or not at all, and none is answered before the commit that covers it is on disk.
 */
import { ApiError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { failureOf, isBusy, isForeignKeyFailure } from './failure.ts'
import type { Neighbours } from './neighbours.ts'

const MAX_BATCH = 1000
/** No write waits longer for others, in milliseconds. */
const LONGEST_WAIT = 10
/** How many batches take savepoints from the start after one that needed them. */
const CAREFUL = 100

/** How soon the lock of another process is asked for again; later and later, as SQLite does. In milliseconds. */
const firstRetryMs = 1
const lastRetryMs = 25

interface Waiting<T, A> {
  readonly job: () => T
  /** When it was added, by the clock. */
  readonly since: number
  readonly resolve: (answer: A) => void
  readonly reject: (error: ApiError) => void
}

type Outcome<T> = { readonly value: T } | { readonly error: ApiError }

export interface CommitOptions<T, A> {
  /** How many writes may wait; beyond, they are refused as UNAVAILABLE. */
  readonly maxWaiting: number
  /** How long a write may wait for another process's lock, from when it was added, in milliseconds. */
  readonly lockWaitMs: number
  /** Without it a commit would sleep until other threads have committed. */
  readonly lock: Neighbours['lock']
  /** Within the transaction, before the writes. */
  readonly atBegin: () => void
  /** After the commit, with the result of each write that it holds. */
  readonly atCommit: (result: T) => void
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
  #waiting: Waiting<T, A>[] = []
  #scheduled = false
  #careful = 0
  /** Of the writes that wait: how many there were a turn ago, and since when there are any. */
  #seen = 0
  #since = 0
  /** How long a write may wait for others: as long as the last transaction took, in milliseconds. */
  #patience = 0
  /** When to ask again for a lock that another process has, in milliseconds; 0: nobody is known to have it. */
  #retryMs = 0
  /** Commits, and the writes that they hold. */
  readonly counts = { commits: 0, writes: 0 }

  constructor(connection: Connection, options: CommitOptions<T, A>) {
    this.#connection = connection
    this.#options = options
    this.#clock = options.clock ?? (() => performance.now())
  }

  /** Runs `job` within the next transaction, perhaps several times. What it throws undoes it, and only it. */
  add(job: () => T): Promise<A> {
    if (this.#waiting.length >= this.#options.maxWaiting) {
      return Promise.reject(new ApiError('UNAVAILABLE', 'Too many changes are waiting to be stored.'))
    }
    const { promise, resolve, reject } = Promise.withResolvers<A>()
    this.#waiting.push({ job, since: this.#clock(), resolve, reject })
    this.#schedule()
    return promise
  }

  /** Commits everything that waits, now, or refuses it when its time is over. */
  flush(): void {
    while (this.#waiting.length > 0) this.#commit(this.#take())
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
    if (length === this.#seen || length >= MAX_BATCH) return false
    const now = this.#clock()
    if (this.#seen === 0) this.#since = now
    this.#seen = length
    return now - this.#since < this.#patience
  }

  #commitNext(): void {
    const { lock } = this.#options
    if (this.#waiting.length > 0 && !lock.take(this.#locked)) return
    this.#scheduled = false
    if (this.#waiting.length > 0) this.#commit(this.#take())
    lock.release()
    if (this.#waiting.length === 0) return
    if (this.#retryMs === 0) this.#schedule()
    else this.#retryLater()
  }

  #retryLater(): void {
    this.#scheduled = true
    setTimeout(this.#locked, this.#retryMs)
  }

  #take(): readonly Waiting<T, A>[] {
    if (this.#waiting.length > MAX_BATCH) return this.#waiting.splice(0, MAX_BATCH)
    const batch = this.#waiting
    this.#waiting = []
    return batch
  }

  #commit(batch: readonly Waiting<T, A>[]): void {
    const began = this.#clock()
    this.#seen = 0
    let outcomes: readonly Outcome<T>[]
    try {
      outcomes = this.#transaction(batch)
      this.#retryMs = 0
    } catch (cause) {
      if (isBusy(cause) && !this.#connection.isTransaction) {
        this.#putBack(batch, cause)
        return
      }
      const error = this.#undo(cause)
      // A reference that is checked at the end does not tell whose it is: each is tried by itself.
      if (isForeignKeyFailure(cause) && batch.length > 1) for (const one of batch) this.#commit([one])
      else for (const { reject } of batch) reject(error)
      return
    }
    this.#patience = Math.min(this.#clock() - began, LONGEST_WAIT)
    batch.forEach(({ resolve, reject }, index) => {
      const outcome = outcomes[index]
      if (outcome === undefined) reject(new ApiError('INTERNAL_ERROR'))
      else if ('error' in outcome) reject(outcome.error)
      else resolve(this.#options.answer(outcome.value))
    })
  }

  /** Another process has the lock, and nothing is done: those whose time is not over wait on. */
  #putBack(batch: readonly Waiting<T, A>[], cause: unknown): void {
    const late = this.#clock() - this.#options.lockWaitMs
    this.#waiting = [...batch.filter(({ since }) => since > late), ...this.#waiting]
    for (const { since, reject } of batch) if (since <= late) reject(failureOf(cause))
    this.#retryMs = Math.min(Math.max(firstRetryMs, this.#retryMs * 2), lastRetryMs)
  }

  #transaction(batch: readonly Waiting<T, A>[]): readonly Outcome<T>[] {
    const outcomes = this.#plainly(batch) ?? this.#withSavepoints(batch)
    this.#connection.commit()
    this.counts.commits++
    for (const outcome of outcomes) {
      if (!('value' in outcome)) continue
      this.counts.writes++
      this.#options.atCommit(outcome.value)
    }
    return outcomes
  }

  #begin(): void {
    this.#connection.beginWrite()
    this.#options.atBegin()
  }

  /**
   * Savepoints make a write a tenth dearer, and nearly no write fails after it has changed something.
   * When one does, everything is undone, and done again with them. Undefined: nothing is done.
   */
  #plainly(batch: readonly Waiting<T, A>[]): Outcome<T>[] | undefined {
    if (this.#careful > 0) {
      this.#careful--
      return undefined
    }
    this.#begin()
    const outcomes: Outcome<T>[] = []
    for (const { job } of batch) {
      const before = this.#connection.changes
      try {
        outcomes.push({ value: job() })
      } catch (cause) {
        this.#requireTransaction(cause)
        if (this.#connection.changes !== before) {
          this.#connection.rollback()
          this.#careful = CAREFUL
          return undefined
        }
        outcomes.push({ error: failureOf(cause) })
      }
    }
    return outcomes
  }

  #withSavepoints(batch: readonly Waiting<T, A>[]): Outcome<T>[] {
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
