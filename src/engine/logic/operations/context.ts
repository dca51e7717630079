/** The context that `run` of an action or a query gets. */
import { inspect } from 'node:util'
import { withoutScopes } from '../../../base/principal.ts'
import type { LogicItem } from '../../../model/logic/logic.ts'
import type { EmittedEvent } from '../../../model/model.ts'
import type { ProgramPlan, RunStep } from '../../plan/transaction.ts'
import { errorForCaller } from '../data/call-error.ts'
import { callerOf, isAction, type OperationCall, type OperationParts, qualifiedName } from './call.ts'
import { type OperationStep, TransactionTools } from './tools.ts'
import { TrackedCalls } from './tracked-calls.ts'

interface ContextValues {
  /** ISO 8601 UTC. */
  readonly nowIso: string
  readonly item: LogicItem | undefined
  readonly input: Readonly<Record<string, unknown>>
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
      throw error instanceof Error
        ? errorForCaller(error)
        : new Error(`It threw ${inspect(error)}, which is not an error.`)
    } finally {
      tools.close()
    }
  }

  #tools(run: RunStep<OperationStep>): TransactionTools {
    const { operation } = this.#call
    const { nowIso } = this.#values
    const principal = withoutScopes(this.#call.principal)
    const emits = isAction(operation) ? operation.emits : noEvents
    const place = qualifiedName(operation)
    const calls = new TrackedCalls()
    return new TransactionTools(this.#parts, { place, principal, emits, nowIso, run, calls })
  }

  #context(tools: TransactionTools): object {
    const { operation, principal } = this.#call
    const { nowIso, item, input } = this.#values
    return Object.freeze({
      ...(item && { item }),
      input,
      caller: callerOf(principal),
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

function isWrite({ shape }: ProgramPlan): boolean {
  return shape.kind === 'create' || shape.kind === 'update' || shape.kind === 'delete'
}

function refuse(name: string) {
  return (): never => {
    throw new Error(
      `\`${name}\` cannot be used in actions and queries, which may be rolled back and retried: declare a reaction, which runs after the commit.`,
    )
  }
}

const refusedMail = Object.freeze({ send: refuse('mail.send') })
