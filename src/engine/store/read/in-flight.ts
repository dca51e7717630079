/** Reads in progress: an identical read with the same stamp shares the answer instead of querying the database again. */
import type { Answer, AnswerKey } from './answers.ts'
import type { WaitingCallers } from './waiting-callers.ts'

interface Waiting {
  /** Undefined: the caller alone. */
  readonly waitingCallers?: WaitingCallers
  /** Aborted when the answer is no longer needed. */
  readonly signal?: AbortSignal
}

/** Queries the database. */
export type AnswerQuery = (waiting: Waiting) => Promise<Answer>

export interface ReadsInFlight {
  get(key: AnswerKey, stamp: number, caller: string): Promise<Answer> | undefined
  /** For a read that `get` does not find. */
  add(key: AnswerKey, stamp: number, caller: string, query: AnswerQuery): Promise<Answer>
}

/** The reads with one stamp and one key. */
interface RunningReads {
  readonly stamp: number
  readonly byCaller: Map<string, Promise<Answer>>
}

/** Each caller has its own query. */
export class ReadsByCaller implements ReadsInFlight {
  readonly #reads = new Map<AnswerKey, RunningReads>()

  /** The answer to an identical read of the same caller. */
  get(key: AnswerKey, stamp: number, caller: string): Promise<Answer> | undefined {
    const reads = this.#reads.get(key)
    return reads?.stamp === stamp ? reads.byCaller.get(caller) : undefined
  }

  /**
   * An identical read of another caller may be queued behind many reads of that caller. So this read is sent to the database
   * as well, and the first answer serves both.
   */
  add(key: AnswerKey, stamp: number, caller: string, query: AnswerQuery): Promise<Answer> {
    const reads = this.#readsWith(key, stamp)
    const [other] = reads.byCaller.values()
    const answer = other === undefined ? query({}) : firstOf(query, other)
    reads.byCaller.set(caller, answer)
    const remove = (): void => {
      reads.byCaller.delete(caller)
      if (reads.byCaller.size === 0 && this.#reads.get(key) === reads) this.#reads.delete(key)
    }
    answer.then(remove, remove)
    return answer
  }

  #readsWith(key: AnswerKey, stamp: number): RunningReads {
    const current = this.#reads.get(key)
    if (current?.stamp === stamp) return current
    const reads: RunningReads = { stamp, byCaller: new Map() }
    this.#reads.set(key, reads)
    return reads
  }
}

function firstOf(query: AnswerQuery, other: Promise<Answer>): Promise<Answer> {
  const obsolete = new AbortController()
  const ownAnswer = query({ signal: obsolete.signal })
  const answer = Promise.any([ownAnswer, other]).catch(() => ownAnswer)
  const abort = (): void => obsolete.abort()
  answer.then(abort, () => {})
  return answer
}
