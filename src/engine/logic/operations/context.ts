/** The context that `run` of an action or a query gets. */
import { app, type Principal, withoutScopes } from '../../../base/principal.ts'
import { callerOf } from '../../../model/logic/caller.ts'
import type { LogicItem } from '../../../model/logic/logic.ts'
import type { EmittedEvent, Model, Operation } from '../../../model/model.ts'
import { isWrite } from '../../plan/plan.ts'
import type { RunStep } from '../../plan/transaction.ts'
import { errorForCaller, thrownError } from '../data/call-error.ts'
import { staticAccess } from './access.ts'
import { isAction, type OperationCall, type OperationParts, qualifiedName } from './call.ts'
import { type OperationStep, type ToolsOptions, TransactionTools } from './tools.ts'
import { TrackedCalls } from './tracked-calls.ts'

interface ContextValues {
  /** ISO 8601 UTC. */
  readonly nowIso: string
  readonly item: LogicItem | undefined
  readonly input: Readonly<Record<string, unknown>>
  readonly callSteps: ToolsOptions['callSteps']
}

const noEvents: ReadonlyMap<string, EmittedEvent> = new Map()

/** The context for one try of the transaction. */
export class OperationContext {
  readonly #parts: OperationParts
  readonly #call: OperationCall
  readonly #values: ContextValues

  constructor(parts: OperationParts, call: OperationCall, values: ContextValues) {
    this.#parts = parts
    this.#call = call
    this.#values = values
  }

  /** Calls the operation's `run`. Also rejects if a call that it has not awaited failed. */
  async run(run: RunStep<OperationStep>): Promise<unknown> {
    const { operation } = this.#call
    const code = operation.run as (context: object) => unknown
    const tools = this.#tools(step => this.#runAllowed(step, run))
    try {
      const returned = await code(this.#context(tools))
      await tools.end()
      return returned
    } catch (error) {
      throw errorForCaller(thrownError(error))
    } finally {
      tools.close()
    }
  }

  #tools(run: RunStep<OperationStep>): TransactionTools {
    const { operation, nesting, principal: caller } = this.#call
    const { nowIso, callSteps } = this.#values
    const principal = withoutScopes(caller)
    const emits = isAction(operation) ? operation.emits : noEvents
    const place = qualifiedName(operation)
    const calls = new TrackedCalls()
    return new TransactionTools(this.#parts, {
      ...{ place, principal, caller, emits, nowIso, run, calls, callSteps, nesting },
      ...(isAction(operation) && { action: operation.name }),
    })
  }

  #context(tools: TransactionTools): object {
    const { operation, principal } = this.#call
    const { nowIso, item, input } = this.#values
    const { model } = this.#parts
    return Object.freeze({
      ...(item && { item }),
      input,
      get caller() {
        return callerOf(principal) ?? noCaller(model, operation, principal)
      },
      data: tools.data,
      now: nowIso,
      ...(isAction(operation) && tools.effects),
      mail: refusedMail,
      fetch: refuse('fetch'),
    })
  }

  /** Refuses writes of a query. */
  #runAllowed(step: OperationStep, run: RunStep<OperationStep>) {
    const isRead = 'kind' in step && step.kind === 'planAs' && !isWrite(step.plan)
    if (!isAction(this.#call.operation) && !isRead) {
      throw new Error('A query only reads: declare an action to write.')
    }
    return run(step)
  }
}

/** Null, unless the rule admits only users: the types leave null out, and the service is none. */
function noCaller(model: Model, operation: Operation, { access }: Principal): null {
  if (!access.system || staticAccess(model, operation, userless) !== 'never') return null
  throw new Error(
    `The service itself has called ${qualifiedName(operation)}, whose \`caller\` is a user by its \`access\`: call it as a user, or do not use \`caller\`.`,
  )
}

const { access: userless } = app('', new Set(['*']))

function refuse(name: string) {
  return (): never => {
    throw new Error(
      `\`${name}\` cannot be used in actions and queries, which may be rolled back and retried: declare a reaction, which runs after the commit.`,
    )
  }
}

const refusedMail = Object.freeze({ send: refuse('mail.send') })
