/** A transaction of several steps as one write of a commit: the program's generator receives the answer to each step. */
import { ApiError } from '../../../base/errors.ts'
import type { CompositeAnswer, ReadAnswer, WriteAnswer } from '../../plan/answer.ts'
import type { AnyGuardedRead, GuardedWrite } from '../../plan/guarded.ts'
import type {
  AsyncStep,
  Emission,
  GuardedProgram,
  IndependentWrites,
  RecordChange,
  StepAnswer,
  StepOf,
} from '../../plan/transaction.ts'
import type { SqlValue } from '../values.ts'
import type { ItemChange } from './event.ts'
import type { WorkResult } from './work.ts'
import type { WriteResult } from './written.ts'

export type GuardedStep = StepOf<AnyGuardedRead | GuardedWrite>

/** The result of one step. */
export type StepResult =
  | { readonly kind: 'read'; readonly answer: ReadAnswer | CompositeAnswer }
  | { readonly kind: 'write'; readonly written: WriteResult }
  | { readonly kind: 'writes'; readonly all: readonly WriteResult[] }
  | { readonly kind: 'record'; readonly work: WorkResult<boolean> }
  | { readonly kind: 'asyncStep' }
  | { readonly kind: 'emission' }

/** A running program, within one try of its transaction. */
export class ProgramRun<T> {
  readonly #steps: ReturnType<GuardedProgram<T>['steps']>
  readonly #changed = new Set<string>()
  readonly #removed = new Set<string>()
  #hasWritten = false
  #step: IteratorResult<GuardedStep, T>

  constructor({ steps }: GuardedProgram<T>) {
    this.#steps = steps()
    this.#step = this.#steps.next()
  }

  /** The current step; undefined at the end. */
  get step(): GuardedStep | undefined {
    return this.#step.done ? undefined : this.#step.value
  }

  /** Continues with the step's result. */
  next(result: StepResult): void {
    this.#step = this.#steps.next(this.answerOf(result))
  }

  /** Throws the step's failure at the program's `yield`, then rethrows it, or the error that the program throws instead. */
  fail(failure: unknown): never {
    this.#steps.throw(failure)
    throw failure
  }

  /** After the end. */
  get result(): T {
    if (!this.#step.done) throw new TypeError('the program has not ended')
    return this.#step.value
  }

  /** The result of all steps. */
  get written(): WriteResult {
    const changes = { id: 0, text: null, changed: this.#changed, removed: this.#removed }
    return this.#hasWritten ? changes : { ...changes, hasNoEvent: true }
  }

  /** The answer that the program receives. Records what has changed. */
  answerOf(result: StepResult): StepAnswer {
    if (result.kind === 'read') return result.answer
    if (result.kind === 'asyncStep' || result.kind === 'emission') {
      this.#hasWritten ||= result.kind === 'emission'
      return true
    }
    if (result.kind === 'record') {
      for (const name of result.work.changed) this.#changed.add(name)
      return result.work.value
    }
    return result.kind === 'write'
      ? this.#record(result.written)
      : result.all.map(written => this.#record(written))
  }

  #record({ id, text, changed, removed }: WriteResult): WriteAnswer {
    this.#hasWritten = true
    for (const name of changed) this.#changed.add(name)
    for (const name of removed) this.#removed.add(name)
    return { id, text }
  }
}

export type GuardedPlanStep = Exclude<
  GuardedStep,
  RecordChange | IndependentWrites<unknown> | AsyncStep<unknown> | Emission
>

export function isRecordChange(step: GuardedStep): step is RecordChange {
  return 'kind' in step && !isAsyncStep(step) && !isEmission(step) && !isIndependentWrites(step)
}

export function isAsyncStep(step: GuardedStep): step is AsyncStep<GuardedPlanStep> {
  return 'kind' in step && step.kind === 'asyncStep'
}

export function isEmission(step: GuardedStep): step is Emission {
  return 'kind' in step && step.kind === 'emission'
}

/** An emission as the log has it: an update of no field, with values in place of their names. */
export function changeOf(
  { emit, collection, itemId, row, values, by }: Emission,
  facts: SqlValue,
): ItemChange {
  const change = { collection, itemId, kind: 'updated', changed: values, by, type: emit } as const
  return { ...change, data: row, facts, before: null, factsBefore: null }
}

export function isPlan(step: GuardedStep): step is GuardedPlanStep {
  return !('kind' in step)
}

export function isIndependentWrites(step: GuardedStep): step is IndependentWrites<GuardedPlanStep> {
  return 'kind' in step && step.kind === 'independentWrites'
}

export function isRead(step: GuardedStep): step is AnyGuardedRead {
  return isPlan(step) && !isWrite(step)
}

export function isWrite(plan: GuardedPlanStep): plan is GuardedWrite {
  const { kind } = plan.shape
  return kind === 'create' || kind === 'update' || kind === 'delete'
}

/** Whether the step passes over the failed write, because its item is missing. */
export function isPassedOver(failure: unknown, { skipsMissing }: IndependentWrites<unknown>): boolean {
  return skipsMissing === true && failure instanceof ApiError && failure.code === 'NOT_FOUND'
}

/** The writes of a step. */
export function writesOf({ writes: plans }: IndependentWrites<GuardedPlanStep>): readonly GuardedWrite[] {
  const writes = plans.filter(isWrite)
  if (writes.length < plans.length) throw new TypeError('only writes may be independent steps')
  return writes
}
