/** The context that `run` of an action or a query gets. */
import { inspect } from 'node:util'
import { ApiError } from '../../../base/errors.ts'
import { service, withoutScopes } from '../../../base/principal.ts'
import type { LogicItem } from '../../../model/logic/logic.ts'
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
  planAs,
  type RunStep,
} from '../../plan/transaction.ts'
import { errorForCaller } from '../data/call-error.ts'
import { createData, type DataParts } from '../data/create-data.ts'
import type { ActionData } from '../data/data.ts'
import { interned } from '../data/plans.ts'
import { callerOf, isAction, type OperationCall, type OperationParts, qualifiedName } from './call.ts'
import { emittedShape, type InputValues, itemId, withDefaults } from './input.ts'
import { enqueueJob } from './later.ts'
import { TrackedCalls } from './tracked-calls.ts'

type OperationStep = InnerStep<ProgramPlan | PlanAs>

interface ContextValues {
  /** ISO 8601 UTC. */
  readonly nowIso: string
  readonly item: LogicItem | undefined
  readonly input: Readonly<Record<string, unknown>>
}

/** The context for one try of the transaction. */
export class OperationContext {
  readonly #parts: OperationParts
  readonly #call: OperationCall
  readonly #values: ContextValues
  readonly #calls = new TrackedCalls()

  constructor(parts: OperationParts, call: OperationCall, values: ContextValues) {
    this.#parts = parts
    this.#call = call
    this.#values = values
  }

  /** Calls the operation's `run`. Also rejects if a call that it has not awaited failed. */
  async run(run: RunStep<OperationStep>): Promise<unknown> {
    const { operation } = this.#call
    const code = operation.run as (context: object) => unknown
    let returned: unknown
    try {
      returned = await code(this.#context(step => this.#runAllowed(step, run)))
    } catch (error) {
      throw error instanceof Error
        ? errorForCaller(error)
        : new Error(`It threw ${inspect(error)}, which is not an error.`)
    }
    await this.#calls.requireAwaited().catch(error => {
      throw errorForCaller(error)
    })
    return returned
  }

  #context(run: RunStep<OperationStep>): object {
    const { operation, principal } = this.#call
    const { nowIso, item, input } = this.#values
    return Object.freeze({
      ...(item && { item }),
      input,
      caller: callerOf(principal),
      data: this.#data(run),
      now: nowIso,
      ...(isAction(operation) && this.#effects(operation, run)),
      mail: refusedMail,
      fetch: refuse('fetch'),
    })
  }

  #data(run: RunStep<OperationStep>): ActionData {
    const { model, hooks } = this.#parts
    const parts: DataParts = {
      model,
      hooks,
      execute: (plan, principal) => run(planAs(principal, plan)),
      track: this.#calls.track,
    }
    const asCaller = createData(parts, withoutScopes(this.#call.principal))
    const asSystem = createData(parts, service)
    return new Proxy(asCaller, {
      get: (target, name) => (name === 'asSystem' ? asSystem : Reflect.get(target, name)),
    }) as ActionData
  }

  #effects(action: Action, run: RunStep<OperationStep>) {
    const { track } = this.#calls
    return {
      emit: (type: string, item: unknown, values?: unknown) =>
        track(this.#emit(action, type, item, values, run)),
      later: (at: string | Date, name: string, input?: unknown) => track(this.#later(at, name, input, run)),
    }
  }

  /** Refuses writes of a query. */
  #runAllowed(step: OperationStep, run: RunStep<OperationStep>) {
    const { operation } = this.#call
    if (!isAction(operation) && 'kind' in step && step.kind === 'planAs' && isWrite(step.plan)) {
      throw new Error('A query only reads: declare an action to write.')
    }
    return run(step)
  }

  async #later(at: string | Date, name: string, input: unknown, run: RunStep<OperationStep>): Promise<void> {
    const { model, now } = this.#parts
    const { depth = 0 } = this.#call.principal
    await this.#runAllowed(enqueueJob(at, name, input, { model, now: now(), depth }), run)
  }

  async #emit(
    action: Action,
    type: string,
    item: unknown,
    values: unknown,
    run: RunStep<OperationStep>,
  ): Promise<void> {
    const event = action.emits.get(type)
    if (event === undefined)
      throw new Error(`${qualifiedName(action)} does not declare the event \`${type}\` in \`emits\`.`)
    const collection = this.#parts.model.collections.get(event.collection)
    const id = itemId(item)
    if (collection === undefined || !Number.isSafeInteger(id)) {
      throw new Error(`\`emit\` takes an item of ${event.collection}, not ${inspect(item, { depth: 0 })}.`)
    }
    const { principal } = this.#call
    const eventValues = checkedValues(event, values, this.#values.nowIso, principal.userId)
    const { text } = (await this.#runAllowed(this.#row(collection, Number(id)), run)) as ReadAnswer
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

function isWrite({ shape }: ProgramPlan): boolean {
  return shape.kind === 'create' || shape.kind === 'update' || shape.kind === 'delete'
}

function checkedValues(event: EmittedEvent, values: unknown, at: string, userId: number | null): InputValues {
  const shape = emittedShape(event)
  return withDefaults(shape, bodyValidator(shape).create(values ?? {}).values, at, userId)
}

function refuse(name: string) {
  return (): never => {
    throw new Error(
      `\`${name}\` cannot be used in actions and queries, which may be rolled back and retried: declare a reaction, which runs after the commit.`,
    )
  }
}

const refusedMail = Object.freeze({ send: refuse('mail.send') })
