/** Connections that read. Reads of one turn of the event loop share a pipeline. */
import { ApiError, stoppingRefusal, temporaryRefusal } from '../../../../base/errors.ts'
import { WaitingCallers } from '../../read/waiting-callers.ts'
import type { Inputs } from '../../values.ts'
import { LockedReads, type PendingRead } from '../read/locked-reads.ts'
import { maxReadsPerPipeline, ReadQueue } from '../read/read-queue.ts'
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
  /** How long a read waits to be sent, e.g. while connections are busy or its table is locked, in milliseconds; 10,000 by default. */
  readonly waitMs?: number
  /** The database neither answers nor refuses. */
  readonly onSilence?: () => void
}

export interface AskOptions {
  /** Sends the queries now, in a separate pipeline. */
  readonly isImmediate?: boolean
  /** Omitted: Portico itself. */
  readonly waitingCallers?: WaitingCallers
  /** Until when it may wait, by `performance.now()`; omitted: as `PoolOptions.waitMs` says. */
  readonly deadline?: number
}

const maxTries = 3
/** How often reads that have waited for too long are refused, in milliseconds. */
const lateCheckMs = 1000

export class Pool {
  readonly #options: PoolOptions
  readonly #tries: number
  readonly #connections: ConnectionSet
  readonly #drain = (): void => {
    this.#isScheduled = false
    this.#send()
  }
  readonly #lockedReads: LockedReads
  readonly #queue: ReadQueue
  readonly #waitMs: number
  #lateTimer: NodeJS.Timeout | undefined
  #opening = 0
  #isScheduled = false
  #isClosed = false

  constructor(options: PoolOptions) {
    this.#options = options
    this.#tries = options.tries ?? maxTries
    this.#connections = new ConnectionSet(options.open)
    this.#lockedReads = new LockedReads(options.size)
    this.#queue = new ReadQueue(options)
    this.#waitMs = options.waitMs ?? 10_000
  }

  async rows(statement: Statement, inputs: Inputs): Promise<DataRows> {
    const [rows = []] = await this.ask([statement.with(inputs)])
    return rows
  }

  /** Runs the queries in one snapshot. Rejects with an `ApiError`. */
  ask(queries: readonly BoundStatement[], options: AskOptions = {}): Promise<readonly DataRows[]> {
    const { isImmediate = false, waitingCallers = new WaitingCallers('') } = options
    const { callers } = waitingCallers
    const refusal = this.#refusalFor(callers)
    if (refusal !== undefined) return Promise.reject(refusal)
    const { promise, resolve, reject } = Promise.withResolvers<readonly DataRows[]>()
    const deadline = options.deadline ?? performance.now() + this.#waitMs
    this.#queue.add({ queries, resolve, reject, callers, deadline, tries: 0 })
    // A read that must wait for others of its caller may be sent for the next one.
    waitingCallers.onJoin = () => this.#schedule()
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
    clearTimeout(this.#lateTimer)
    this.#rejectAll(stoppingRefusal())
    await this.#connections.close()
  }

  /** How many reads wait. */
  get #waiting(): number {
    return this.#queue.length + this.#lockedReads.waiting
  }

  #refusalFor(callers: ReadonlySet<string>): ApiError | undefined {
    if (this.#isClosed) return stoppingRefusal()
    if (this.#queue.isFullFor(callers, this.#lockedReads))
      return temporaryRefusal('Too many requests are waiting for the database.')
    return this.#connections.isUnreachable ? temporaryRefusal(unreachableMessage) : undefined
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#drain)
  }

  #send(): void {
    if (this.#lockedReads.isAny) this.#queue.retain(reads => this.#lockedReads.setAside(reads))
    while (this.#queue.length > 0) {
      const connection = this.#connections.take()
      if (connection === undefined) break
      const reads = this.#queue.take(this.#isLast())
      if (reads.length === 0) {
        this.#connections.release(connection)
        break
      }
      void this.#run(connection, reads)
    }
    if (this.#lockedReads.isAny) this.#sendLocked()
    if (this.#waiting === 0) return
    this.#openMore()
    this.#lateTimer ??= setTimeout(() => this.#refuseLate(), Math.min(lateCheckMs, this.#waitMs)).unref()
  }

  /** Whether no further read could be sent while the connection that was just taken is busy. */
  #isLast(): boolean {
    return !this.#connections.isAnyIdle && this.#connections.size >= this.#options.size
  }

  #refuseLate(): void {
    this.#lateTimer = undefined
    this.#queue.refuseLate(performance.now())
    if (this.#waiting > 0) this.#schedule()
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
    const end = this.#queue.begin(reads)
    const { results, error } = await connection.run(
      firstQueries === undefined ? queries : [...firstQueries, ...queries],
    )
    end()
    const sharedResults = firstQueries === undefined ? undefined : results.slice(0, firstQueries.length)
    let start = firstQueries?.length ?? 0
    let hasFailed = false
    for (const read of reads) {
      const next = start + read.queries.length
      const rows = results.slice(start, next)
      if (results.length >= next) {
        if (this.#lockedReads.isAny) this.#lockedReads.answered(read)
        read.resolve(sharedResults === undefined ? rows : [...sharedResults, ...rows])
      } else if (isLockTimeout(error)) {
        // This read has delayed the reads behind it. It now waits separately, and they are sent again.
        if (hasFailed) this.#queue.add(read)
        else this.#lockedReads.add(read, read.queries[results.length - start])
        hasFailed = true
      } else if (hasFailed && this.#tries > 1) this.#queue.add(read)
      else {
        hasFailed = true
        this.#fail(read, error)
      }
      start = next
    }
    if (error !== undefined && isStatementOutdated(error)) connection.destroy()
    this.#connections.release(connection)
    // Otherwise the reads would be sent again, on connections that are closed as soon as they open.
    if (this.#isClosed) this.#rejectAll(stoppingRefusal())
    else if (this.#waiting > 0) this.#send()
  }

  /** Reads change nothing, so one whose connection broke is sent again on another connection. */
  #fail(read: PendingRead, cause: unknown): void {
    read.tries++
    const isRepeatable =
      (cause instanceof ConnectionLost && !(cause instanceof AnswerTimeout)) || isStatementOutdated(cause)
    if (isRepeatable && read.tries < this.#tries && !this.#connections.isUnreachable) this.#queue.add(read)
    else read.reject(failureOf(cause))
  }

  #openMore(): void {
    const { size, isPaused } = this.#connections
    // If the server refuses more connections, wait before the next attempt while an open connection serves the reads.
    if (isPaused && size > 0) return
    if (size + this.#opening >= this.#options.size) return
    if (this.#opening >= this.#waiting) return
    this.#opening++
    this.#connections
      .open()
      .then(
        connection => this.#opened(connection),
        error => this.#unreachable(error),
      )
      .finally(() => {
        this.#opening--
        if (this.#waiting > 0) this.#schedule()
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
    const waiting = [...this.#queue.takeAll(), ...this.#lockedReads.takeAll()]
    for (const { reject } of waiting) reject(error)
  }
}
