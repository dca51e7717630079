/**
 * Checkpoints: moves the log into the database file (https://sqlite.org/wal.html, 2.2). SQLite would do so by itself
 * and say nothing of a failure. After a sync of the file that failed, the system may have dropped pages that it could
 * not write, and a later sync succeeds all the same (https://wiki.postgresql.org/wiki/Fsync_Errors). So pages that
 * were copied before that sync must be copied again, before the log that holds them may be overwritten.
 */
import type { Connection } from '../connection.ts'
import { isSyncFailure } from '../failure.ts'

/** As many pages in the log as SQLite itself lets there be. */
const checkpointPages = 1000
/** How long to wait after a failure, in milliseconds: doubled each time. */
const minPauseMs = 1000
const maxPauseMs = 30_000

export interface CheckpointOptions {
  /**
   * Pages that an earlier checkpoint has copied without a sync may be lost: SQLite does not copy them again before
   * nobody in any process has the database open any more.
   */
  readonly onUnsafe: (cause: unknown) => void
  /** In milliseconds. */
  readonly clock?: () => number
}

export class Checkpoints {
  readonly #connection: Connection
  readonly #onUnsafe: (cause: unknown) => void
  readonly #clock: () => number
  #pausedUntil = Number.NEGATIVE_INFINITY
  #pauseMs = minPauseMs

  constructor(connection: Connection, { onUnsafe, clock = () => performance.now() }: CheckpointOptions) {
    this.#connection = connection
    this.#onUnsafe = onUnsafe
    this.#clock = clock
  }

  /** In words for whoever runs the service. */
  get trouble(): string | undefined {
    if (this.#pauseMs === minPauseMs) return undefined
    return 'The log of the database grows: it cannot be moved into its file, because the disk fails or is full.'
  }

  /** Outside of a transaction. Never throws: the commit before it is done. */
  run(): void {
    if (this.#clock() < this.#pausedUntil) return
    try {
      if (this.#connection.log().pages >= checkpointPages) this.#connection.checkpoint()
      this.#pauseMs = minPauseMs
    } catch (cause) {
      this.#failed(cause)
    }
  }

  #failed(cause: unknown): void {
    this.#pausedUntil = this.#clock() + this.#pauseMs
    this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs)
    // Where no page was copied before, the next checkpoint copies all of them again, and its sync covers them.
    if (!isSyncFailure(cause) || !this.#mayHaveCopied()) return
    this.#pausedUntil = Number.POSITIVE_INFINITY
    this.#onUnsafe(cause)
  }

  #mayHaveCopied(): boolean {
    try {
      return this.#connection.log().copied > 0
    } catch {
      return true
    }
  }
}
