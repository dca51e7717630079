/** Reads in progress: identical reads with the same stamp share one query, whoever sends them. */
import type { Answer, AnswerKey } from './answers.ts'
import type { AnswerQuery, ReadsInFlight } from './in-flight.ts'
import { WaitingCallers } from './waiting-callers.ts'

interface JoinedRead {
  readonly stamp: number
  readonly waitingCallers: WaitingCallers
  readonly answer: Promise<Answer>
}

export class JoinedReads implements ReadsInFlight {
  readonly #reads = new Map<AnswerKey, JoinedRead>()

  get(key: AnswerKey, stamp: number, caller: string): Promise<Answer> | undefined {
    const read = this.#reads.get(key)
    if (read?.stamp !== stamp) return undefined
    read.waitingCallers.join(caller)
    return read.answer
  }

  add(key: AnswerKey, stamp: number, caller: string, query: AnswerQuery): Promise<Answer> {
    const waitingCallers = new WaitingCallers(caller)
    const read = { stamp, waitingCallers, answer: query({ waitingCallers }) }
    this.#reads.set(key, read)
    const remove = (): void => {
      if (this.#reads.get(key) === read) this.#reads.delete(key)
    }
    read.answer.then(remove, remove)
    return read.answer
  }
}
