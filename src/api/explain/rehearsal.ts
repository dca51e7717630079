/**
 * Runs the plans of a request without lasting effect: every write runs in a transaction that is rolled back. So a rehearsed
 * request takes the path of the real one, without a second implementation. The code of actions and queries runs too, within
 * its limits: it has no effect outside its transaction.
 */

import type { Awaitable } from '../../base/awaitable.ts'
import { ApiError } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import type { Plan } from '../../engine/plan/plan.ts'
import { type Run, writeStep } from '../../engine/plan/run.ts'
import type {
  AsyncStep,
  IndependentWrites,
  InnerStep,
  PlanAs,
  Program,
  ProgramPlan,
  ProgramStep,
  StepAnswer,
} from '../../engine/plan/transaction.ts'

/** A plan of the request, and its result. */
export interface Attempt {
  readonly plan: Plan
  readonly principal: Principal
  /** The error, if it failed. */
  readonly error?: unknown
  /** Whether it is a read that found nothing. */
  readonly isEmpty?: boolean
  /** The answer to the roots of a GraphQL operation, as JSON. */
  readonly text?: string
  /** Whether the code of an action or a query ran the plan. */
  readonly isFromCode?: boolean
}

export interface Rehearsal {
  readonly run: Run
  readonly attempts: readonly Attempt[]
  /** The actions and queries whose code ran, e.g. `actions.archive`. */
  readonly operations: readonly string[]
  /** The types of the events that it would emit, and the number of jobs that it would start. */
  readonly discarded: { readonly events: readonly string[]; readonly jobs: number }
}

/** The error that rolls a transaction back. Clients never see it. */
function rollback(): ApiError {
  return new ApiError('BAD_REQUEST', 'This was rehearsed.')
}

type Step = InnerStep<ProgramPlan | PlanAs>

class RequestRehearsal implements Rehearsal {
  readonly attempts: Attempt[] = []
  readonly operations: string[] = []
  readonly discarded = { events: [] as string[], jobs: 0 }
  readonly run: Run
  readonly #real: Run

  constructor(real: Run) {
    this.#real = real
    this.run = {
      item: (plan, principal) => this.#read(plan, principal, () => real.item(plan, principal)),
      list: (plan, principal) => this.#read(plan, principal, () => real.list(plan, principal)),
      aggregate: (plan, principal) => this.#read(plan, principal, () => real.aggregate(plan, principal)),
      composite: (plan, principal) => this.#read(plan, principal, () => real.composite(plan, principal)),
      refusals: (plan, principal) => real.refusals(plan, principal),
      write: (plan, principal, steps = writeStep) =>
        this.#transaction({ principal, serial: {}, steps: () => steps(plan) }),
      transaction: program => this.#transaction(program),
    }
  }

  async #read<A extends { readonly text: string | null }>(
    plan: Plan,
    principal: Principal,
    read: () => Awaitable<A>,
  ): Promise<A> {
    try {
      const answer = await read()
      this.#record(plan, principal, { answer })
      return answer
    } catch (error) {
      this.#record(plan, principal, { error })
      throw error
    }
  }

  async #transaction<T>(program: Program<T>): Promise<T> {
    const reset = this.#resetToHere()
    const rehearsed = this.#steps.bind(this)
    let completed: { readonly value: T } | undefined
    try {
      await this.#real.transaction({
        ...program,
        *steps() {
          reset()
          completed = undefined
          const value: T = yield* rehearsed(program)
          completed = { value }
          throw rollback()
        },
      })
    } catch (error) {
      // The program has completed: the error is the one that rolls it back.
      if (completed === undefined) throw error
    }
    return (completed as unknown as { readonly value: T }).value
  }

  /** Returns a function that discards everything recorded after this call: a retried transaction records its steps again. */
  #resetToHere(): () => void {
    const [attempts, operations, events] = [
      this.attempts.length,
      this.operations.length,
      this.discarded.events.length,
    ]
    const { jobs } = this.discarded
    return () => {
      this.attempts.length = attempts
      this.operations.length = operations
      this.discarded.events.length = events
      this.discarded.jobs = jobs
    }
  }

  *#steps<T>(program: Pick<Program<T>, 'steps' | 'principal'>): Generator<ProgramStep, T, StepAnswer> {
    const steps = program.steps()
    let step = steps.next()
    while (!step.done) {
      const current: ProgramStep = step.value
      let failedIndex = 0
      let answer: StepAnswer
      try {
        answer = yield this.#rehearsed(current, program.principal, index => {
          failedIndex = index
        })
      } catch (error) {
        const failedStep = isIndependentWrites(current) ? (current.writes[failedIndex] ?? current) : current
        this.#recordStep(failedStep, program.principal, { error })
        steps.throw(error)
        throw error
      }
      this.#recordStep(current, program.principal, { answer })
      step = steps.next(answer)
    }
    return step.value
  }

  #rehearsed(current: ProgramStep, principal: Principal, onFailure: (index: number) => void): ProgramStep {
    if ('kind' in current && current.kind === 'asyncStep') return this.#asyncStep(current, principal)
    if (!isIndependentWrites(current)) return current
    const onEitherFailure = (index: number) => {
      onFailure(index)
      current.onFailure(index)
    }
    return { ...current, onFailure: onEitherFailure }
  }

  /** Runs the code within its limits, without its events and jobs. */
  #asyncStep(
    asyncStep: AsyncStep<ProgramPlan | PlanAs>,
    principal: Principal,
  ): AsyncStep<ProgramPlan | PlanAs> {
    this.operations.push(asyncStep.place)
    const discard = (step: Step): boolean => {
      if (!('kind' in step) || step.kind === 'planAs' || step.kind === 'independentWrites') return false
      if (step.kind === 'emission') this.discarded.events.push(step.emit)
      else this.discarded.jobs++
      return true
    }
    const rehearsed = (step: Step, run: (step: Step) => Awaitable<StepAnswer>): Awaitable<StepAnswer> => {
      if (discard(step)) return true
      const record = (outcome: StepOutcome) =>
        this.#recordStep(step, principal, { ...outcome, isFromCode: true })
      const fail = (error: unknown): never => {
        record({ error })
        throw error
      }
      try {
        const answer = run(step)
        if (answer instanceof Promise) {
          return answer.then(value => {
            record({ answer: value })
            return value
          }, fail)
        }
        record({ answer })
        return answer
      } catch (error) {
        return fail(error)
      }
    }
    return { ...asyncStep, start: run => asyncStep.start(step => rehearsed(step, run)) }
  }

  #recordStep(step: ProgramStep, programPrincipal: Principal, outcome: StepOutcome): void {
    if (isIndependentWrites(step)) {
      for (const part of step.writes) this.#recordStep(part, programPrincipal, outcome)
      return
    }
    if (!('kind' in step)) this.#record(step, programPrincipal, outcome)
    else if (step.kind === 'planAs') this.#record(step.plan, step.as, outcome)
  }

  #record(plan: Plan, principal: Principal, { error, answer, isFromCode = false }: StepOutcome): void {
    if (this.attempts.length >= maxAttempts) return
    const { text } = (answer ?? {}) as { readonly text?: string | null }
    this.attempts.push({
      plan,
      principal,
      ...(error !== undefined && { error }),
      isEmpty: text === null,
      ...(plan.shape.kind === 'composite' && typeof text === 'string' && { text }),
      ...(isFromCode && { isFromCode }),
    })
  }
}

interface StepOutcome {
  readonly error?: unknown
  readonly answer?: unknown
  readonly isFromCode?: boolean
}

/** The maximum number of recorded plans. A batch has a few hundred at most; an action may have thousands. */
const maxAttempts = 1000

export function createRehearsal(run: Run): Rehearsal {
  return new RequestRehearsal(run)
}

function isIndependentWrites(step: ProgramStep): step is IndependentWrites<ProgramPlan | PlanAs> {
  return 'kind' in step && step.kind === 'independentWrites'
}
