/** A reader that counts its reads in the statistics. */
import { type Awaitable, then } from '../../../base/awaitable.ts'
import type { AnyGuardedRead } from '../../plan/guarded.ts'
import type { Answer } from '../read/answers.ts'
import type { QueryStatistics } from './statistics.ts'

interface CountedReader {
  read(plan: never): Awaitable<Answer>
  readonly counts: { readonly hits: number; readonly misses: number }
}

/** `reader` itself if there are no statistics. */
export function withStatistics<R extends CountedReader>(
  reader: R,
  statistics: QueryStatistics | undefined,
): Pick<R, 'read' | 'counts'> {
  if (statistics === undefined) return reader
  const observedReader = new ObservedReader(reader as unknown as AnyReader, statistics)
  return observedReader as unknown as Pick<R, 'read' | 'counts'>
}

interface AnyReader extends CountedReader {
  read(plan: AnyGuardedRead): Awaitable<Answer>
}

/** Answers synchronously if the reader does. */
class ObservedReader implements AnyReader {
  readonly counts: AnyReader['counts']
  readonly #reader: AnyReader
  readonly #statistics: QueryStatistics

  constructor(reader: AnyReader, statistics: QueryStatistics) {
    this.counts = reader.counts
    this.#reader = reader
    this.#statistics = statistics
  }

  read(plan: AnyGuardedRead): Awaitable<Answer> {
    // Portico's own reads are neither counted nor limited.
    if (plan.principal.access.system) return this.#reader.read(plan)
    if (!this.#statistics.isBounded) return this.#readCounted(plan)
    return then(this.#statistics.require(plan), () => this.#readCounted(plan))
  }

  #readCounted(plan: AnyGuardedRead): Awaitable<Answer> {
    const { misses } = this.counts
    const answer = this.#reader.read(plan)
    if (this.counts.misses === misses) return answer
    if (answer instanceof Promise) {
      // The caller awaits the answer itself and handles its failure.
      answer.then(settledAnswer => this.#statistics.recordRun(plan, settledAnswer)).catch(() => {})
    } else this.#statistics.recordRun(plan, answer)
    return answer
  }
}
