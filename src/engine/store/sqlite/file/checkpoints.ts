/**
 * Checkpoints copy the log into the database file (https://sqlite.org/wal.html, 2.2). SQLite's automatic checkpoints do not
 * report failures. When a sync of the file fails, the operating system may drop the pages that it could not write, and a
 * later sync succeeds all the same (https://wiki.postgresql.org/wiki/Fsync_Errors). So pages that were copied before the
 * failed sync must be copied again before their log may be overwritten.
 */
import type { Connection } from '../connection.ts'
import { isSyncFailure } from '../failure.ts'

/** The length of the log, in pages, from which on a checkpoint runs: SQLite's default. */
const checkpointPages = 1000
/** The pause after a failure, in milliseconds. Doubled each time. */
const minPauseMs = 1000
const maxPauseMs = 30_000

/** Called when checkpoints begin to fail, and when one succeeds again. */
export interface CheckpointListener {
  onFailing(cause: unknown): void
  /** `failures`: how many have failed. */
  onWorking(failures: number): void
}

export interface CheckpointOptions {
  /**
   * Called when pages that an earlier checkpoint copied without a sync may be lost. SQLite copies them again only once no
   * process has the database open.
   */
  readonly onUnsafe: (cause: unknown) => void
  readonly listener?: CheckpointListener | undefined
  /** In milliseconds. */
  readonly clock?: () => number
}

export class Checkpoints {
  readonly #connection: Connection
  readonly #onUnsafe: (cause: unknown) => void
  readonly #listener: CheckpointListener | undefined
  readonly #clock: () => number
  #pausedUntil = Number.NEGATIVE_INFINITY
  #pauseMs = minPauseMs
  /** Since the last one that succeeded. */
  #failures = 0
  readonly counts = { failedCheckpoints: 0 }

  constructor(connection: Connection, options: CheckpointOptions) {
    const { onUnsafe, listener, clock = () => performance.now() } = options
    this.#connection = connection
    this.#onUnsafe = onUnsafe
    this.#listener = listener
    this.#clock = clock
  }

  /** For the operator; undefined: none. */
  get trouble(): string | undefined {
    if (this.#failures === 0) return undefined
    return 'The log of the database grows: it cannot be copied into the database file, because the disk fails or is full.'
  }

  /** Only outside a transaction. Never throws: the commit before it has succeeded. */
  run(): void {
    if (this.#clock() < this.#pausedUntil) return
    try {
      if (this.#connection.logState().pages >= checkpointPages) this.#connection.checkpoint()
      this.#onSuccess()
    } catch (cause) {
      this.#onFailure(cause)
    }
  }

  #onSuccess(): void {
    this.#pauseMs = minPauseMs
    if (this.#failures === 0) return
    this.#listener?.onWorking(this.#failures)
    this.#failures = 0
  }

  #onFailure(cause: unknown): void {
    this.counts.failedCheckpoints++
    if (++this.#failures === 1) this.#listener?.onFailing(cause)
    this.#pausedUntil = this.#clock() + this.#pauseMs
    this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs)
    // If no page had been copied before, the next checkpoint copies all pages again, and its sync covers them.
    if (!isSyncFailure(cause) || !this.#mayHaveCopied()) return
    this.#pausedUntil = Number.POSITIVE_INFINITY
    this.#onUnsafe(cause)
  }

  #mayHaveCopied(): boolean {
    try {
      return this.#connection.logState().copied > 0
    } catch {
      return true
    }
  }
}
