/** One hot standby of the primary. It answers a read if it is known to have exactly the same data. */
import { sql } from '../../sql/writer.ts'
import { noInputs } from '../../values.ts'
import type { Connection } from '../connections/connection.ts'
import { Pool } from '../connections/pool.ts'
import { type Query, type Row, type Rows, statementOf } from '../connections/statement.ts'
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
  /** Asks for commits that were not visible on the primary at the last check. */
  readonly news: () => Query
  /** Called with the reason why it is no longer used; undefined: it is used again. */
  readonly onChange: (trouble: string | undefined) => void
}

/** How often to ask for its position, in milliseconds; more often while a read waits for a later one. */
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
  #place = -1
  #wanted = 0
  #unnamedPolls = 0
  #trouble: string | undefined
  #timer: NodeJS.Timeout | undefined
  #pauseMs = pollIntervalMs
  #isAsking = false
  #isClosed = false

  constructor(options: ReplicaOptions) {
    const { open, openWatch, size, maxWaiting, timeline, news } = options
    this.#options = options
    this.#watch = new Pool({ open: openWatch, size: 1, maxWaiting, tries: 1 })
    // The position is read before the snapshot, which is taken after the COMMIT.
    const before = () => [begin.with(noInputs), timeline.replayed, commit.with(noInputs), news()]
    this.#pool = new Pool({ open, size, maxWaiting, before, tries: 1 })
    void this.#ask()
  }

  /** Up to where it had replayed the WAL when it was last asked; -1: it is not available. */
  get place(): number {
    return this.#place
  }

  get isUp(): boolean {
    return this.#trouble === undefined
  }

  /**
   * Runs the queries in one snapshot. Undefined if that is before `need`, or contains commits to `reads` that the last check of
   * the primary did not see. Rejects with an `ApiError`.
   */
  async read(
    queries: readonly Query[],
    reads: readonly string[],
    need: number,
  ): Promise<readonly Rows[] | undefined> {
    const [, replayed, , news, ...rows] = await this.#pool.ask(queries)
    const place = placeIn(replayed?.[0])
    this.#place = this.isUp && place >= 0 ? Math.max(place, this.#place) : -1
    return place >= need && !isTouched(news?.[0], reads) ? rows : undefined
  }

  /** Asks for its position more often until it reaches `place`. */
  seek(place: number): void {
    if (place === Number.POSITIVE_INFINITY) return
    this.#wanted = Math.max(place, this.#wanted)
    if (this.isUp && !this.#isAsking && this.#pauseMs === pollIntervalMs) void this.#ask()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await Promise.all([this.#pool.close(), this.#watch.close()])
  }

  async #ask(): Promise<void> {
    clearTimeout(this.#timer)
    this.#isAsking = true
    const before = this.#place
    const trouble = await this.#find()
    this.#isAsking = false
    if (this.#isClosed) return
    this.#settle(trouble)
    this.#pauseMs = this.#pauseAfter(before)
    this.#timer = setTimeout(() => void this.#ask(), this.#pauseMs)
  }

  /** Finds its position. Returns the reason if it has none. */
  async #find(): Promise<string | undefined> {
    const { timeline } = this.#options
    try {
      await timeline.learn()
    } catch {
      return 'the primary does not tell which log it writes'
    }
    try {
      const [rows] = await this.#watch.ask([timeline.replayed])
      this.#place = placeIn(rows?.[0])
    } catch {
      return 'it does not answer'
    }
    this.#unnamedPolls = this.#place === -1 ? this.#unnamedPolls + 1 : 0
    return this.#unnamedPolls > maxUnnamedPolls ? 'it is no standby of the primary' : undefined
  }

  #settle(trouble: string | undefined): void {
    if (trouble !== undefined) {
      this.#place = -1
      this.#pool.lose()
    }
    if (trouble === this.#trouble) return
    this.#trouble = trouble
    this.#options.onChange(trouble)
  }

  /** While it makes no progress, the pause doubles. */
  #pauseAfter(before: number): number {
    if (!this.isUp || this.#place >= this.#wanted) return pollIntervalMs
    if (this.#place > before || this.#pauseMs === pollIntervalMs) return shortPollIntervalMs
    if (2 * this.#pauseMs < pollIntervalMs) return 2 * this.#pauseMs
    this.#wanted = 0
    return pollIntervalMs
  }
}

function placeIn(row: Row | undefined): number {
  return typeof row?.[0] === 'number' ? row[0] : -1
}
