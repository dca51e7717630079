/**
 * Group commit: the writes that arrive in one turn of the event loop, or while a commit is under way, become one
 * transaction. Each write succeeds or fails as a whole, and is answered only after the COMMIT that contains it.
 */
import { ApiError, stoppingRefusal, temporaryRefusal } from '../../../../base/errors.ts'
import { tooManyChangesError } from '../../refusals.ts'
import type { Connection } from '../connections/connection.ts'
import { ConnectionSet, unreachableMessage } from '../connections/connection-set.ts'
import { failureOf, isLockTimeout, isTransient } from '../connections/failure.ts'
import {
  GroupCommit,
  type GroupCommitOptions,
  type QueuedWrite,
  RetryError,
  unavailableError,
  type WriteJob,
} from './group.ts'
import { WriteQueues } from './queues.ts'

/** How often a group is tried if it meets a deadlock, or its connection breaks before the COMMIT. */
const maxTries = 5

export interface CommitOptions<T> extends GroupCommitOptions<T> {
  readonly open: () => Promise<Connection>
  /** The number of connections that write at the same time. */
  readonly lanes: number
  readonly maxWaiting: number
  /** Called between groups, for occasional cleaning. */
  readonly betweenGroups: (connection: Connection) => Promise<void>
}

export class CommitQueue<T> {
  readonly #options: CommitOptions<T>
  readonly #drain = (): void => this.#next()
  readonly #connections: ConnectionSet
  readonly #groups: GroupCommit<T>
  readonly #queues: WriteQueues<T>
  #isScheduled = false
  #lanes = 0
  #onIdle: (() => void)[] = []
  #isClosed = false

  constructor(options: CommitOptions<T>) {
    this.#options = options
    this.#connections = new ConnectionSet(options.open)
    this.#groups = new GroupCommit(options)
    this.#queues = new WriteQueues(options.lanes)
  }

  /** The number of commits, and of the writes in them. */
  get counts(): { readonly commits: number; readonly writes: number } {
    return this.#groups.counts
  }

  /** Runs a job within the next transaction, perhaps several times. An error of the job undoes that job only. */
  add(job: WriteJob<T>): Promise<T> {
    const refusal = this.#refusal()
    if (refusal !== undefined) return Promise.reject(refusal)
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#queues.add({ job, resolve, reject })
    this.#schedule()
    return promise
  }

  /** See `ConnectionSet`. */
  dropIdle(): void {
    this.#connections.dropIdle()
  }

  /** Destroys all connections: the database is unreachable. Writes that wait for an answer are refused. */
  disconnect(): void {
    this.#connections.disconnect()
  }

  /** Finishes the queued writes, then closes the connections. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#lanes > 0 || this.#queues.count > 0) {
      await new Promise<void>(resolve => this.#onIdle.push(resolve))
    }
    await this.#connections.close()
  }

  #refusal(): ApiError | undefined {
    if (this.#isClosed) return stoppingRefusal()
    if (this.#queues.count >= this.#options.maxWaiting) return tooManyChangesError()
    return this.#connections.isUnreachable ? temporaryRefusal(unreachableMessage) : undefined
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#drain)
  }

  #next(): void {
    this.#isScheduled = false
    if (this.#queues.count === 0) {
      if (this.#lanes === 0) for (const resolve of this.#onIdle.splice(0)) resolve()
      return
    }
    // A second group only when the first is full: each commit has its cost.
    while (this.#lanes < this.#options.lanes) {
      const group = this.#queues.take()
      if (group.length === 0) return
      this.#start(group)
    }
  }

  #start(group: readonly QueuedWrite<T>[]): void {
    this.#lanes++
    void this.#runGroup(group).finally(() => {
      this.#lanes--
      this.#queues.finish(group)
      this.#schedule()
    })
  }

  async #runGroup(group: readonly QueuedWrite<T>[]): Promise<void> {
    const maxGroupTries = group[0]?.job.ownTransaction?.tries ?? maxTries
    for (let tries = 1; ; tries++) {
      let connection: Connection | undefined
      try {
        connection = await this.#connections.acquire()
        await this.#admit(connection)
        await this.#groups.transact(connection, group)
        return
      } catch (cause) {
        // Any other failure may have left the transaction open: nothing else may be committed with it.
        if (!(cause instanceof RetryError || cause instanceof ApiError)) connection?.destroy()
        if (!(cause instanceof RetryError) || tries >= maxGroupTries) return this.#refuse(group, cause)
        await new Promise(resolve => setTimeout(resolve, Math.random() * 20 * tries))
      } finally {
        if (connection !== undefined) await this.#release(connection)
      }
    }
  }

  async #admit(connection: Connection): Promise<void> {
    await this.#options.lease.admit(connection).catch(cause => {
      throw new RetryError(cause)
    })
  }

  async #release(connection: Connection): Promise<void> {
    if (!connection.isClosed) await this.#options.betweenGroups(connection).catch(() => connection.destroy())
    this.#connections.release(connection)
  }

  #refuse(group: readonly QueuedWrite<T>[], cause: unknown): void {
    const failure = cause instanceof RetryError ? cause.cause : cause
    const error = isConflict(group, failure) ? conflictError(failure) : failureOf(failure)
    for (const { reject } of group)
      reject(error.code === 'UNAVAILABLE' || error.code === 'CONFLICT' ? error : unavailableError(cause))
  }
}

/** Whether a transaction that limits its number of tries failed because of concurrent transactions. */
function isConflict<T>([first]: readonly QueuedWrite<T>[], failure: unknown): boolean {
  return first?.job.ownTransaction?.tries !== undefined && (isTransient(failure) || isLockTimeout(failure))
}

function conflictError(cause: unknown): ApiError {
  const message =
    'Other requests repeatedly changed the same data at the same time. Nothing was changed. Try again.'
  return new ApiError('CONFLICT', message, { headers: { 'Retry-After': '1' }, cause })
}
