/**
 * Removes the frames that a failed COMMIT may have left at the end of the log. If its sync failed, the log ends with the frames
 * of the transaction, with valid checksums. The next process that opens the database would apply them, although the change was
 * refused (https://sqlite.org/fileformat2.html#walformat; wal.c, sqlite3WalFrames). The next commit overwrites the first of
 * these frames. The checksums are cumulative, so those of the other frames become invalid. So once an empty commit is
 * durable, the failed one is certainly undone.
 */
import type { Connection } from '../connection.ts'

/** The pause before the next attempt, in milliseconds. Doubled each time. */
const minPauseMs = 50
const maxPauseMs = 2000

export class LogTail {
  readonly #connection: Connection
  /** Called when the next attempt is due. */
  readonly #onDue: () => void
  #failure: unknown
  #pauseMs = minPauseMs
  #timer: NodeJS.Timeout | undefined

  constructor(connection: Connection, onDue: () => void) {
    this.#connection = connection
    this.#onDue = onDue
  }

  /** The failure after which the content of the log is unknown; undefined: the log contains exactly the acknowledged commits. */
  get failure(): unknown {
    return this.#failure
  }

  /**
   * Tries to ensure that a failed COMMIT is undone. Returns whether it succeeded. If not, `onDue` is called repeatedly until
   * a later call succeeds. `waits`: whether to wait for another process's write.
   */
  settle(cause: unknown, waits: boolean): boolean {
    clearTimeout(this.#timer)
    try {
      this.#connection.commitEmpty(waits)
      this.#failure = undefined
      this.#pauseMs = minPauseMs
      return true
    } catch {
      this.#failure = cause
      this.#timer = setTimeout(this.#onDue, this.#pauseMs).unref()
      this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs)
      return false
    }
  }

  /** Cancels the next attempt. */
  stop(): void {
    clearTimeout(this.#timer)
  }
}
