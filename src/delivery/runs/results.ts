/** Handles the outcome of an attempt: the run is done, retried or given up. */
import type { EpochMs } from '../../base/epoch-ms.ts'
import {
  deadLetterStep,
  type LogicRun,
  removeSteps,
  rescheduled,
  storedRun,
  storeStep,
} from '../../engine/logic/run.ts'
import { maxAttempts, retryDelayMs } from '../consumer/back-off.ts'
import type { Verdict } from '../consumer/scheduler.ts'
import type { RunOutcome } from './attempt.ts'
import type { PushArguments } from './position.ts'
import type { ReactionProgress } from './reactions/progress.ts'

/** Attempts by result. */
export interface RunCounts {
  succeeded: number
  /** Failed, and will be retried. */
  retried: number
  /** Given up as dead letters. */
  failed: number
  /** Skipped by an operator. */
  skipped: number
}

export interface RunResultsParts {
  readonly progressOf: (reaction: string) => ReactionProgress | undefined
  /** When a job is due next by its schedule. */
  readonly nextOf: (job: string, after: number) => number | undefined
  /** Called when a run of a job leaves memory. */
  readonly forget: (run: LogicRun) => void
  readonly push: (...args: PushArguments) => void
  readonly now: () => EpochMs
  /** A random number from 0 to below 1. */
  readonly random: () => number
  readonly counts: RunCounts
  readonly onFailed: (run: LogicRun, error: string, retryAt: number | undefined, thrown?: unknown) => void
}

/** Longer chains of reactions and jobs that start each other are ended: they would probably be endless. */
export const maxDepth = 8

/** A run that ended the process so often is a dead letter: it would probably end it again. */
export const maxProcessEnds = 3

export class RunResults {
  readonly #parts: RunResultsParts

  constructor(parts: RunResultsParts) {
    this.#parts = parts
  }

  settle(run: LogicRun, outcome: Exclude<RunOutcome, { kind: 'interrupted' }>): Verdict<LogicRun> {
    if (outcome.kind === 'failed') return this.#fail(run, outcome.error, outcome.thrown)
    this.#parts.counts.succeeded++
    return this.#done(run, true, [...this.#removeSteps(run), ...outcome.startedJobs])
  }

  /** Stores that the process ended during the last attempt, for the run to start again. */
  processEnded(lastRun: LogicRun): Verdict<LogicRun> {
    const processEnds = (lastRun.processEnds ?? 0) + 1
    const error = 'The process ended during the run.'
    const run = storedRun({ ...lastRun, attempts: lastRun.attempts + 1, error, processEnds })
    if (processEnds >= maxProcessEnds)
      return this.#giveUp(run, `${error} (not tried again: it did ${maxProcessEnds} times)`)
    const { counts, now, onFailed } = this.#parts
    counts.retried++
    onFailed(run, error, now())
    if (run.kind === 'reaction') this.#parts.progressOf(run.name)?.postpone(run)
    const { promise: stored, resolve } = Promise.withResolvers<void>()
    this.#parts.push([storeStep(run)], resolve)
    return { succeeded: false, retry: run, stored }
  }

  /** Ends a run that an operator skips. */
  skip(run: LogicRun): Verdict<LogicRun> {
    this.#parts.counts.skipped++
    return this.#done(run, true, this.#removeSteps(run))
  }

  isTooDeep({ depth }: LogicRun): boolean {
    return depth >= maxDepth
  }

  /** Gives up a run because its chain is too long. */
  giveUpChain(run: LogicRun): Verdict<LogicRun> {
    return this.#giveUp(
      run,
      `It is at the end of a chain of ${maxDepth} reactions or jobs, each started by the one before. Check \`event.changed\`, so that a reaction does not react to its own writes.`,
    )
  }

  #fail(failedRun: LogicRun, error: string, thrown: unknown): Verdict<LogicRun> {
    const { now, random, counts, onFailed } = this.#parts
    const attempts = failedRun.attempts + 1
    const run: LogicRun = { ...failedRun, attempts, error, processEnds: undefined }
    const retryAt = Math.round(now() + retryDelayMs(run.attempts, random()))
    if (run.attempts >= maxAttempts) return this.#giveUp(run, error, thrown)
    if (this.#isSupersededBefore(run, retryAt))
      return this.#giveUp(run, `${error} (not tried again: the next run is due)`, thrown)
    counts.retried++
    onFailed(run, error, retryAt, thrown)
    return run.kind === 'reaction' ? this.#waitUntil(run, retryAt) : this.#reschedule(run, retryAt)
  }

  /** Whether the next scheduled run is due before the retry would be. */
  #isSupersededBefore(run: LogicRun, retryAt: number): boolean {
    if (run.kind !== 'job' || run.scheduledFor === undefined) return false
    const next = this.#parts.nextOf(run.name, Date.parse(run.scheduledFor))
    return next !== undefined && next <= retryAt
  }

  #waitUntil(run: LogicRun & { kind: 'reaction' }, dueAt: number): Verdict<LogicRun> {
    const retry = storedRun({ ...run, dueAt })
    this.#parts.progressOf(run.name)?.postpone(run)
    this.#parts.push([storeStep(retry)])
    return { succeeded: false, retry }
  }

  /** Stores the retry and frees its place in memory, so that other runs of the job do not wait for it. */
  #reschedule(run: LogicRun & { kind: 'job' }, dueAt: number): Verdict<LogicRun> {
    this.#parts.push([...removeSteps(run), storeStep(rescheduled(run, dueAt))], () => this.#parts.forget(run))
    return { succeeded: false, retry: undefined }
  }

  #giveUp(run: LogicRun, error: string, thrown?: unknown): Verdict<LogicRun> {
    this.#parts.counts.failed++
    this.#parts.onFailed(run, error, undefined, thrown)
    const steps = [...this.#removeSteps(run), deadLetterStep(run, error, this.#parts.now())]
    return this.#done(run, false, steps)
  }

  /** The steps that delete the run's record, even if it was stored while the run was in progress. */
  #removeSteps(run: LogicRun): PushArguments[0] {
    const isStored = run.kind === 'reaction' && this.#parts.progressOf(run.name)?.isStored(run) === true
    return removeSteps(isStored ? storedRun(run) : run)
  }

  #done(run: LogicRun, succeeded: boolean, steps: PushArguments[0]): Verdict<LogicRun> {
    if (run.kind === 'reaction') this.#parts.progressOf(run.name)?.complete(run)
    const { promise: stored, resolve } = Promise.withResolvers<void>()
    this.#parts.push(steps, () => {
      this.#parts.forget(run)
      resolve()
    })
    return { succeeded, retry: undefined, stored }
  }
}
