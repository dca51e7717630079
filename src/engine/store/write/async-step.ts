/**
 * An asynchronous function as a step of a transaction. It runs in turns: a turn lasts until all microtasks have run. If the
 * function has then neither ended nor requested a step, it waits for something outside the transaction.
 */
import { inspect } from 'node:util'
import { ApiError } from '../../../base/errors.ts'
import type { AsyncStep, InnerStep, StepAnswer } from '../../plan/transaction.ts'
import type { GuardedPlanStep } from './transaction.ts'

export type GuardedInnerStep = InnerStep<GuardedPlanStep>

interface StepCall {
  readonly step: GuardedInnerStep
  readonly resolve: (answer: StepAnswer) => void
  readonly reject: (error: unknown) => void
}

type StepOutcome = { readonly error: unknown } | 'done'

/**
 * Runs the function to its end, synchronously, one step at a time. `run` returns the answer, or throws. It is called between
 * turns, since a step may itself run an asynchronous function: within a microtask, no others can be run.
 */
export function runAsyncStepSync(
  asyncStep: AsyncStep<GuardedPlanStep>,
  run: (step: GuardedInnerStep) => StepAnswer,
): void {
  const stepRun = new AsyncStepRun(asyncStep)
  stepRun.turn(() => stepRun.start())
  for (let call = stepRun.nextCall(); call !== undefined; call = stepRun.nextCall()) {
    const { step, resolve, reject } = call
    let settle: () => void
    try {
      const answer = run(step)
      settle = () => resolve(answer)
    } catch (error) {
      settle = () => reject(error)
    }
    stepRun.turn(settle)
  }
  stepRun.end()
}

/** Runs the function, one step at a time. */
export async function runAsyncStep(
  asyncStep: AsyncStep<GuardedPlanStep>,
  run: (step: GuardedInnerStep) => Promise<StepAnswer>,
): Promise<void> {
  const stepRun = new AsyncStepRun(asyncStep)
  await stepRun.nextTurn(() => stepRun.start())
  for (let call = stepRun.nextCall(); call !== undefined; call = stepRun.nextCall()) {
    const { step, resolve, reject } = call
    const settle = await run(step).then(
      answer => () => resolve(answer),
      error => () => reject(error),
    )
    await stepRun.nextTurn(settle)
  }
  stepRun.end()
}

/** A new promise for each call: one that all calls share would keep every function that awaits it in memory. */
function never(): Promise<never> {
  return new Promise(() => {})
}

class AsyncStepRun {
  readonly #asyncStep: AsyncStep<GuardedPlanStep>
  readonly #deadline: number
  readonly #calls: StepCall[] = []
  #outcome: StepOutcome | undefined
  #hasEnded = false
  #steps = 0

  constructor(asyncStep: AsyncStep<GuardedPlanStep>) {
    this.#asyncStep = asyncStep
    this.#deadline = performance.now() + asyncStep.limitMs
  }

  /** The next step. Those that the function has not awaited run as well, unless it has failed: all would be rolled back. */
  nextCall(): StepCall | undefined {
    return this.#hasEnded ? undefined : this.#calls.shift()
  }

  start(): void {
    const enqueue = (step: GuardedInnerStep) => {
      this.#countStep()
      if (this.#hasEnded) return never()
      return new Promise<StepAnswer>((resolve, reject) => this.#calls.push({ step, resolve, reject }))
    }
    this.#asyncStep.start(enqueue).then(
      () => {
        this.#outcome ??= 'done'
      },
      error => {
        this.#outcome ??= { error }
        this.#hasEnded = true
      },
    )
  }

  turn(work: () => void): void {
    this.#asyncStep.turn(work)
  }

  /** In a new turn of the event loop, so that no microtasks of other code run within it. */
  nextTurn(work: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      setImmediate(() => {
        try {
          this.turn(work)
          resolve()
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  /** A refused call never settles, so that the code cannot go on. */
  #countStep(): void {
    if (this.#hasEnded) return
    this.#steps++
    const error = this.#steps > this.#asyncStep.maxSteps ? this.#tooManySteps() : this.#timeoutError()
    if (error === undefined) return
    this.#outcome = { error }
    this.#hasEnded = true
  }

  /** Throws the function's own error, or a fault if it has not ended. */
  end(): void {
    this.#hasEnded = true
    const outcome = this.#outcome
    if (outcome === undefined) throw fault(`${this.#asyncStep.place} ${waitsMessage}`)
    if (outcome === 'done') return
    if (outcome.error instanceof ApiError) throw outcome.error
    throw fault(`${this.#asyncStep.place} has failed.`, outcome.error)
  }

  #tooManySteps(): ApiError {
    const maxSteps = this.#asyncStep.maxSteps.toLocaleString('en')
    return new ApiError(
      'BAD_REQUEST',
      `This makes more than ${maxSteps} reads and writes at once. Do less in one transaction.`,
    )
  }

  #timeoutError(): ApiError | undefined {
    return performance.now() <= this.#deadline ? undefined : timeoutError(this.#asyncStep.limitMs)
  }
}

export function timeoutError(limitMs: number): ApiError {
  const message = `This took longer than ${limitMs.toLocaleString('en')} ms, and was undone. Try again, or do less at once.`
  return new ApiError('UNAVAILABLE', message, { headers: { 'Retry-After': '1' } })
}

const waitsMessage =
  'waits for something other than `data`, which a transaction cannot: timers, files and requests belong in a reaction.'

/** For the operator: the client learns none of it. */
function fault(message: string, cause?: unknown): ApiError {
  const thrown =
    cause === undefined || cause instanceof Error ? cause : new Error(`It threw ${inspect(cause)}.`)
  return new ApiError('INTERNAL_ERROR', undefined, { cause: new Error(message, { cause: thrown }) })
}
