/**
 * Group commit: the writes that arrive in one turn of the event loop, or while a commit is under way, become one
 * transaction. Each is done wholly or not at all, and none is answered before the COMMIT that covers it.
 */
import { ApiError } from '../../../errors.ts'
import type { Connection } from '../connections/connection.ts'
import { ConnectionSet, unreachableMessage } from '../connections/connection-set.ts'
import { failureOf, isLockTimeout, isPassing } from '../connections/failure.ts'
import { Again, Groups, type GroupsOptions, type Job, type QueuedWrite, unavailable } from './group.ts'
import { WriteQueues } from './queues.ts'

/** How often a group is done again that met a deadlock, or whose connection broke before its COMMIT. */
const maxTries = 5

export interface CommitOptions<T> extends GroupsOptions<T> {
  readonly open: () => Promise<Connection>
  /** How many connections write at the same time. */
  readonly lanes: number
  readonly maxWaiting: number
  /** Between groups: cleans up, now and then. */
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

  /** Commits, and the writes that they hold. */
  get counts(): { readonly commits: number; readonly writes: number } {
    return this.#groups.counts
  }

  /** Runs a job within the next transaction, perhaps twice. What it throws undoes it, and only it. */
  add(job: Job<T>): Promise<T> {
    const refused = this.#refusal()
    if (refused !== undefined) return Promise.reject(new ApiError('UNAVAILABLE', refused))
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#queues.add({ job, resolve, reject })
    this.#schedule()
    return promise
  }

  /** See `ConnectionSet`. */
  dropIdle(): void {
    this.#connections.dropIdle()
  }

  /** The database is known to be away: whoever waits for an answer is refused now. */
  lose(): void {
    this.#connections.lose()
  }

  /** Finishes what waits, then closes the connections. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#lanes > 0 || this.#queues.count > 0) {
      await new Promise<void>(resolve => this.#resting.push(resolve))
    }
    await this.#connections.close()
  }

  #refusal(): string | undefined {
    if (this.#isClosed) return 'The service is stopping.'
    if (this.#queues.count >= this.#options.maxWaiting) return 'Too many changes are waiting to be stored.'
    if (this.#connections.isAway) return unreachableMessage
    return undefined
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
    // A second group only of those for which the first has no room: each commit has its price.
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
    const most = group[0]?.job.own?.tries ?? maxTries
    for (let tries = 1; ; tries++) {
      let connection: Connection | undefined
      try {
        connection = await this.#connections.one()
        await this.#admit(connection)
        await this.#groups.transact(connection, group)
        return
      } catch (cause) {
        // Any other failure may have left the transaction open: nothing else may be committed with it.
        if (!(cause instanceof Again || cause instanceof ApiError)) connection?.destroy()
        if (!(cause instanceof Again) || tries >= most) return this.#refuse(group, cause)
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

/** Of a transaction that says how often it is tried. */
function isConflict<T>([first]: readonly QueuedWrite<T>[], failure: unknown): boolean {
  return first?.job.own?.tries !== undefined && (isPassing(failure) || isLockTimeout(failure))
}

function conflict(cause: unknown): ApiError {
  const message = 'Others changed the same at the same moment, several times. Nothing was done: try again.'
  return new ApiError('CONFLICT', message, { headers: { 'Retry-After': '1' }, cause })
}
