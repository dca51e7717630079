/**
 * Group commit: the writes that arrive in one turn of the event loop, or while a commit is under way, become one
 * transaction. Each is done wholly or not at all, and none is answered before the COMMIT that covers it.
 */
import { ApiError } from '../../../errors.ts'
import type { Connection } from '../connections/connection.ts'
import { ConnectionSet, unreachableMessage } from '../connections/connection-set.ts'
import { failureOf } from '../connections/failure.ts'
import { Again, Groups, type GroupsOptions, type Job, type QueuedWrite, unavailable } from './group.ts'

const maxBatch = 500
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
  #waiting: QueuedWrite<T>[] = []
  #scheduled = false
  /** Those that wait for a transaction of their own. */
  readonly #alone: QueuedWrite<T>[] = []
  /** Whether the last that was begun had one of its own. */
  #wasAlone = false
  #lanes = 0
  /** Those of the lanes with such a transaction: while it waits for locks, others are not kept waiting. */
  #lanesAlone = 0
  #resting: (() => void)[] = []
  #isClosed = false

  constructor(options: CommitOptions<T>) {
    this.#options = options
    this.#connections = new ConnectionSet(options.open)
    this.#groups = new Groups(options)
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
    const queue = job.own === undefined ? this.#waiting : this.#alone
    queue.push({ job, resolve, reject })
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
    if (this.#lanes > 0 || this.#count > 0) {
      await new Promise<void>(resolve => this.#resting.push(resolve))
    }
    await this.#connections.close()
  }

  #refusal(): string | undefined {
    if (this.#isClosed) return 'The service is stopping.'
    if (this.#count >= this.#options.maxWaiting) return 'Too many changes are waiting to be stored.'
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
    if (this.#count === 0) {
      if (this.#lanes === 0) for (const resolve of this.#resting.splice(0)) resolve()
      return
    }
    // A second group only of those for which the first has no room: each commit has its price.
    while (this.#lanes < this.#options.lanes) {
      const group = this.#take()
      if (group.length === 0) return
      this.#begin(group)
    }
  }

  /** The next that wait: those that share a transaction, and those that have one of their own, by turns. */
  #take(): readonly QueuedWrite<T>[] {
    const mayBeAlone = this.#alone.length > 0 && this.#lanesAlone < Math.max(1, this.#options.lanes - 1)
    if (mayBeAlone && (!this.#wasAlone || this.#waiting.length === 0)) {
      this.#wasAlone = true
      return this.#alone.splice(0, 1)
    }
    this.#wasAlone = false
    return this.#waiting.splice(0, maxBatch)
  }

  get #count(): number {
    return this.#waiting.length + this.#alone.length
  }

  #begin(group: readonly QueuedWrite<T>[]): void {
    const isAlone = group[0]?.job.own !== undefined ? 1 : 0
    this.#lanes++
    this.#lanesAlone += isAlone
    void this.#lane(group).finally(() => {
      this.#lanes--
      this.#lanesAlone -= isAlone
      this.#schedule()
    })
  }

  async #lane(group: readonly QueuedWrite<T>[]): Promise<void> {
    for (let tries = 1; ; tries++) {
      let connection: Connection | undefined
      try {
        connection = await this.#connections.one()
        await this.#admit(connection)
        await this.#groups.transact(connection, group)
        return
      } catch (cause) {
        if (!(cause instanceof Again) || tries >= maxTries) return this.#refuse(group, cause)
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
    const error = failureOf(cause instanceof Again ? cause.cause : cause)
    for (const { reject } of group) reject(error.code === 'UNAVAILABLE' ? error : unavailable(cause))
  }
}
