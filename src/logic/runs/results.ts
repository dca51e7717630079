/** Decides what becomes of a run: done, tried again, given up. */
import { maxAttempts, retryDelayMs } from '../../events/consumer/back-off.ts'
import type { Verdict } from '../../events/consumer/scheduler.ts'
import type { Track } from '../reactions/track.ts'
import type { Outcome } from './attempt.ts'
import type { PushGiven } from './place.ts'
import { buries, type Run, redated, removes, storedRun, stores } from './run.ts'

/** Of attempts, by what became of them. */
export interface RunCounts {
  succeeded: number
  /** Failed, and to be tried again. */
  retried: number
  /** Given up: dead letters. */
  failed: number
  /** Dropped by an operator. */
  skipped: number
}

export interface ResultsParts {
  readonly trackOf: (reaction: string) => Track | undefined
  /** When a job is due next by its schedule. */
  readonly nextOf: (job: string, after: number) => number | undefined
  /** A run of a job is not in memory any more. */
  readonly forget: (run: Run) => void
  readonly push: (...given: PushGiven) => void
  /** In milliseconds since 1970. */
  readonly now: () => number
  /** From 0 to below 1. */
  readonly random: () => number
  readonly counts: RunCounts
  readonly onFailed: (run: Run, error: string, again: number | undefined) => void
}

/** Reactions and jobs that cause each other in a longer chain are given up: it would never end. */
export const maxDepth = 8

export class Results {
  readonly #parts: ResultsParts

  constructor(parts: ResultsParts) {
    this.#parts = parts
  }

  settle(run: Run, outcome: Exclude<Outcome, { kind: 'interrupted' }>): Verdict<Run> {
    if (outcome.kind === 'failed') return this.#fail(run, outcome.error)
    this.#parts.counts.succeeded++
    return this.#done(run, true, [...removes(run), ...outcome.later])
  }

  /** An operator wants it dropped. */
  skip(run: Run): Verdict<Run> {
    this.#parts.counts.skipped++
    return this.#done(run, true, removes(run))
  }

  isEndless({ depth }: Run): boolean {
    return depth >= maxDepth
  }

  /** Gives up a run that reactions have caused which they themselves have caused. */
  endless(run: Run): Verdict<Run> {
    return this.#bury(
      run,
      `It was caused by itself: ${maxDepth} reactions or jobs before it, each caused by the one before. Let the reaction write nothing that it reacts to, e.g. by looking at \`event.changed\`.`,
    )
  }

  #fail(failed: Run, error: string): Verdict<Run> {
    const { now, random, counts, onFailed } = this.#parts
    const run: Run = { ...failed, attempts: failed.attempts + 1, error }
    const at = Math.round(now() + retryDelayMs(run.attempts, random()))
    if (run.attempts >= maxAttempts) return this.#bury(run, error)
    if (this.#isFollowed(run, at)) return this.#bury(run, `${error} (not tried again: the next run is due)`)
    counts.retried++
    onFailed(run, error, at)
    return run.kind === 'reaction' ? this.#waitUntil(run, at) : this.#redate(run, at)
  }

  /** Whether the schedule has its next run before this one would be tried again. */
  #isFollowed(run: Run, at: number): boolean {
    if (run.kind !== 'job' || run.scheduledFor === undefined) return false
    const next = this.#parts.nextOf(run.name, Date.parse(run.scheduledFor))
    return next !== undefined && next <= at
  }

  #waitUntil(run: Run & { kind: 'reaction' }, dueAt: number): Verdict<Run> {
    const again = storedRun({ ...run, dueAt })
    this.#parts.trackOf(run.name)?.failed(run)
    this.#parts.push([stores(again)])
    return { succeeded: false, again }
  }

  /** It is found again when it is due: until then it keeps no other run of the job waiting. */
  #redate(run: Run & { kind: 'job' }, dueAt: number): Verdict<Run> {
    this.#parts.push([...removes(run), stores(redated(run, dueAt))], () => this.#parts.forget(run))
    return { succeeded: false, again: undefined }
  }

  #bury(run: Run, error: string): Verdict<Run> {
    this.#parts.counts.failed++
    this.#parts.onFailed(run, error, undefined)
    return this.#done(run, false, buries(run, error, this.#parts.now()))
  }

  #done(run: Run, succeeded: boolean, steps: PushGiven[0]): Verdict<Run> {
    if (run.kind === 'reaction') this.#parts.trackOf(run.name)?.done(run)
    this.#parts.push(steps, () => this.#parts.forget(run))
    return { succeeded, again: undefined }
  }
}
