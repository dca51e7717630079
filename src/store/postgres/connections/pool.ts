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
  isStatementOutdated,
  Unreachable,
} from './failure.ts'
import type { BoundStatement, DataRows, Statement } from './statement.ts'

export interface PoolOptions {
  readonly open: () => Promise<Connection>
  readonly size: number
  /** How many reads may wait; more are refused as UNAVAILABLE. */
  readonly maxWaiting: number
  /** The first queries of each pipeline; every read's results begin with theirs. */
  readonly firstQueries?: () => readonly BoundStatement[]
  /** How often a read is sent whose connection breaks, or whose prepared statement is outdated; 3 by default. */
  readonly tries?: number
  /** How long a read waits for a locked table, in milliseconds; 10,000 by default. */
  readonly lockWaitMs?: number
  /** The database neither answers nor refuses. */
  readonly onSilence?: () => void
}

/** How many reads share a pipeline: each round trip has its cost, but a slow read delays those sent with it. */
const maxReadsPerPipeline = 32
const maxTries = 3

export class Pool {
  readonly #options: PoolOptions
  readonly #tries: number
  readonly #connections: ConnectionSet
  readonly #drain = (): void => {
    this.#isScheduled = false
    this.#send()
  }
  readonly #lockedReads: LockedReads
  #waiting: PendingRead[] = []
  #opening = 0
  #isScheduled = false
  #isClosed = false

  constructor(options: PoolOptions) {
    this.#options = options
    this.#tries = options.tries ?? maxTries
    this.#connections = new ConnectionSet(options.open)
    this.#lockedReads = new LockedReads(options.size, options.lockWaitMs ?? 10_000)
  }

  async rows(statement: Statement, inputs: Inputs): Promise<DataRows> {
    const [rows = []] = await this.ask([statement.with(inputs)])
    return rows
  }

  /**
   * Runs the queries in one snapshot. Rejects with an `ApiError`. `isImmediate`: sends them now, in a separate pipeline.
   */
  ask(queries: readonly BoundStatement[], isImmediate = false): Promise<readonly DataRows[]> {
    const refusal = this.#refusal()
    if (refusal !== undefined) return Promise.reject(refusal)
    const { promise, resolve, reject } = Promise.withResolvers<readonly DataRows[]>()
    this.#waiting.push({ queries, resolve, reject, tries: 0, lockDeadline: undefined })
    if (isImmediate) this.#send()
    else this.#schedule()
    return promise
  }

  /** See `ConnectionSet`. */
  dropIdle(): void {
    this.#connections.dropIdle()
  }

  /** Destroys all connections and refuses the reads that wait: the database is unreachable. */
  disconnect(): void {
    this.#connections.disconnect()
    this.#rejectAll(new ApiError('UNAVAILABLE', unreachableMessage))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#rejectAll(stoppingRefusal())
    await this.#connections.close()
  }

  #refusal(): ApiError | undefined {
    if (this.#isClosed) return stoppingRefusal()
    if (this.#waiting.length + this.#lockedReads.waiting >= this.#options.maxWaiting)
      return temporaryRefusal('Too many requests are waiting for the database.')
    return this.#connections.isUnreachable ? temporaryRefusal(unreachableMessage) : undefined
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#drain)
  }

  #send(): void {
    if (this.#lockedReads.isAny) this.#waiting = this.#lockedReads.setAside(this.#waiting)
    while (this.#waiting.length > 0) {
      const connection = this.#connections.take()
      if (connection === undefined) break
      void this.#run(connection, this.#waiting.splice(0, maxReadsPerPipeline))
    }
    if (this.#lockedReads.isAny) this.#sendLocked()
    if (this.#waiting.length + this.#lockedReads.waiting > 0) this.#openMore()
  }

  #sendLocked(): void {
    while (this.#lockedReads.mayStart) {
      const connection = this.#connections.take()
      if (connection === undefined) return
      void this.#run(connection, this.#lockedReads.next(maxReadsPerPipeline)).finally(() => {
        this.#lockedReads.ended()
        this.#schedule()
      })
    }
  }

  async #run(connection: Connection, reads: readonly PendingRead[]): Promise<void> {
    const queries = reads.flatMap(read => read.queries)
    const firstQueries = this.#options.firstQueries?.()
    const { results, error } = await connection.run(
      firstQueries === undefined ? queries : [...firstQueries, ...queries],
    )
    const sharedResults = firstQueries === undefined ? undefined : results.slice(0, firstQueries.length)
    let start = firstQueries?.length ?? 0
    let hasFailed = false
    for (const read of reads) {
      const end = start + read.queries.length
      const rows = results.slice(start, end)
      if (results.length >= end) {
        if (this.#lockedReads.isAny) this.#lockedReads.answered(read)
        read.resolve(sharedResults === undefined ? rows : [...sharedResults, ...rows])
      } else if (isLockTimeout(error)) {
        // This read has delayed the reads behind it. It now waits separately, and they are sent again.
        if (hasFailed) this.#waiting.push(read)
        else this.#lockedReads.add(read, read.queries[results.length - start])
        hasFailed = true
      } else if (hasFailed && this.#tries > 1) this.#waiting.push(read)
      else {
        hasFailed = true
        this.#fail(read, error)
      }
      start = end
    }
    if (error !== undefined && isStatementOutdated(error)) connection.destroy()
    this.#connections.release(connection)
    // Otherwise the reads would be sent again, on connections that are closed as soon as they open.
    if (this.#isClosed) this.#rejectAll(stoppingRefusal())
    else if (this.#waiting.length + this.#lockedReads.waiting > 0) this.#send()
  }

  /** Reads change nothing, so one whose connection broke is sent again on another connection. */
  #fail(read: PendingRead, cause: unknown): void {
    read.tries++
    const isRepeatable =
      (cause instanceof ConnectionLost && !(cause instanceof AnswerTimeout)) || isStatementOutdated(cause)
    if (isRepeatable && read.tries < this.#tries && !this.#connections.isUnreachable) this.#waiting.push(read)
    else read.reject(failureOf(cause))
  }

  #openMore(): void {
    const { size, isPaused } = this.#connections
    // If the server refuses more connections, wait before the next attempt while an open connection serves the reads.
    if (isPaused && size > 0) return
    if (size + this.#opening >= this.#options.size) return
    if (this.#opening >= this.#waiting.length + this.#lockedReads.waiting) return
    this.#opening++
    this.#connections
      .open()
      .then(
        connection => this.#opened(connection),
        error => this.#unreachable(error),
      )
      .finally(() => {
        this.#opening--
        if (this.#waiting.length + this.#lockedReads.waiting > 0) this.#schedule()
      })
  }

  #opened(connection: Connection): void {
    if (this.#isClosed) return void connection.close()
    this.#connections.release(connection)
    connection.onClose(() => this.#schedule())
  }

  #unreachable(cause: unknown): void {
    if (this.#connections.size > 0) return
    this.#rejectAll(failureOf(cause))
    if (cause instanceof Unreachable && !cause.isAnswered) this.#options.onSilence?.()
  }

  #rejectAll(error: ApiError): void {
    const waiting = [...this.#waiting, ...this.#lockedReads.takeAll()]
    this.#waiting = []
    for (const { reject } of waiting) reject(error)
  }
}
