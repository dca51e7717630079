/**
 * The runs that may have been in progress when the process of the former holder ended. One of them may have ended it, so they
 * start one at a time, each only once a mark is stored. The first start of a run needs no mark, and costs no commit.
 */
import type { EpochMs } from '../../base/epoch-ms.ts'
import type { LogicRun } from '../../engine/logic/run.ts'

interface SuspectsParts {
  /** The maximum number of runs that were in progress. */
  readonly max: number
  /** The last event of the log, and the time, when this session began. */
  readonly event: number
  readonly now: EpochMs
}

export class Suspects {
  readonly #parts: SuspectsParts
  readonly #waiting = new Set<string>()
  #count = 0
  /** The run that is marked and has not ended. */
  #current: string | undefined

  constructor(parts: SuspectsParts) {
    this.#parts = parts
  }

  /** What to do with a run that is about to start. */
  next(run: LogicRun): 'start' | 'mark' | 'wait' {
    if (run.id === this.#current || !this.#isSuspect(run)) return 'start'
    if (this.#current !== undefined) return 'wait'
    this.#waiting.delete(run.id)
    this.#current = run.id
    return 'mark'
  }

  /** Called when an attempt has ended. */
  end({ id }: LogicRun): void {
    if (id === this.#current) this.#current = undefined
  }

  /** The runs that start first now are those that started first then. */
  #isSuspect({ id, event, dueAt }: LogicRun): boolean {
    if (this.#waiting.has(id)) return true
    const { max, event: last, now } = this.#parts
    if (this.#count >= max || dueAt > now || (event ?? 0) > last) return false
    this.#count++
    this.#waiting.add(id)
    return true
  }
}
