/**
 * What a failed COMMIT may have left at the end of the log. After a sync that failed, the frames of the transaction
 * stand there with valid checksums: whoever opens the database first would apply them, and the change that was refused
 * would be there (https://sqlite.org/fileformat2.html#walformat; wal.c, sqlite3WalFrames). The next commit overwrites
 * the first of them, and the checksums of the rest, which build on each other, fit no more. So once a commit that
 * changes nothing is durable, the failed one is surely gone.
 */
import type { Connection } from '../connection.ts'

/** How long to wait before the next try, in milliseconds: doubled each time. */
const minPauseMs = 50
const maxPauseMs = 2000

export class LogTail {
  readonly #connection: Connection
  /** Called when it is time for another try. */
  readonly #onDue: () => void
  #failure: unknown
  #pauseMs = minPauseMs
  #timer: NodeJS.Timeout | undefined

  constructor(connection: Connection, onDue: () => void) {
    this.#connection = connection
    this.#onDue = onDue
  }

  /** Why nobody knows what the log holds; undefined: it holds what was acknowledged, and nothing else. */
  get failure(): unknown {
    return this.#failure
  }

  /**
   * Makes sure that nothing of a failed COMMIT is left, now. Returns whether it is sure. If not, `onDue` is called
   * until a later call succeeds. `waits`: for another process's write.
   */
  settle(cause: unknown, waits: boolean): boolean {
    clearTimeout(this.#timer)
    try {
      this.#connection.mark(waits)
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

  /** No more tries. */
  stop(): void {
    clearTimeout(this.#timer)
  }
}
