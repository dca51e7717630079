/** Reads in progress: equal reads with the same stamp share one query, whoever sends them. */
import type { Answer, AnswerKey } from './answers.ts'
import { Audience } from './audience.ts'
import type { AnswerQuery, ReadsInFlight } from './in-flight.ts'

interface JoinedRead {
  readonly stamp: number
  readonly audience: Audience
  readonly answer: Promise<Answer>
}

export class JoinedReads implements ReadsInFlight {
  readonly #reads = new Map<AnswerKey, JoinedRead>()

  get(key: AnswerKey, stamp: number, caller: string): Promise<Answer> | undefined {
    const read = this.#reads.get(key)
    if (read?.stamp !== stamp) return undefined
    read.audience.join(caller)
    return read.answer
  }

  add(key: AnswerKey, stamp: number, caller: string, query: AnswerQuery): Promise<Answer> {
    const audience = new Audience(caller)
    const read = { stamp, audience, answer: query({ audience }) }
    this.#reads.set(key, read)
    const remove = (): void => {
      if (this.#reads.get(key) === read) this.#reads.delete(key)
    }
    read.answer.then(remove, remove)
    return read.answer
  }
}
