/**
 * A write as a generator of steps: it yields statements and receives their rows. So one algorithm serves SQLite, which
 * answers within the turn of the event loop, and PostgreSQL, which answers after a round trip.
 */
import type { AnswerBound } from '../../plan/answer-bound.ts'
import type { AnyGuardedRead, GuardedWrite } from '../../plan/guarded.ts'
import type { AsyncStep } from '../../plan/transaction.ts'
import type { Inputs, ResultRows, SqlValue } from '../values.ts'
import type { ItemChange } from './event.ts'
import type { WriteResult } from './written.ts'

/**
 * The purpose of a statement that is not a read on the caller's behalf: Portico's own work, a change, or a read of the rows
 * that a change refers to. Row security shows other rows to each.
 */
export type Purpose = 'service' | 'change' | 'references'

export interface StepQuery<S> {
  readonly statement: S
  readonly inputs: Inputs
  readonly purpose?: Purpose
}

/** Statements that may be sent in one round trip, in this order. `undefined` sends nothing and returns no rows. */
export type StepQueries<S> = readonly (StepQuery<S> | undefined)[]

/** A check of the model that reads. */
export type CheckStep = AsyncStep<AnyGuardedRead | GuardedWrite>

/**
 * Receives the rows of each statement. The error of a failed statement is thrown at its `yield`. Or the step is an
 * asynchronous function, which only reads, and is answered without rows.
 */
export type QuerySteps<S, T> = Generator<StepQueries<S> | CheckStep, T, readonly ResultRows[]>

/** Runs the asynchronous function of a step. */
export type RunCheck<Result> = (check: CheckStep) => Result

/** For steps without asynchronous functions. */
export const refuseCheck: RunCheck<never> = ({ place }) => {
  throw new TypeError(`${place} runs in no write`)
}

/** The answer to an asynchronous function. */
export const noAnswers: readonly ResultRows[] = []

export function isCheck<S>(step: StepQueries<S> | CheckStep): step is CheckStep {
  return 'kind' in step
}

/** One write within its transaction. */
export interface WriteScope<S> {
  /** The time of the transaction, ISO 8601 UTC. */
  readonly at: string
  /** The value of `now` in rules: see `Inputs`. */
  readonly now: number | undefined
  /** The bound of the transaction's answers; undefined for Portico's own writes. */
  answerBound: AnswerBound | undefined
  /** Whether the write may have changed something. A write that has changed nothing sets this to false. */
  hasChanged: boolean
  log(change: ItemChange): void
  /** Changes the number of items of a collection. */
  count(collection: string, difference: number): void
  /** Runs a statement whose result the write does not need. */
  defer(statement: S, inputs: Inputs): void
}

export type WriteRun<S> = (plan: GuardedWrite, scope: WriteScope<S>) => QuerySteps<S, WriteResult>

/** The inputs of a write's statements. */
export function writeInputs<Slots extends readonly SqlValue[]>(
  { args, principal: caller }: GuardedWrite,
  { now, answerBound }: WriteScope<unknown>,
  slots: Slots,
): Inputs & { readonly slots: Slots } {
  return { args, userId: caller.userId, slots, now, caller, answerBound }
}
