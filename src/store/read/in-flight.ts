/** Reads that the database has not answered yet: whoever asks the same meanwhile, with nothing changed, gets the same answer. */
import type { Answer, Key } from './answers.ts'

/** Asks the database. `signal`: the answer is not needed any more. */
export type Later = (signal: AbortSignal | undefined) => Promise<Answer>

interface Read {
  readonly caller: string
  readonly stamp: number
  readonly answer: Promise<Answer>
}

export class InFlight {
  readonly #reads = new Map<Key, Read>()

  /** The answer to the same caller's equal read. */
  get(key: Key, stamp: number, caller: string): Promise<Answer> | undefined {
    const read = this.#reads.get(key)
    return read?.stamp === stamp && read.caller === caller ? read.answer : undefined
  }

  /**
   * Another caller's equal read may wait behind many of that caller's own: this one is asked for too, and the first answer
   * is that of both.
   */
  add(key: Key, stamp: number, caller: string, ask: Later): Promise<Answer> {
    const other = this.#reads.get(key)
    const answer = other?.stamp === stamp ? firstOf(ask, other.answer) : ask(undefined)
    const read = { caller, stamp, answer }
    this.#reads.set(key, read)
    const over = (): void => {
      if (this.#reads.get(key) === read) this.#reads.delete(key)
    }
    answer.then(over, over)
    return answer
  }
}

function firstOf(ask: Later, other: Promise<Answer>): Promise<Answer> {
  const answered = new AbortController()
  const own = ask(answered.signal)
  const answer = Promise.any([own, other]).catch(() => own)
  const abort = (): void => answered.abort()
  answer.then(abort, () => {})
  return answer
}
