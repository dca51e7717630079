/** What the model's code may use within a transaction: all of it is undone with the transaction. */
import { inspect } from 'node:util'
import type { Awaitable } from '../../../base/awaitable.ts'
import { ApiError } from '../../../base/errors.ts'
import { type Principal, service, serviceFor } from '../../../base/principal.ts'
import type { Action, Collection, EmittedEvent } from '../../../model/model.ts'
import { bodyValidator } from '../../../model/validate.ts'
import type { ReadAnswer } from '../../plan/answer.ts'
import { namesFor } from '../../plan/guard/guard.ts'
import type { ItemShape } from '../../plan/plan.ts'
import { selected } from '../../plan/system-plans.ts'
import {
  type InnerStep,
  type PlanAs,
  type ProgramPlan,
  type ProgramSteps,
  planAs,
  type RunStep,
} from '../../plan/transaction.ts'
import { createData, type DataParts, withMembers } from '../data/create-data.ts'
import type { ActionData, TransactionCode, TransactionEffects } from '../data/data.ts'
import { interned } from '../data/plans.ts'
import { admittedCall, createCallerActions } from './actions.ts'
import type { OperationCall, OperationParts } from './call.ts'
import { emittedShape, type InputValues, itemId, withDefaults } from './input.ts'
import { enqueueJob } from './later.ts'
import type { TrackedCalls } from './tracked-calls.ts'

/** A step that the code causes. */
export type OperationStep = InnerStep<ProgramPlan | PlanAs>

export interface ToolsOptions {
  /** Where the code is declared, e.g. `actions.archive`, for messages. */
  readonly place: string
  /** The action whose code it is. */
  readonly action?: string
  /** Whose reads, writes and events these are. */
  readonly principal: Principal
  /** Who calls further actions: with the scopes of the credential, which they need as over the network. */
  readonly caller: Principal
  /** The events that may be emitted, by type. */
  readonly emits: ReadonlyMap<string, EmittedEvent>
  /** ISO 8601 UTC. */
  readonly nowIso: string
  readonly calls: TrackedCalls
  readonly run: RunStep<OperationStep>
  /** The steps of an action that the code calls. */
  readonly callSteps: (parts: OperationParts, call: OperationCall) => ProgramSteps<unknown>
  /** See `OperationCall`. */
  readonly nesting?: number | undefined
}

/** How deep actions may call each other. */
const maxNesting = 10

/** For one try of the transaction. */
export class TransactionTools {
  readonly #parts: OperationParts
  readonly #options: ToolsOptions
  readonly data: ActionData
  readonly effects: TransactionEffects
  #isOver = false
  /** Of the first transaction within this one that has failed. */
  #failure: { readonly error: unknown } | undefined

  constructor(parts: OperationParts, options: ToolsOptions) {
    this.#parts = parts
    this.#options = { ...options, run: step => this.#run(step, options) }
    const { track } = options.calls
    this.effects = Object.freeze({
      emit: (type, item, values) => track(this.#emit(type, item, values)),
      later: (at, name, input) => track(this.#later(at, name, input)),
      actions: createCallerActions(
        parts.model,
        options.caller,
        (action, args, caller) => track(this.#action(action, args, caller)),
        options.action,
      ),
    } satisfies TransactionEffects)
    this.data = this.#createData()
  }

  /** Waits for all calls. Rejects if one that was not awaited failed, or a transaction within this one did. */
  async end(): Promise<void> {
    await this.#options.calls.requireAwaited()
    if (this.#failure) throw this.#failure.error
  }

  /** From now on, what has leaked refuses to work. */
  close(): void {
    this.#isOver = true
  }

  #run(step: OperationStep, { place, run }: ToolsOptions) {
    if (this.#isOver) throw new Error(`The transaction of ${place} has ended: its tools no longer work.`)
    return run(step)
  }

  /** Refusals precede the action's own steps, so that the code may go on after them. */
  async #action(action: Action, args: readonly unknown[], caller: Principal): Promise<unknown> {
    const { run, callSteps, nesting = 0 } = this.#options
    const call = admittedCall(this.#parts.model, action, args, caller)
    if (nesting >= maxNesting) throw new Error(`Actions call each other more than ${maxNesting} deep.`)
    return this.#nested(() => runSteps(callSteps(this.#parts, { ...call, nesting: nesting + 1 }), run))
  }

  /** A part of this transaction: what it has done cannot be undone alone. */
  async #nested<T>(part: () => Awaitable<T>): Promise<T> {
    try {
      return await part()
    } catch (error) {
      this.#failure ??= { error }
      throw error
    }
  }

  #createData(): ActionData {
    const { model, hooks } = this.#parts
    const { principal, action, calls, run } = this.#options
    const parts: DataParts = {
      model,
      hooks,
      execute: (work, as) => (typeof work === 'function' ? runSteps(work(), run) : run(planAs(as, work))),
      track: calls.track,
    }
    const asCaller = createData(parts, principal)
    const asSystem = createData(parts, serviceFor(principal, action))
    const transaction = <T>(code: TransactionCode<T>) =>
      calls.track(this.#nested(() => code(this.data, this.effects)))
    return withMembers(asCaller, { asSystem, transaction })
  }

  async #later(at: string | Date, name: string, input: unknown): Promise<void> {
    const { model, now } = this.#parts
    const { principal, run } = this.#options
    await run(enqueueJob(at, name, input, { model, now: now(), depth: principal.depth ?? 0 }))
  }

  async #emit(type: string, item: unknown, values: unknown): Promise<void> {
    const { place, emits, nowIso, principal, run } = this.#options
    const event = emits.get(type)
    if (event === undefined) throw new Error(`${place} does not declare the event \`${type}\` in \`emits\`.`)
    const collection = this.#parts.model.collections.get(event.collection)
    const id = itemId(item)
    if (collection === undefined || !Number.isSafeInteger(id)) {
      throw new Error(`\`emit\` takes an item of ${event.collection}, not ${inspect(item, { depth: 0 })}.`)
    }
    const eventValues = checkedValues(event, values, nowIso, principal.userId)
    const { text } = (await run(this.#row(collection, Number(id)))) as ReadAnswer
    if (text === null)
      throw new ApiError('NOT_FOUND', `The event ${type} is about an item that does not exist.`)
    await run({
      ...{ kind: 'emission', emit: type, collection: event.collection, itemId: Number(id), row: text },
      ...{ values: eventValues, by: principal },
    })
  }

  /** The step that reads all fields of an event's item. */
  #row(collection: Collection, id: number): OperationStep {
    const { model } = this.#parts
    const select = selected([...namesFor(model, collection, service.access).fields.keys()])
    const shape = interned<ItemShape>({ kind: 'item', collection: collection.name, id: 0, select })
    return planAs(service, { shape, args: [id] })
  }
}

/** Runs steps within the transaction. If one fails, those before it are not undone. */
async function runSteps<T>(steps: ProgramSteps<T>, run: RunStep<OperationStep>): Promise<T> {
  let step = steps.next()
  while (!step.done) {
    const { value } = step
    if (!('kind' in value && value.kind === 'asyncStep')) step = steps.next(await run(value))
    else {
      await value.start(run)
      step = steps.next(true)
    }
  }
  return step.value
}

function checkedValues(event: EmittedEvent, values: unknown, at: string, userId: number | null): InputValues {
  const shape = emittedShape(event)
  return withDefaults(shape, bodyValidator(shape).create(values ?? {}).values, at, userId)
}
