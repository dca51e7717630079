/**
 * Bounds the size of an answer while SQLite makes it. Statements call a function with the size of each long value
 * (`Dialect.counted`). The function throws when there are too many bytes, which ends the statement but leaves the connection
 * usable. The last value may exceed the limit: the row after a page, which is not part of the answer, is read as well.
 */
import type { DatabaseSync } from 'node:sqlite'
import { answerSizeFunction } from '../../sql/answer-size-function.ts'

class AnswerTooLargeError extends Error {}

/** Shared: creating an error with its stack trace for each read would be slow. */
const tooLarge = new AnswerTooLargeError('the answer is too large')

const unlimited = Number.POSITIVE_INFINITY

export class AnswerSize {
  #leftBytes = unlimited

  constructor(database: DatabaseSync) {
    database.function(answerSizeFunction, (bytes: unknown) => {
      if (this.#leftBytes < 0) throw tooLarge
      this.#leftBytes -= Number(bytes)
      return 1
    })
  }

  /** Returns the result of `work`, which reads an answer; undefined if the answer is too large. Within other work, that is not bounded meanwhile. */
  within<T>(maxBytes: number, work: () => T): T | undefined {
    const outerLeftBytes = this.#leftBytes
    this.#leftBytes = maxBytes
    try {
      return work()
    } catch (cause) {
      if (cause === tooLarge) return undefined
      throw cause
    } finally {
      this.#leftBytes = outerLeftBytes
    }
  }
}
