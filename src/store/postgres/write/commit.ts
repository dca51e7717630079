/**
 * Group commit: the writes that arrive in one turn of the event loop, or while a commit is under way, become one
 * transaction. Each write succeeds or fails as a whole, and is answered only after the COMMIT that contains it.
 */
import { ApiError, stoppingRefusal, temporaryRefusal } from '../../../errors.ts'
import type { Connection } from '../connections/connection.ts'
import { ConnectionSet, unreachableMessage } from '../connections/connection-set.ts'
import { failureOf, isLockTimeout, isTransient } from '../connections/failure.ts'
import { Again, Groups, type GroupsOptions, type Job, type QueuedWrite, unavailable } from './group.ts'
import { WriteQueues } from './queues.ts'

/** How often a group is tried if it meets a deadlock, or its connection breaks before the COMMIT. */
const maxTries = 5

export interface CommitOptions<T> extends GroupsOptions<T> {
  readonly open: () => Promise<Connection>
  /** How many connections write at the same time. */
  readonly lanes: number
  readonly maxWaiting: number
  /** Called between groups, for occasional cleaning. */
  readonly atRest: (connection: Connection) => Promise<void>
}

export class CommitQueue<T> {
  readonly #options: CommitOptions<T>
  readonly #drain = (): void => this.#next()
  readonly #connections: ConnectionSet
  readonly #groups: Groups<T>
  readonly #queues: WriteQueues<T>
  #scheduled = false
  #lanes = 0
  #resting: (() => void)[] = []
  #isClosed = false

  constructor(options: CommitOptions<T>) {
    this.#options = options
    this.#connections = new ConnectionSet(options.open)
    this.#groups = new Groups(options)
    this.#queues = new WriteQueues(options.lanes)
  }

  /** The number of commits, and of the writes in them. */
  get counts(): { readonly commits: number; readonly writes: number } {
    return this.#groups.counts
  }

  /** Runs a job within the next transaction, perhaps several times. An error of the job undoes that job only. */
  add(job: Job<T>): Promise<T> {
    const refused = this.#refusal()
    if (refused !== undefined) return Promise.reject(refused)
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#queues.add({ job, resolve, reject })
    this.#schedule()
    return promise
  }

  /** See `ConnectionSet`. */
  dropIdle(): void {
    this.#connections.dropIdle()
  }

  /** The database is known to be unreachable: writes that wait for an answer are refused now. */
  lose(): void {
    this.#connections.lose()
  }

  /** Finishes the queued writes, then closes the connections. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#lanes > 0 || this.#queues.count > 0) {
      await new Promise<void>(resolve => this.#resting.push(resolve))
    }
    await this.#connections.close()
  }

  #refusal(): ApiError | undefined {
    if (this.#isClosed) return stoppingRefusal()
    if (this.#queues.count >= this.#options.maxWaiting) {
      return temporaryRefusal('Too many changes are waiting to be stored.')
    }
    return this.#connections.isAway ? new ApiError('UNAVAILABLE', unreachableMessage) : undefined
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(this.#drain)
  }

  #next(): void {
    this.#scheduled = false
    if (this.#queues.count === 0) {
      if (this.#lanes === 0) for (const resolve of this.#resting.splice(0)) resolve()
      return
    }
    // A second group only when the first is full: each commit has its cost.
    while (this.#lanes < this.#options.lanes) {
      const group = this.#queues.take()
      if (group.length === 0) return
      this.#begin(group)
    }
  }

  #begin(group: readonly QueuedWrite<T>[]): void {
    this.#lanes++
    void this.#lane(group).finally(() => {
      this.#lanes--
      this.#queues.ended(group)
      this.#schedule()
    })
  }

  async #lane(group: readonly QueuedWrite<T>[]): Promise<void> {
    const maxGroupTries = group[0]?.job.own?.tries ?? maxTries
    for (let tries = 1; ; tries++) {
      let connection: Connection | undefined
      try {
        connection = await this.#connections.acquire()
        await this.#admit(connection)
        await this.#groups.transact(connection, group)
        return
      } catch (cause) {
        // Any other failure may have left the transaction open: nothing else may be committed with it.
        if (!(cause instanceof Again || cause instanceof ApiError)) connection?.destroy()
        if (!(cause instanceof Again) || tries >= maxGroupTries) return this.#refuse(group, cause)
        await new Promise(resolve => setTimeout(resolve, Math.random() * 20 * tries))
      } finally {
        if (connection !== undefined) await this.#rest(connection)
      }
    }
  }

  async #admit(connection: Connection): Promise<void> {
    await this.#options.lease.admit(connection).catch(cause => {
      throw new Again(cause)
    })
  }

  async #rest(connection: Connection): Promise<void> {
    if (!connection.isClosed) await this.#options.atRest(connection).catch(() => connection.destroy())
    this.#connections.giveBack(connection)
  }

  #refuse(group: readonly QueuedWrite<T>[], cause: unknown): void {
    const failure = cause instanceof Again ? cause.cause : cause
    const error = isConflict(group, failure) ? conflict(failure) : failureOf(failure)
    for (const { reject } of group)
      reject(error.code === 'UNAVAILABLE' || error.code === 'CONFLICT' ? error : unavailable(cause))
  }
}

/** Whether a transaction that limits its number of tries failed because of concurrent transactions. */
function isConflict<T>([first]: readonly QueuedWrite<T>[], failure: unknown): boolean {
  return first?.job.own?.tries !== undefined && (isTransient(failure) || isLockTimeout(failure))
}

function conflict(cause: unknown): ApiError {
  const message = 'Others changed the same at the same moment, several times. Nothing was done: try again.'
  return new ApiError('CONFLICT', message, { headers: { 'Retry-After': '1' }, cause })
}
