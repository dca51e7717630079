/** `data.transaction` and `once`: code of jobs, reactions, routes and programs as one transaction, with the guarantees and limits of an action. */
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { NewRecord } from '../../../base/records.ts'
import type { EmittedEvent, Model } from '../../../model/model.ts'
import type { OnceResult } from '../../../model/types/data.ts'
import type { Run } from '../../plan/run.ts'
import type { ProgramSteps, RunStep } from '../../plan/transaction.ts'
import type { TransactionCode } from '../data/data.ts'
import { asyncStepsOf, type OperationParts } from './call.ts'
import { callSteps } from './operation.ts'
import { type OperationStep, TransactionTools } from './tools.ts'
import { TrackedCalls } from './tracked-calls.ts'

export interface TransactionCall<T> {
  /** For messages, e.g. `jobs.nightly`. */
  readonly place: string
  /** Whether the model declares the code there, so that the tables that it uses can be predicted. */
  readonly isDeclared: boolean
  readonly principal: Principal
  readonly code: TransactionCode<T>
  /** Throws once the code may have no further effects. */
  readonly requireRunning?: () => void
  /** Runs each turn of the code. */
  readonly within?: (work: () => void) => void
  /** Of a transaction that does nothing if this record exists, and stores it otherwise. */
  readonly once?: NewRecord
}

/**
 * Rejects with what the code threw, with CONFLICT if other transactions kept getting in its way, with UNAVAILABLE if it took too
 * long, and with BAD_REQUEST if it read and wrote too often.
 */
export async function runTransaction<T>(
  parts: OperationParts,
  run: Pick<Run, 'transaction'>,
  call: TransactionCall<T>,
): Promise<T> {
  const outcome = await transact(parts, run, call)
  if (outcome === undefined) throw new ApiError('INTERNAL_ERROR')
  return outcome.value
}

/** Runs a transaction whose key, the record `once`, commits with it. One with the same key that runs meanwhile waits for it. */
export async function runOnce(
  parts: OperationParts,
  run: Pick<Run, 'transaction'>,
  call: TransactionCall<unknown>,
): Promise<OnceResult> {
  return { repeated: (await transact(parts, run, call)) === undefined }
}

/** What the code returned. Undefined: it has not run, since its key exists. */
type Outcome<T> = { readonly value: T } | undefined

async function transact<T>(
  parts: OperationParts,
  run: Pick<Run, 'transaction'>,
  call: TransactionCall<T>,
): Promise<Outcome<T>> {
  const { limits } = parts
  const { place, isDeclared, principal } = call
  const attempts = new Attempts(parts, call)
  try {
    return await run.transaction({
      principal,
      serial: {},
      asyncSteps: asyncStepsOf(limits, isDeclared ? [place] : []),
      steps: () => attempts.steps(),
    })
  } catch (error) {
    throw attempts.causeOf(error)
  }
}

/** The error of tools that take no part in the transaction whose code calls them. */
export function transactionIsOpen(): Error {
  return new Error(
    'A `data.transaction` is open: until it has ended, use the tools that it passes to its code.',
  )
}

const runNow = (work: () => void): void => work()

class Attempts<T> {
  readonly #parts: OperationParts
  readonly #call: TransactionCall<T>
  /** What the code threw in the last attempt. */
  #thrown: { readonly value: unknown } | undefined

  constructor(parts: OperationParts, call: TransactionCall<T>) {
    this.#parts = parts
    this.#call = call
  }

  *steps(): ProgramSteps<Outcome<T>> {
    const { limits, watchdog } = this.#parts
    const { place, within = runNow, once } = this.#call
    let outcome: Outcome<T>
    // Comes first, so that a transaction with the same key waits here, and has done nothing yet.
    if (once !== undefined && !(yield { kind: 'add', record: once })) return undefined
    yield {
      kind: 'asyncStep',
      place,
      limitMs: limits.timeMs,
      maxSteps: limits.operations,
      turn: work => within(() => watchdog.turn(place, work)),
      start: async run => {
        outcome = { value: await this.#run(run) }
      },
    }
    return outcome
  }

  /** The store wraps what the code threw, as it does for actions, whose callers may not see it. */
  causeOf(error: unknown): unknown {
    if (!(error instanceof ApiError && error.code === 'INTERNAL_ERROR')) return error
    return this.#thrown ? this.#thrown.value : (error.cause ?? error)
  }

  async #run(run: RunStep<OperationStep>): Promise<T> {
    const { place, principal, code, requireRunning } = this.#call
    const { model, now } = this.#parts
    this.#thrown = undefined
    const calls = new TrackedCalls()
    const runStep: RunStep<OperationStep> = step => {
      requireRunning?.()
      return run(step)
    }
    const nowIso = new Date(now()).toISOString()
    const tools = new TransactionTools(this.#parts, {
      ...{ place, principal, caller: principal, nowIso, calls },
      emits: emittedBy(model),
      callSteps,
      run: runStep,
    })
    try {
      requireRunning?.()
      const value = await code(tools.data, tools.effects)
      await tools.end()
      requireRunning?.()
      return value
    } catch (error) {
      this.#thrown = { value: error }
      throw error
    } finally {
      tools.close()
    }
  }
}

const emittedEvents = new WeakMap<Model, ReadonlyMap<string, EmittedEvent>>()

/** The events that some action declares, by type. */
function emittedBy(model: Model): ReadonlyMap<string, EmittedEvent> {
  const cached = emittedEvents.get(model)
  if (cached !== undefined) return cached
  const events = new Map([...model.logic.actions.values()].flatMap(({ emits }) => [...emits]))
  emittedEvents.set(model, events)
  return events
}
