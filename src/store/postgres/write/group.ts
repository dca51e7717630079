/** A group of writes as one transaction: each succeeds or fails as a whole, and is answered only after the COMMIT. */

import { ApiError } from '../../../errors.ts'
import { unconfirmed } from '../../refusals.ts'
import { slot, sql } from '../../sql/writer.ts'
import { noInputs, slotted } from '../../values.ts'
import type { Connection } from '../connections/connection.ts'
import { ConnectionLost, failureOf, isLockTimeout, isTransient, NotSent } from '../connections/failure.ts'
import { type Statement, statementOf } from '../connections/statement.ts'
import { Transaction } from '../connections/transaction.ts'
import type { Lease } from '../versions/lease.ts'
import { type Ordered, ordered, runConcurrently } from './lock-order.ts'
import { type Moment, Scope } from './scope.ts'

/** How many groups use savepoints from the start, after one that needed them. */
const savepointGroups = 20

export interface Job<T> extends Ordered {
  readonly run: (scope: Scope) => Promise<T>
  /** For a job whose transaction contains no other job. */
  readonly own?: OwnTransaction
}

export interface OwnTransaction {
  /** Whether all of its statements see one snapshot. */
  readonly isSnapshot: boolean
  /** The statements that lock tables against other writers, for each try. */
  readonly locks: () => readonly Statement[]
  /** Whether it may wait for locks of tables, or reads much. */
  readonly isLong: boolean
  /**
   * How often it is tried when concurrent transactions are in its way; then it fails with CONFLICT. Omitted: as often as
   * other transactions.
   */
  readonly tries?: number | undefined
}

export interface Done<T> {
  readonly value: T
  readonly scope: Scope
}

export interface QueuedWrite<T> {
  readonly job: Job<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: ApiError) => void
}

type Outcome<T> = Done<T> | { readonly error: ApiError }
type Outcomes<T> = ReadonlyMap<QueuedWrite<T>, Outcome<T>>

const begin = statementOf(sql`BEGIN`)
const beginSnapshot = statementOf(sql`BEGIN ISOLATION LEVEL REPEATABLE READ`)
const commit = statementOf(sql`COMMIT`)
const rollback = statementOf(sql`ROLLBACK`)
const savepoint = statementOf(sql`SAVEPOINT "one_write"`)
const release = statementOf(sql`RELEASE "one_write"`)
const rollbackTo = statementOf(sql`ROLLBACK TO "one_write"`)
const limitLockWait = statementOf(sql`SELECT set_config('lock_timeout', ${slot(0)}, true)`)

/**
 * How long a transaction waits for the lock of a table while it may hold others, in milliseconds: less than PostgreSQL's
 * `deadlock_timeout`. The transactions that it waits for take a few milliseconds.
 */
const firstTableLockMs = 50
const lastTableLockMs = 400

/** How long a write may wait for a lock after others of its group have used up the time, in milliseconds. */
const leastLockMs = 100

export interface GroupsOptions<T> {
  /** The time, in milliseconds since 1970. */
  readonly now: () => number
  /** The value of `now` in rules; undefined: the database's own clock. */
  readonly clock?: (() => number) | undefined
  /** How long writes run one after the other, in milliseconds, before the remaining ones are refused. */
  readonly patience: number
  /** How long the writes of a group wait for locks in all, in milliseconds; also the `lock_timeout` of the connections. */
  readonly lockWaitMs: number
  /** Queues the statements that belong to the commit. Returns a function to be called after the commit. */
  readonly beforeCommit: (transaction: Transaction, done: readonly Done<T>[]) => () => void
  readonly lease: Lease
}

export class Groups<T> {
  readonly #options: GroupsOptions<T>
  #savepointGroupsLeft = 0
  /** The number of commits, and of the writes in them. */
  readonly counts = { commits: 0, writes: 0 }

  constructor(options: GroupsOptions<T>) {
    this.#options = options
  }

  /** Answers each write. Throws if none of them was stored: `Again` if another try may succeed. */
  async transact(connection: Connection, group: readonly QueuedWrite<T>[]): Promise<void> {
    const transaction = new Transaction(connection)
    const hasSavepoints = this.#savepointGroupsLeft > 0 || group[0]?.job.own !== undefined
    const outcomes = await this.#outcomes(transaction, group)
    if (outcomes === undefined) return
    const done = [...outcomes.values()].filter(outcome => 'value' in outcome)
    const after = this.#options.beforeCommit(transaction, done)
    const over = this.#options.lease.commit()
    try {
      await transaction
        .rows(commit, noInputs)
        .catch(cause => this.#failedCommit(connection, transaction, cause, hasSavepoints))
      if (transaction.tag !== 'COMMIT') throw unavailable(transaction.failure)
    } catch (cause) {
      over(false)
      throw cause
    }
    this.counts.commits++
    this.counts.writes += done.length
    over(isDone(after))
    for (const [{ resolve, reject }, outcome] of outcomes) {
      if ('error' in outcome) reject(outcome.error)
      else resolve(outcome.value)
    }
  }

  /** Undefined if nothing was stored and the writes are answered already. */
  async #outcomes(
    transaction: Transaction,
    group: readonly QueuedWrite<T>[],
  ): Promise<Outcomes<T> | undefined> {
    const [first] = group
    if (first?.job.own !== undefined) return this.#alone(transaction, first, first.job.own)
    const began = performance.now()
    return (await this.#plainly(transaction, group)) ?? this.#withSavepoints(transaction, group, began)
  }

  /** One that fails is tried again only if another try may succeed. */
  async #alone(
    transaction: Transaction,
    waiting: QueuedWrite<T>,
    { locks: locksOf, isSnapshot, tries }: OwnTransaction,
  ): Promise<Outcomes<T> | undefined> {
    try {
      const locks = locksOf()
      if (locks.length > 0) await this.#lockTables(transaction, locks)
      else transaction.queue(isSnapshot ? beginSnapshot : begin)
      const scope = new Scope(transaction, this.#moment())
      const value = await waiting.job.run(scope)
      // An action may have caught it: the transaction has failed all the same.
      if (transaction.failure !== undefined) throw transaction.failure
      return new Map([[waiting, { value, scope }]])
    } catch (cause) {
      const failure = transaction.failure ?? cause
      await this.#rollBack(transaction)
      if (tries !== undefined && isLockTimeout(failure)) throw new Again(failure)
      waiting.reject(failureOf(cause instanceof ApiError ? cause : failure))
      return undefined
    }
  }

  /** Begins the transaction with its locks. A transaction that holds one may wait for another, so no wait is long. */
  async #lockTables(transaction: Transaction, locks: readonly Statement[]): Promise<void> {
    const { lockWaitMs } = this.#options
    const deadline = performance.now() + lockWaitMs
    for (let waitMs = firstTableLockMs; ; waitMs = Math.min(waitMs * 2, lastTableLockMs)) {
      transaction.queue(begin)
      transaction.queue(limitLockWait, slotted([String(waitMs)]))
      try {
        await Promise.all(locks.map(lock => transaction.rows(lock)))
        transaction.queue(limitLockWait, slotted([String(lockWaitMs)]))
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
  async #failedCommit(
    connection: Connection,
    transaction: Transaction,
    cause: unknown,
    hasSavepoints: boolean,
  ): Promise<never> {
    const failure = transaction.failure ?? cause
    if (failure instanceof NotSent) throw new Again(failure)
    if (failure instanceof ConnectionLost) throw unconfirmed(failure)
    transaction.recover()
    await transaction.rows(rollback).catch(() => connection.destroy())
    if (isTransient(failure)) throw new Again(failure)
    if (hasSavepoints || failureOf(failure).code === 'UNAVAILABLE') throw unavailable(failure)
    this.#savepointGroupsLeft = savepointGroups
    throw new Again(failure)
  }

  /**
   * Runs the writes concurrently. Hardly any write fails after it has changed something. When one does, all are rolled back,
   * to be run again one after the other, with savepoints. Undefined: they are rolled back.
   */
  async #plainly(
    transaction: Transaction,
    group: readonly QueuedWrite<T>[],
  ): Promise<Outcomes<T> | undefined> {
    if (this.#savepointGroupsLeft > 0) {
      this.#savepointGroupsLeft--
      return undefined
    }
    transaction.queue(begin)
    const moment = this.#moment()
    const outcomes = new Map<QueuedWrite<T>, Outcome<T>>()
    const done: Scope[] = []
    let undone = false
    const run = async (waiting: QueuedWrite<T>) => {
      const scope = new Scope(transaction, moment, done)
      try {
        outcomes.set(waiting, { value: await waiting.job.run(scope), scope })
        done.push(scope)
      } catch (cause) {
        undone ||= scope.hasChanged || !(cause instanceof ApiError)
        outcomes.set(waiting, { error: failureOf(cause) })
      }
    }
    await runConcurrently(group, run)
    if (transaction.failure === undefined && !undone) return outcomes
    await this.#rollBack(transaction)
    this.#savepointGroupsLeft = savepointGroups
    return undefined
  }

  /** `began`: when the group was first tried, by `performance.now()`. */
  async #withSavepoints(
    transaction: Transaction,
    group: readonly QueuedWrite<T>[],
    began: number,
  ): Promise<Outcomes<T>> {
    transaction.queue(begin)
    const moment = this.#moment()
    const outcomes = new Map<QueuedWrite<T>, Outcome<T>>()
    const done: Scope[] = []
    // Each write may wait for a lock as long as a statement may; all of them together may not.
    const until = began + this.#options.patience
    for (const waiting of ordered(group)) {
      const scope = new Scope(transaction, moment, done)
      this.#limitLockWait(transaction, began)
      const isLate = performance.now() > until
      const outcome = isLate ? tooLate() : await this.#savepoint(transaction, scope, waiting.job)
      outcomes.set(waiting, outcome)
      if ('value' in outcome) done.push(scope)
    }
    return outcomes
  }

  #moment(): Moment {
    const { now, clock } = this.#options
    return { at: new Date(now()).toISOString(), now: clock?.() }
  }

  /** A write that waited for its lock in the first try does not wait as long again. */
  #limitLockWait(transaction: Transaction, began: number): void {
    const { lockWaitMs } = this.#options
    const used = performance.now() - began
    if (used < leastLockMs) return
    transaction.queue(limitLockWait, slotted([String(Math.ceil(Math.max(leastLockMs, lockWaitMs - used)))]))
  }

  async #savepoint(transaction: Transaction, scope: Scope, job: Job<T>): Promise<Outcome<T>> {
    transaction.queue(savepoint)
    try {
      const value = await job.run(scope)
      await transaction.rows(release)
      return { value, scope }
    } catch (cause) {
      const failure = transaction.failure ?? cause
      if (failure instanceof ConnectionLost || isTransient(failure)) {
        await this.#rollBack(transaction)
        throw new Again(failure)
      }
      transaction.recover()
      transaction.queue(rollbackTo)
      await transaction.rows(release).catch(againIfLost)
      return { error: failureOf(cause instanceof ApiError ? cause : failure) }
    }
  }

  /** Throws `Again` if the whole transaction is to be tried again, perhaps on another connection. */
  async #rollBack(transaction: Transaction): Promise<void> {
    const { failure } = transaction
    if (failure instanceof ConnectionLost) throw new Again(failure)
    transaction.recover()
    await transaction.rows(rollback).catch(againIfLost)
    if (failure !== undefined && isTransient(failure)) throw new Again(failure)
  }
}

/** A stored write is not refused because a listener failed. */
function isDone(after: () => void): boolean {
  try {
    after()
    return true
  } catch (cause) {
    process.emitWarning(cause instanceof Error ? cause : String(cause))
    return false
  }
}

/** Nothing was stored, and another try may succeed. */
export class Again extends Error {
  constructor(cause: unknown) {
    super('The transaction should be tried again.', { cause })
  }
}

/** Of a rollback before any COMMIT: a transaction whose connection is lost stores nothing. */
function againIfLost(cause: unknown): never {
  throw cause instanceof ConnectionLost ? new Again(cause) : cause
}

function tooLate(): { readonly error: ApiError } {
  return { error: new ApiError('UNAVAILABLE', 'The changes before this one took too long.') }
}

export function unavailable(cause: unknown): ApiError {
  return new ApiError('UNAVAILABLE', undefined, { cause })
}
