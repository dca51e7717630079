/** A group of writes as one transaction: each succeeds or fails as a whole, and is answered only after the COMMIT. */

import type { EpochMs } from '../../../../base/epoch-ms.ts'
import { ApiError, databaseFault } from '../../../../base/errors.ts'
import { unconfirmedWriteError } from '../../refusals.ts'
import { sql } from '../../sql/writer.ts'
import { noInputs, slotInputs } from '../../values.ts'
import type { Connection } from '../connections/connection.ts'
import { ConnectionLost, failureOf, isLockTimeout, isTransient, NotSent } from '../connections/failure.ts'
import { type Statement, statementOf } from '../connections/statement.ts'
import { Transaction } from '../connections/transaction.ts'
import type { CacheLease } from '../versions/lease.ts'
import { inLockOrder, runConcurrently, type WriteOrder } from './lock-order.ts'
import { limitLockWait, type Moment, Scope } from './scope.ts'
import { sumsLock } from './table-locks.ts'

/** How many groups use savepoints from the start, after one that needed them. */
const savepointGroups = 20

export interface WriteJob<T> extends WriteOrder {
  readonly run: (scope: Scope) => Promise<T>
  /** See `TableLocks.claimsOf`. They precede the statements of the job. */
  readonly claims?: readonly Statement[]
  /** For a job whose transaction contains no other job. */
  readonly ownTransaction?: OwnTransaction
}

export interface OwnTransaction {
  /** Whether all of its statements see one snapshot. */
  readonly isSnapshot: boolean
  /** The statements that lock tables against other writers, for each try. */
  readonly locks: () => readonly Statement[]
  /** Whether it may wait for locks of tables, or reads much. */
  readonly isLong: boolean
  /**
   * How often it is tried if it conflicts with concurrent transactions, before it fails with CONFLICT. Omitted: as often as
   * other transactions.
   */
  readonly tries?: number | undefined
}

export interface FinishedWrite<T> {
  readonly value: T
  readonly scope: Scope
}

export interface QueuedWrite<T> {
  readonly job: WriteJob<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: ApiError) => void
}

type WriteOutcome<T> = FinishedWrite<T> | { readonly error: ApiError }
type WriteOutcomes<T> = ReadonlyMap<QueuedWrite<T>, WriteOutcome<T>>

const begin = statementOf(sql`BEGIN`)
const beginSnapshot = statementOf(sql`BEGIN ISOLATION LEVEL REPEATABLE READ`)
const commit = statementOf(sql`COMMIT`)
const rollback = statementOf(sql`ROLLBACK`)
const savepoint = statementOf(sql`SAVEPOINT "one_write"`)
const release = statementOf(sql`RELEASE "one_write"`)
const rollbackTo = statementOf(sql`ROLLBACK TO "one_write"`)

/**
 * How long a transaction waits for the lock of a table while it may hold others, in milliseconds: less than PostgreSQL's
 * `deadlock_timeout`. The transactions that it waits for take a few milliseconds.
 */
const firstTableLockMs = 50
const lastTableLockMs = 400

/** How long a write may wait for a lock after others of its group have used up the time, in milliseconds. */
const minLockWaitMs = 100

export interface GroupCommitOptions<T> {
  readonly now: () => EpochMs
  /** The value of `now` in rules; undefined: the database's own clock. */
  readonly clock?: (() => number) | undefined
  /** How long the writes of a group may run one after the other, in milliseconds. Then the remaining ones are refused. */
  readonly timeoutMs: number
  /** How long the writes of a group wait for locks altogether, in milliseconds; also the `lock_timeout` of the connections. */
  readonly lockWaitMs: number
  /** Queues the statements that belong to the commit. Returns a function to be called after the commit. */
  readonly beforeCommit: (transaction: Transaction, finishedWrites: readonly FinishedWrite<T>[]) => () => void
  readonly lease: CacheLease
}

export class GroupCommit<T> {
  readonly #options: GroupCommitOptions<T>
  #savepointGroupsLeft = 0
  /** The number of commits, and of the writes in them. */
  readonly counts = { commits: 0, writes: 0 }

  constructor(options: GroupCommitOptions<T>) {
    this.#options = options
  }

  /** Answers each write. Throws if none of them was stored: a `RetryError` if another try may succeed. */
  async transact(connection: Connection, group: readonly QueuedWrite<T>[]): Promise<void> {
    const transaction = new Transaction(connection)
    const hasSavepoints = this.#savepointGroupsLeft > 0 || group[0]?.job.ownTransaction !== undefined
    const outcomes = await this.#outcomes(transaction, group)
    if (outcomes === undefined) return
    const finishedWrites = [...outcomes.values()].filter(outcome => 'value' in outcome)
    const afterCommit = this.#options.beforeCommit(transaction, finishedWrites)
    const endCommit = this.#options.lease.commit()
    try {
      await transaction
        .rows(commit, noInputs)
        .catch(cause => this.#handleFailedCommit(connection, transaction, cause, hasSavepoints))
      if (transaction.tag !== 'COMMIT') throw unavailableError(transaction.failure)
    } catch (cause) {
      endCommit(false)
      throw cause
    }
    this.counts.commits++
    this.counts.writes += finishedWrites.length
    endCommit(succeeds(afterCommit))
    for (const [{ resolve, reject }, outcome] of outcomes) {
      if ('error' in outcome) reject(outcome.error)
      else resolve(outcome.value)
    }
  }

  /** Undefined if nothing was stored and the writes are answered already. */
  async #outcomes(
    transaction: Transaction,
    group: readonly QueuedWrite<T>[],
  ): Promise<WriteOutcomes<T> | undefined> {
    const [first] = group
    if (first?.job.ownTransaction !== undefined)
      return this.#runAlone(transaction, first, first.job.ownTransaction)
    const startedAt = performance.now()
    return (
      (await this.#runConcurrently(transaction, group)) ??
      this.#runWithSavepoints(transaction, group, startedAt)
    )
  }

  /** A transaction that fails is tried again only if another try may succeed. */
  async #runAlone(
    transaction: Transaction,
    write: QueuedWrite<T>,
    { locks: locksOf, isSnapshot, tries }: OwnTransaction,
  ): Promise<WriteOutcomes<T> | undefined> {
    try {
      const locks = locksOf()
      if (locks.length > 0) await this.#lockTables(transaction, locks)
      else transaction.queue(isSnapshot ? beginSnapshot : begin)
      for (const claim of write.job.claims ?? []) transaction.queue(claim)
      const scope = new Scope(transaction, this.#moment())
      const value = await write.job.run(scope)
      // An action may have caught the error, but the transaction has failed.
      if (transaction.failure !== undefined) throw transaction.failure
      return new Map([[write, { value, scope }]])
    } catch (cause) {
      const failure = transaction.failure ?? cause
      await this.#rollBack(transaction)
      if (tries !== undefined && isLockTimeout(failure)) throw new RetryError(failure)
      write.reject(failureOf(cause instanceof ApiError ? cause : failure))
      return undefined
    }
  }

  /** Begins the transaction with its locks. A transaction that holds one may wait for another, so no wait is long. */
  async #lockTables(transaction: Transaction, locks: readonly Statement[]): Promise<void> {
    const { lockWaitMs } = this.#options
    const deadline = performance.now() + lockWaitMs
    for (let waitMs = firstTableLockMs; ; waitMs = Math.min(waitMs * 2, lastTableLockMs)) {
      transaction.queue(begin)
      transaction.queue(limitLockWait, slotInputs([String(waitMs)]))
      try {
        await Promise.all(locks.map(lock => transaction.rows(lock)))
        transaction.queue(limitLockWait, slotInputs([String(lockWaitMs)]))
        return
      } catch (cause) {
        if (!isLockTimeout(transaction.failure) || performance.now() > deadline) throw cause
      }
      await this.#rollBack(transaction)
      await new Promise(resolve => setTimeout(resolve, Math.random() * waitMs))
    }
  }

  /**
   * If the connection broke, the outcome of the COMMIT is unknown: it must not be tried again. If the database refused a
   * statement, it may be one that a write has deferred: with savepoints only that write fails.
   */
  async #handleFailedCommit(
    connection: Connection,
    transaction: Transaction,
    cause: unknown,
    hasSavepoints: boolean,
  ): Promise<never> {
    const failure = transaction.failure ?? cause
    if (failure instanceof NotSent) throw new RetryError(failure)
    if (failure instanceof ConnectionLost) throw unconfirmedWriteError(failure)
    transaction.recover()
    await transaction.rows(rollback).catch(() => connection.destroy())
    if (isTransient(failure)) throw new RetryError(failure)
    if (hasSavepoints || failureOf(failure).code === 'UNAVAILABLE') throw unavailableError(failure)
    this.#savepointGroupsLeft = savepointGroups
    throw new RetryError(failure)
  }

  /**
   * Runs the writes concurrently. Hardly any write fails after it has changed something. When one does, all are rolled back,
   * to be run again one after the other, with savepoints. Undefined: they are rolled back.
   */
  async #runConcurrently(
    transaction: Transaction,
    group: readonly QueuedWrite<T>[],
  ): Promise<WriteOutcomes<T> | undefined> {
    if (this.#savepointGroupsLeft > 0) {
      this.#savepointGroupsLeft--
      return undefined
    }
    this.#begin(transaction, group)
    for (const claim of claimsIn(group)) if (claim !== sumsLock) transaction.queue(claim)
    const moment = this.#moment()
    const outcomes = new Map<QueuedWrite<T>, WriteOutcome<T>>()
    const finished: Scope[] = []
    let mustRollBack = false
    const run = async (write: QueuedWrite<T>) => {
      const scope = new Scope(transaction, moment, finished)
      try {
        outcomes.set(write, { value: await write.job.run(scope), scope })
        finished.push(scope)
      } catch (cause) {
        mustRollBack ||= scope.hasChanged || !(cause instanceof ApiError)
        outcomes.set(write, { error: failureOf(cause) })
      }
    }
    await runConcurrently(group, run)
    if (transaction.failure === undefined && !mustRollBack) return outcomes
    await this.#rollBack(transaction)
    this.#savepointGroupsLeft = savepointGroups
    return undefined
  }

  /** `startedAt`: when the group was first tried, by `performance.now()`. */
  async #runWithSavepoints(
    transaction: Transaction,
    group: readonly QueuedWrite<T>[],
    startedAt: number,
  ): Promise<WriteOutcomes<T>> {
    this.#begin(transaction, group)
    const moment = this.#moment()
    const outcomes = new Map<QueuedWrite<T>, WriteOutcome<T>>()
    const finished: Scope[] = []
    // Each write may wait for a lock as long as a statement may; all of them together may not.
    const deadline = startedAt + this.#options.timeoutMs
    for (const write of inLockOrder(group)) {
      const scope = new Scope(transaction, moment, finished)
      this.#limitLockWait(transaction, startedAt)
      const isLate = performance.now() > deadline
      const outcome = isLate ? timeoutOutcome() : await this.#savepoint(transaction, scope, write.job)
      outcomes.set(write, outcome)
      if ('value' in outcome) finished.push(scope)
    }
    return outcomes
  }

  /** A transaction that waits for the lock of stored values holds no other lock yet. */
  #begin(transaction: Transaction, group: readonly QueuedWrite<T>[]): void {
    transaction.queue(begin)
    if (claimsIn(group).has(sumsLock)) transaction.queue(sumsLock)
  }

  #moment(): Moment {
    const { now, clock } = this.#options
    return { at: new Date(now()).toISOString(), now: clock?.() }
  }

  /** A write that waited for its lock in the first try does not wait as long again. */
  #limitLockWait(transaction: Transaction, startedAt: number): void {
    const { lockWaitMs } = this.#options
    const usedMs = performance.now() - startedAt
    if (usedMs < minLockWaitMs) return
    transaction.queue(
      limitLockWait,
      slotInputs([String(Math.ceil(Math.max(minLockWaitMs, lockWaitMs - usedMs)))]),
    )
  }

  async #savepoint(transaction: Transaction, scope: Scope, job: WriteJob<T>): Promise<WriteOutcome<T>> {
    transaction.queue(savepoint)
    for (const claim of job.claims ?? []) transaction.queue(claim)
    try {
      const value = await job.run(scope)
      await transaction.rows(release)
      return { value, scope }
    } catch (cause) {
      const failure = transaction.failure ?? cause
      if (failure instanceof ConnectionLost || isTransient(failure)) {
        await this.#rollBack(transaction)
        throw new RetryError(failure)
      }
      transaction.recover()
      transaction.queue(rollbackTo)
      await transaction.rows(release).catch(retryIfLost)
      return { error: failureOf(cause instanceof ApiError ? cause : failure) }
    }
  }

  /** Throws a `RetryError` if the whole transaction is to be tried again, perhaps on another connection. */
  async #rollBack(transaction: Transaction): Promise<void> {
    const { failure } = transaction
    if (failure instanceof ConnectionLost) throw new RetryError(failure)
    transaction.recover()
    await transaction.rows(rollback).catch(retryIfLost)
    if (failure !== undefined && isTransient(failure)) throw new RetryError(failure)
  }
}

function claimsIn<T>(group: readonly QueuedWrite<T>[]): ReadonlySet<Statement> {
  return new Set(group.flatMap(({ job }) => job.claims ?? []))
}

/** A stored write is not refused because a listener failed. */
function succeeds(after: () => void): boolean {
  try {
    after()
    return true
  } catch (cause) {
    process.emitWarning(cause instanceof Error ? cause : String(cause))
    return false
  }
}

/** Nothing was stored, and another try may succeed. */
export class RetryError extends Error {
  constructor(cause: unknown) {
    super('The transaction should be tried again.', { cause })
  }
}

/** For a rollback before any COMMIT: a transaction whose connection is lost stores nothing. */
function retryIfLost(cause: unknown): never {
  throw cause instanceof ConnectionLost ? new RetryError(cause) : cause
}

function timeoutOutcome(): { readonly error: ApiError } {
  return { error: new ApiError('UNAVAILABLE', 'The changes before this one took too long.') }
}

export function unavailableError(cause: unknown): ApiError {
  return databaseFault(cause)
}
