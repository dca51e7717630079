/**
 * An asynchronous function as a step of a transaction. It runs in turns: a turn lasts until all microtasks have run. If the
 * function has then neither ended nor requested a step, it waits for something outside the transaction.
 */
import { inspect } from 'node:util'
import { ApiError } from '../../errors.ts'
import type { Awaitable } from '../../plan/answer.ts'
import type { Act, ActStep, StepAnswer } from '../../plan/transaction.ts'
import type { GuardedPlanStep } from './transaction.ts'

export type GuardedActStep = ActStep<GuardedPlanStep>

interface Call {
  readonly step: GuardedActStep
  readonly resolve: (answer: StepAnswer) => void
  readonly reject: (error: unknown) => void
}

type Outcome = { readonly error: unknown } | 'done'

/** Runs the function to its end, synchronously. `run` returns the answer, or throws. */
export function runAct(act: Act<GuardedPlanStep>, run: (step: GuardedActStep) => StepAnswer): void {
  const actRun = new ActRun(act)
  actRun.turn(() => actRun.start(run))
  actRun.end()
}

/** Runs the function, one step at a time. */
export async function runActSlowly(
  act: Act<GuardedPlanStep>,
  run: (step: GuardedActStep) => Promise<StepAnswer>,
): Promise<void> {
  const actRun = new ActRun(act)
  const calls: Call[] = []
  const enqueue = (step: GuardedActStep) =>
    new Promise<StepAnswer>((resolve, reject) => calls.push({ step, resolve, reject }))
  await actRun.nextTurn(() => actRun.start(enqueue))
  // Steps that the function has not awaited run as well, unless it has failed: all of them would be rolled back.
  for (let call = calls.shift(); call !== undefined && !actRun.hasEnded; call = calls.shift()) {
    const { step, resolve, reject } = call
    const settle = await run(step).then(
      answer => () => resolve(answer),
      error => () => reject(error),
    )
    await actRun.nextTurn(settle)
  }
  actRun.end()
}

/** A new promise for each call: one that all calls share would keep every function that awaits it in memory. */
function never(): Promise<never> {
  return new Promise(() => {})
}

class ActRun {
  readonly #act: Act<GuardedPlanStep>
  readonly #deadline: number
  #outcome: Outcome | undefined
  #hasEnded = false
  #steps = 0

  constructor(act: Act<GuardedPlanStep>) {
    this.#act = act
    this.#deadline = performance.now() + act.limitMs
  }

  /** Whether no further step may run. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  start(run: (step: GuardedActStep) => Awaitable<StepAnswer>): void {
    const runStep = (step: GuardedActStep) => {
      this.#countStep()
      return this.#hasEnded ? never() : run(step)
    }
    this.#act.start(runStep).then(
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
    try {
      this.#act.turn(work)
    } catch (cause) {
      this.#hasEnded = true
      throw fault(`${this.#act.act} was ended: its code ran for too long.`, cause)
    }
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
    const error = this.#steps > this.#act.maxSteps ? this.#tooManySteps() : this.#timeoutError()
    if (error === undefined) return
    this.#outcome = { error }
    this.#hasEnded = true
  }

  /** Throws the function's own error, or a fault if it has not ended. */
  end(): void {
    this.#hasEnded = true
    const outcome = this.#outcome
    if (outcome === undefined) throw fault(`${this.#act.act} ${waitsMessage}`)
    if (outcome === 'done') return
    if (outcome.error instanceof ApiError) throw outcome.error
    throw fault(`${this.#act.act} has failed.`, outcome.error)
  }

  #tooManySteps(): ApiError {
    const maxSteps = this.#act.maxSteps.toLocaleString('en')
    return new ApiError(
      'BAD_REQUEST',
      `This makes more than ${maxSteps} reads and writes at once. Do less in one transaction.`,
    )
  }

  #timeoutError(): ApiError | undefined {
    if (performance.now() <= this.#deadline) return undefined
    const message = `This took longer than ${this.#act.limitMs.toLocaleString('en')} ms, and was undone. Try again, or do less at once.`
    return new ApiError('UNAVAILABLE', message, { headers: { 'Retry-After': '1' } })
  }
}

const waitsMessage =
  'waits for something other than `data`, which a transaction cannot: timers, files and requests belong in a reaction.'

/** For the operator: the client learns none of it. */
function fault(message: string, cause?: unknown): ApiError {
  const thrown =
    cause === undefined || cause instanceof Error ? cause : new Error(`It threw ${inspect(cause)}.`)
  return new ApiError('INTERNAL_ERROR', undefined, { cause: new Error(message, { cause: thrown }) })
}
