/** One hot standby of the primary. It answers a read if it is known to have exactly the same data. */
import { sql } from '../../sql/writer.ts'
import { noInputs } from '../../values.ts'
import type { Connection } from '../connections/connection.ts'
import { Pool } from '../connections/pool.ts'
import { type BoundStatement, type DataRow, type DataRows, statementOf } from '../connections/statement.ts'
import type { ReadOptions } from '../read/reads.ts'
import { isTouched } from '../versions/checks.ts'
import type { Timeline } from './timeline.ts'

export interface ReplicaOptions {
  /** A connection all of whose statements of one pipeline see one snapshot. */
  readonly open: () => Promise<Connection>
  /** A connection that is soon closed if the server is silent. */
  readonly openWatch: () => Promise<Connection>
  readonly size: number
  readonly maxWaiting: number
  readonly timeline: Timeline
  /** A query for commits that were not visible on the primary at the last check. */
  readonly newCommits: () => BoundStatement
  /** Called with the reason when the replica is no longer used, and with undefined when it is used again. */
  readonly onChange: (trouble: string | undefined) => void
}

interface ReplicaRead extends ReadOptions {
  readonly requiredPosition: number
  /** Until when it may wait for a connection, by `performance.now()`. */
  readonly deadline: number
}

/** How often to poll the position, in milliseconds: normally, and while a read needs a later position. */
const pollIntervalMs = 500
const shortPollIntervalMs = 5
/** A standby of this primary may not have replayed the name of the timeline yet. */
const maxUnnamedPolls = 8

const begin = statementOf(sql`BEGIN`)
const commit = statementOf(sql`COMMIT`)

export class Replica {
  readonly #options: ReplicaOptions
  readonly #pool: Pool
  readonly #watch: Pool
  #position = -1
  #soughtPosition = 0
  #unnamedPolls = 0
  #trouble: string | undefined
  #timer: NodeJS.Timeout | undefined
  #pauseMs = pollIntervalMs
  #isPolling = false
  #isClosed = false

  constructor(options: ReplicaOptions) {
    const { open, openWatch, size, maxWaiting, timeline, newCommits } = options
    this.#options = options
    this.#watch = new Pool({ open: openWatch, size: 1, maxWaiting, tries: 1 })
    // The position is read before the snapshot, which is taken after the COMMIT.
    const firstQueries = () => [begin.with(noInputs), timeline.replayed, commit.with(noInputs), newCommits()]
    this.#pool = new Pool({ open, size, maxWaiting, firstQueries, tries: 1 })
    void this.#poll()
  }

  /** The position up to which it had replayed the WAL at the last poll; -1: it is not available. */
  get position(): number {
    return this.#position
  }

  get isUp(): boolean {
    return this.#trouble === undefined
  }

  /**
   * Runs the queries in one snapshot. Undefined if the snapshot precedes `requiredPosition`, or contains commits to `reads`
   * that the last check of the primary did not see. Rejects with an `ApiError`.
   */
  async read(
    queries: readonly BoundStatement[],
    { reads, requiredPosition, ...options }: ReplicaRead,
  ): Promise<readonly DataRows[] | undefined> {
    const [, replayed, , newCommits, ...rows] = await this.#pool.ask(queries, options)
    const position = positionIn(replayed?.[0])
    this.#position = this.isUp && position >= 0 ? Math.max(position, this.#position) : -1
    return position >= requiredPosition && !isTouched(newCommits?.[0], reads) ? rows : undefined
  }

  /** Polls the position more often until it reaches this one. */
  seek(position: number): void {
    if (position === Number.POSITIVE_INFINITY) return
    this.#soughtPosition = Math.max(position, this.#soughtPosition)
    if (this.isUp && !this.#isPolling && this.#pauseMs === pollIntervalMs) void this.#poll()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await Promise.all([this.#pool.close(), this.#watch.close()])
  }

  async #poll(): Promise<void> {
    clearTimeout(this.#timer)
    this.#isPolling = true
    const previous = this.#position
    const trouble = await this.#locate()
    this.#isPolling = false
    if (this.#isClosed) return
    this.#settle(trouble)
    this.#pauseMs = this.#pauseAfter(previous)
    this.#timer = setTimeout(() => void this.#poll(), this.#pauseMs)
  }

  /** Reads the position. Returns the reason if there is none. */
  async #locate(): Promise<string | undefined> {
    const { timeline } = this.#options
    try {
      await timeline.learn()
    } catch {
      return 'the timeline of the primary cannot be read'
    }
    try {
      const [rows] = await this.#watch.ask([timeline.replayed])
      this.#position = positionIn(rows?.[0])
    } catch {
      return 'it does not answer'
    }
    this.#unnamedPolls = this.#position === -1 ? this.#unnamedPolls + 1 : 0
    return this.#unnamedPolls > maxUnnamedPolls ? 'it is not a standby of the primary' : undefined
  }

  #settle(trouble: string | undefined): void {
    if (trouble !== undefined) {
      this.#position = -1
      this.#pool.disconnect()
    }
    if (trouble === this.#trouble) return
    this.#trouble = trouble
    this.#options.onChange(trouble)
  }

  /** While it makes no progress, the pause doubles. */
  #pauseAfter(previous: number): number {
    if (!this.isUp || this.#position >= this.#soughtPosition) return pollIntervalMs
    if (this.#position > previous || this.#pauseMs === pollIntervalMs) return shortPollIntervalMs
    if (2 * this.#pauseMs < pollIntervalMs) return 2 * this.#pauseMs
    this.#soughtPosition = 0
    return pollIntervalMs
  }
}

function positionIn(row: DataRow | undefined): number {
  return typeof row?.[0] === 'number' ? row[0] : -1
}
