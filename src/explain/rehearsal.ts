/**
 * Plans as a request makes them, of which nothing stays: reads run, and every write runs in a transaction that is undone.
 * So a rehearsed request takes the very path of the real one, and nothing is a second implementation of it.
 */
import { ApiError } from '../errors.ts'
import { then } from '../plan/answer.ts'
import type { Plan } from '../plan/plan.ts'
import { type Run, writeStep } from '../plan/run.ts'
import type { Program, ProgramStep, StepAnswer } from '../plan/transaction.ts'
import type { Principal } from '../principal.ts'

/** A plan of the request: what became of it. */
export interface Attempt {
  readonly plan: Plan
  readonly principal: Principal
  /** What it failed with. */
  readonly error?: unknown
  /** A read that has found nothing. */
  readonly isEmpty?: boolean
  /** The id of the item that a write has made or changed. */
  readonly id?: number
}

export interface Rehearsal {
  readonly run: Run
  readonly attempts: readonly Attempt[]
  /** Whether code of an action or a query was due, which is not run. */
  readonly reachedCode: boolean
}

/** Ends a transaction that must not be committed. Never seen by a client. */
function undone(): ApiError {
  return new ApiError('BAD_REQUEST', 'This was rehearsed.')
}

class Rehearsing implements Rehearsal {
  readonly attempts: Attempt[] = []
  reachedCode = false
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
      write: (plan, principal, within = writeStep) =>
        this.#transaction({ principal, serial: [], steps: () => within(plan) }),
      transaction: program => this.#transaction(program),
    }
  }

  async #read<A>(plan: Plan, principal: Principal, read: () => A | Promise<A>): Promise<A> {
    try {
      return await then(read(), answer => {
        const isEmpty = (answer as { readonly text?: unknown }).text === null
        this.attempts.push({ plan, principal, isEmpty })
        return answer
      })
    } catch (error) {
      this.attempts.push({ plan, principal, error })
      throw error
    }
  }

  async #transaction<T>({ acts: _acts, ...program }: Program<T>): Promise<T> {
    let done: { readonly value: T } | undefined
    const rehearsed = this.#steps.bind(this)
    try {
      await this.#real.transaction({
        ...program,
        *steps() {
          done = undefined
          const value: T = yield* rehearsed(program)
          done = { value }
          throw undone()
        },
      })
    } catch (error) {
      // The program has come to its end: what was thrown is what undoes it.
      if (done === undefined) throw error
    }
    return (done as unknown as { readonly value: T }).value
  }

  *#steps<T>(program: Pick<Program<T>, 'steps' | 'principal'>): Generator<ProgramStep, T, StepAnswer> {
    const steps = program.steps()
    let step = steps.next()
    while (!step.done) {
      const asked: ProgramStep = step.value
      if ('act' in asked) {
        this.reachedCode = true
        throw undone()
      }
      let answer: StepAnswer
      try {
        answer = yield asked
      } catch (error) {
        this.#note(asked, program.principal, { error })
        steps.throw(error)
        throw error
      }
      this.#note(asked, program.principal, { answer })
      step = steps.next(answer)
    }
    return step.value
  }

  #note(step: ProgramStep, by: Principal, { error, answer }: { error?: unknown; answer?: StepAnswer }): void {
    const [plan, principal] = 'as' in step ? [step.plan, step.as] : 'shape' in step ? [step, by] : []
    if (plan === undefined || principal === undefined) return
    const given = answer as { readonly text?: unknown; readonly id?: number } | undefined
    this.attempts.push({
      plan,
      principal,
      ...(error !== undefined && { error }),
      isEmpty: given?.text === null,
      ...(given?.id !== undefined && { id: given.id }),
    })
  }
}

export function rehearsal(run: Run): Rehearsal {
  return new Rehearsing(run)
}
