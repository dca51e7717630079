/** Connections that read. Reads of one turn of the event loop share a pipeline. */
import { ApiError, stoppingRefusal, temporaryRefusal } from '../../../errors.ts'
import type { Inputs } from '../../values.ts'
import { LockedReads, type PendingRead } from '../read/locked-reads.ts'
import type { Connection } from './connection.ts'
import { ConnectionSet, unreachableMessage } from './connection-set.ts'
import {
  AnswerTimeout,
  ConnectionLost,
  failureOf,
  isLockTimeout,
  isOutdated,
  Unreachable,
} from './failure.ts'
import type { Query, Rows, Statement } from './statement.ts'

export interface PoolOptions {
  readonly open: () => Promise<Connection>
  readonly size: number
  /** How many reads may wait; more are refused as UNAVAILABLE. */
  readonly maxWaiting: number
  /** The first queries of each pipeline; every read's results begin with theirs. */
  readonly before?: () => readonly Query[]
  /** How often a read is sent whose connection breaks, or whose prepared statement is outdated; 3 by default. */
  readonly tries?: number
  /** How long a read waits for a locked table, in milliseconds; 10,000 by default. */
  readonly lockWaitMs?: number
  /** The database neither answers nor refuses. */
  readonly onSilence?: () => void
}

/** How many reads share a pipeline: each round trip has its cost, but a slow read delays those sent with it. */
const maxSentTogether = 32
const maxTries = 3

export class Pool {
  readonly #options: PoolOptions
  readonly #tries: number
  readonly #connections: ConnectionSet
  readonly #drain = (): void => {
    this.#scheduled = false
    this.#send()
  }
  readonly #locked: LockedReads
  #waiting: PendingRead[] = []
  #opening = 0
  #scheduled = false
  #isClosed = false

  constructor(options: PoolOptions) {
    this.#options = options
    this.#tries = options.tries ?? maxTries
    this.#connections = new ConnectionSet(options.open)
    this.#locked = new LockedReads(options.size, options.lockWaitMs ?? 10_000)
  }

  async rows(statement: Statement, inputs: Inputs): Promise<Rows> {
    const [rows = []] = await this.ask([statement.with(inputs)])
    return rows
  }

  /**
   * Runs the queries in one snapshot. Rejects with an `ApiError`. `isImmediate`: sends them now, in a separate pipeline.
   */
  ask(queries: readonly Query[], isImmediate = false): Promise<readonly Rows[]> {
    const refused = this.#refusal()
    if (refused !== undefined) return Promise.reject(refused)
    const { promise, resolve, reject } = Promise.withResolvers<readonly Rows[]>()
    this.#waiting.push({ queries, resolve, reject, tries: 0, lockDeadline: undefined })
    if (isImmediate) this.#send()
    else this.#schedule()
    return promise
  }

  /** See `ConnectionSet`. */
  dropIdle(): void {
    this.#connections.dropIdle()
  }

  /** The database is known to be unreachable: reads that wait for an answer are refused now. */
  lose(): void {
    this.#connections.lose()
    this.#refuseAll(new ApiError('UNAVAILABLE', unreachableMessage))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#refuseAll(stoppingRefusal())
    await this.#connections.close()
  }

  #refusal(): ApiError | undefined {
    if (this.#isClosed) return stoppingRefusal()
    if (this.#waiting.length + this.#locked.waiting >= this.#options.maxWaiting)
      return temporaryRefusal('Too many requests are waiting for the database.')
    return this.#connections.isAway ? new ApiError('UNAVAILABLE', unreachableMessage) : undefined
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(this.#drain)
  }

  #send(): void {
    if (this.#locked.isAny) this.#waiting = this.#locked.setAside(this.#waiting)
    while (this.#waiting.length > 0) {
      const connection = this.#connections.take()
      if (connection === undefined) break
      void this.#run(connection, this.#waiting.splice(0, maxSentTogether))
    }
    if (this.#locked.isAny) this.#sendLocked()
    if (this.#waiting.length + this.#locked.waiting > 0) this.#openMore()
  }

  #sendLocked(): void {
    while (this.#locked.mayStart) {
      const connection = this.#connections.take()
      if (connection === undefined) return
      void this.#run(connection, this.#locked.next(maxSentTogether)).finally(() => {
        this.#locked.ended()
        this.#schedule()
      })
    }
  }

  async #run(connection: Connection, reads: readonly PendingRead[]): Promise<void> {
    const queries = reads.flatMap(read => read.queries)
    const before = this.#options.before?.()
    const { done, error } = await connection.run(before === undefined ? queries : [...before, ...queries])
    const shared = before === undefined ? undefined : done.slice(0, before.length)
    let at = before?.length ?? 0
    let failed = false
    for (const read of reads) {
      const end = at + read.queries.length
      const rows = done.slice(at, end)
      if (done.length >= end) {
        if (this.#locked.isAny) this.#locked.answered(read)
        read.resolve(shared === undefined ? rows : [...shared, ...rows])
      } else if (isLockTimeout(error)) {
        // It has delayed the reads behind it. From now on it waits separately, and they are sent again.
        if (failed) this.#waiting.push(read)
        else this.#locked.add(read, read.queries[done.length - at])
        failed = true
      } else if (failed && this.#tries > 1) this.#waiting.push(read)
      else {
        failed = true
        this.#fail(read, error)
      }
      at = end
    }
    if (error !== undefined && isOutdated(error)) connection.destroy()
    this.#connections.giveBack(connection)
    // Otherwise they would be sent again, on connections that are closed as soon as they open.
    if (this.#isClosed) this.#refuseAll(stoppingRefusal())
    else if (this.#waiting.length + this.#locked.waiting > 0) this.#send()
  }

  /** Reads change nothing, so one whose connection broke is sent again on another connection. */
  #fail(read: PendingRead, cause: unknown): void {
    read.tries++
    const isRepeatable =
      (cause instanceof ConnectionLost && !(cause instanceof AnswerTimeout)) || isOutdated(cause)
    if (isRepeatable && read.tries < this.#tries && !this.#connections.isAway) this.#waiting.push(read)
    else read.reject(failureOf(cause))
  }

  #openMore(): void {
    const { size, isPaused } = this.#connections
    // A server that refuses more connections is not asked again at once while an open connection serves the reads.
    if (isPaused && size > 0) return
    if (size + this.#opening >= this.#options.size) return
    if (this.#opening >= this.#waiting.length + this.#locked.waiting) return
    this.#opening++
    this.#connections
      .open()
      .then(
        connection => this.#opened(connection),
        error => this.#unreachable(error),
      )
      .finally(() => {
        this.#opening--
        if (this.#waiting.length + this.#locked.waiting > 0) this.#schedule()
      })
  }

  #opened(connection: Connection): void {
    if (this.#isClosed) return void connection.close()
    this.#connections.giveBack(connection)
    connection.onClose(() => this.#schedule())
  }

  #unreachable(cause: unknown): void {
    if (this.#connections.size > 0) return
    this.#refuseAll(failureOf(cause))
    if (cause instanceof Unreachable && !cause.isAnswered) this.#options.onSilence?.()
  }

  #refuseAll(error: ApiError): void {
    const waiting = [...this.#waiting, ...this.#locked.takeAll()]
    this.#waiting = []
    for (const { reject } of waiting) reject(error)
  }
}
