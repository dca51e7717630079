/**
 * The runs that may have been in progress when the process of the former holder ended. One of them may have ended it, so they
 * start one at a time, each only once a mark is stored. The first start of a run needs no mark, and costs no commit.
 */
import type { EpochMs } from '../../base/epoch-ms.ts'
import type { LogicRun } from '../../engine/logic/run.ts'
import { retryDelayMs } from '../consumer/back-off.ts'
import { maxProcessEnds } from './results.ts'

interface SuspectsParts {
  /** How many runs of one reaction or job were in progress at most; 0: no process has ended. */
  readonly max: number
  /** The last event of the log when this session began. */
  readonly event: number
  /** The run that this session has marked already: an outage of the database, which it may have ended with, ended no process. */
  readonly marked: string | undefined
  readonly now: () => EpochMs
  readonly random: () => number
}

interface Suspect {
  readonly name: string
  readonly startsAt: EpochMs
}

export class Suspects {
  readonly #parts: SuspectsParts
  readonly #beganAt: EpochMs
  /** By the ids of the runs. */
  readonly #suspects = new Map<string, Suspect>()
  /** Other runs that were due. They start once no run of their name is a suspect: one of them may have been in progress. */
  readonly #others = new Set<string>()
  /** By name; separately for retries, many of which may have become due since. */
  readonly #counts = new Map<string, number>()
  readonly #running = new Set<string>()
  /** The run that is marked and has not ended. */
  #current: string | undefined
  /** A run during which processes have ended twice: its next attempt decides, so it runs alone. */
  #alone: string | undefined

  constructor(parts: SuspectsParts) {
    this.#parts = parts
    this.#beganAt = parts.now()
  }

  get isOver(): boolean {
    return this.#suspects.size === 0
  }

  /** Called with each run before it may start, in the order in which they started before the process ended. */
  note({ id, name, event, dueAt, attempts, processEnds = 0 }: LogicRun): void {
    const { max, event: last, marked, now, random } = this.#parts
    if (max === 0 || dueAt > this.#beganAt || (event ?? 0) > last) return
    if (this.#suspects.has(id) || this.#others.has(id)) return
    const key = attempts > 0 ? `${name}/retries` : name
    const count = this.#counts.get(key) ?? 0
    if (processEnds === 0 && count >= max) {
      this.#others.add(id)
      return
    }
    this.#counts.set(key, count + 1)
    // A single end of the process, as by a crash of the machine, delays no run.
    const isFirstOrLast = processEnds === 0 || processEnds + 1 >= maxProcessEnds
    const delayMs = isFirstOrLast ? 0 : retryDelayMs(processEnds, random())
    this.#suspects.set(id, { name, startsAt: now() + delayMs })
    if (id !== marked) return
    this.#current = id
    if (processEnds + 1 >= maxProcessEnds) this.#alone = id
  }

  /** What to do with a run that is about to start. */
  next(run: LogicRun): 'start' | 'mark' | 'wait' {
    const { id } = run
    if (this.#alone !== undefined && this.#alone !== id) return 'wait'
    const suspect = this.#suspects.get(id)
    if (suspect && id !== this.#current) return this.#isTurn(run, suspect) ? 'mark' : 'wait'
    if (this.#isBehindSuspects(run)) return 'wait'
    this.#running.add(id)
    return 'start'
  }

  /** Called when an attempt has ended. */
  end({ id }: LogicRun): void {
    this.#running.delete(id)
    this.#others.delete(id)
    this.#suspects.delete(id)
    if (id === this.#current) this.#current = undefined
    if (id === this.#alone) this.#alone = undefined
  }

  #isBehindSuspects({ id, name }: LogicRun): boolean {
    return this.#others.has(id) && [...this.#suspects.values()].some(suspect => suspect.name === name)
  }

  #isTurn({ id, processEnds = 0 }: LogicRun, { startsAt }: Suspect): boolean {
    if (this.#current !== undefined || this.#parts.now() < startsAt) return false
    // The mark of one more end gives it up.
    const isDeciding = processEnds === maxProcessEnds - 2
    if (isDeciding) this.#alone = id
    if (isDeciding && this.#running.size > 0) return false
    this.#current = id
    return true
  }
}
