/** Reads in progress: an equal read with the same stamp shares the answer instead of querying the database again. */
import type { Answer, AnswerKey } from './answers.ts'

/** Queries the database. `signal`: aborted when the answer is no longer needed. */
export type AnswerQuery = (signal: AbortSignal | undefined) => Promise<Answer>

interface RunningRead {
  readonly caller: string
  readonly stamp: number
  readonly answer: Promise<Answer>
}

export class InFlight {
  readonly #reads = new Map<AnswerKey, RunningRead>()

  /** The answer to an equal read of the same caller. */
  get(key: AnswerKey, stamp: number, caller: string): Promise<Answer> | undefined {
    const read = this.#reads.get(key)
    return read?.stamp === stamp && read.caller === caller ? read.answer : undefined
  }

  /**
   * An equal read of another caller may be queued behind many reads of that caller. So this read is sent to the database
   * as well, and the first answer serves both.
   */
  add(key: AnswerKey, stamp: number, caller: string, query: AnswerQuery): Promise<Answer> {
    const other = this.#reads.get(key)
    const answer = other?.stamp === stamp ? firstOf(query, other.answer) : query(undefined)
    const read = { caller, stamp, answer }
    this.#reads.set(key, read)
    const remove = (): void => {
      if (this.#reads.get(key) === read) this.#reads.delete(key)
    }
    answer.then(remove, remove)
    return answer
  }
}

function firstOf(query: AnswerQuery, other: Promise<Answer>): Promise<Answer> {
  const obsolete = new AbortController()
  const ownAnswer = query(obsolete.signal)
  const answer = Promise.any([ownAnswer, other]).catch(() => ownAnswer)
  const abort = (): void => obsolete.abort()
  answer.then(abort, () => {})
  return answer
}
