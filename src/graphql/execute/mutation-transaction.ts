/**
 * Mutations that are one transaction: with `@atomic`, or with an `Idempotency-Key`, whose reply is stored in it. The first
 * fault of an atomic one undoes all of it; with a key, those of several fields are atomic too.
 */
import type { GraphQLFormattedError } from 'graphql'
import { ApiError } from '../../errors.ts'
import { KeyTaken, type Replayable } from '../../idempotency.ts'
import type { WriteAnswer } from '../../plan/answer.ts'
import { requirePlain } from '../../plan/plain-writes.ts'
import type { Plan, WriteShape } from '../../plan/plan.ts'
import { writeStep, writeWith } from '../../plan/run.ts'
import type { Acts, ProgramSteps } from '../../plan/transaction.ts'
import type { Executed, Once } from '../engine.ts'
import type { ActStep, MutationStep, WriteStep } from '../plan/variant.ts'
import { executed } from '../response.ts'
import { collectionsOf } from './collections-of.ts'
import { FieldFailure } from './completion.ts'
import { completed, type MutationRequest } from './mutation-request.ts'
import type { PreparedAct } from './prepare-act.ts'
import { prepareStep } from './prepare-step.ts'
import { inArguments, type PreparedWrite, unseen } from './prepare-write.ts'

/** Rolls an atomic mutation back: a field failed after its write. No client sees this error. */
class Undone extends ApiError {
  readonly formatted: GraphQLFormattedError

  constructor(formatted: GraphQLFormattedError) {
    super('INTERNAL_ERROR', formatted.message)
    this.formatted = formatted
  }
}

type DoneStep = WriteStep | ActStep

function isWrite(step: MutationStep): step is DoneStep {
  return step.kind !== 'constant'
}

export function inOneTransaction(request: MutationRequest): Promise<Executed> {
  return new MutationTransaction(request).run()
}

type Prepared = ReadonlyMap<DoneStep, PreparedWrite | PreparedAct>

/** The results of a mutation's fields. */
interface Outcome {
  readonly executed: Executed
  /** The ids of the written items, by field. */
  readonly ids: ReadonlyMap<DoneStep, number>
  readonly items: Replayable['items']
}

class MutationTransaction {
  readonly #request: MutationRequest
  readonly #writes: readonly DoneStep[]
  readonly #isAtomic: boolean
  /** The field that is being executed. */
  #at: DoneStep | undefined
  #answer: WriteAnswer | undefined
  #outcome: Outcome | undefined

  constructor(request: MutationRequest) {
    const { variant } = request.bound
    this.#request = request
    this.#writes = variant.steps.filter(isWrite)
    this.#isAtomic = variant.isAtomic || this.#writes.length > 1
  }

  async run(): Promise<Executed> {
    const { once } = this.#request.context
    try {
      await this.#carryOut(await this.#prepared())
    } catch (error) {
      // Every field was executed, but the commit is uncertain: the idempotency module checks whether the reply was stored.
      if (error instanceof KeyTaken || once?.attempt.reply !== undefined) throw error
      return this.#failed(error)
    }
    return this.#outcome?.executed ?? this.#constants()
  }

  async #prepared(): Promise<Prepared> {
    const { parts, bound, principal } = this.#request
    const prepared = new Map<DoneStep, PreparedWrite | PreparedAct>()
    for (const step of this.#writes) {
      this.#at = step
      const write = await prepareStep(parts, step, bound.variables, principal)
      if (this.#writes.length > 1 && step.kind !== 'act' && 'plan' in write) this.#requirePlain(step, write)
      prepared.set(step, write)
    }
    return prepared
  }

  #requirePlain({ collection, kind: operation }: WriteStep, { plan: { shape } }: PreparedWrite): void {
    const { parts, principal } = this.#request
    const sets = shape.kind === 'delete' ? [] : shape.set.map(({ field }) => field)
    requirePlain({ collection, operation, sets, principal, hooks: parts.hooks })
  }

  async #carryOut(prepared: Prepared): Promise<void> {
    const { parts, principal } = this.#request
    const [only] = prepared.values()
    if (only === undefined) return
    if (prepared.size === 1 && 'plan' in only) {
      // Only `Run.write` does the extra work that some collections need.
      await parts.run.write(only.plan, principal, plan => this.#one(prepared, plan))
      return
    }
    const serial = collectionsOf(
      parts.model,
      this.#writes.filter(step => step.kind !== 'act'),
    )
    const acts = actsOf(prepared)
    const program = { serial, principal, ...(acts && { acts }) }
    await parts.run.transaction({ ...program, steps: () => this.#all(prepared) })
  }

  *#one(prepared: Prepared, plan: Plan<WriteShape>): ProgramSteps<WriteAnswer> {
    yield* this.#all(prepared, plan)
    if (this.#answer === undefined) throw new Error('the write has no answer')
    return this.#answer
  }

  /** `plan`: replaces the plan of the only write. */
  *#all(prepared: Prepared, plan?: Plan<WriteShape>): ProgramSteps<void> {
    const { once } = this.#request.context
    if (once) yield* once.attempt.steps(() => this.#replayable(once, prepared, plan))
    else yield* this.#steps(prepared, plan)
  }

  *#replayable(once: Once, prepared: Prepared, plan?: Plan<WriteShape>): ProgramSteps<Replayable> {
    const outcome = yield* this.#steps(prepared, plan)
    const { body } = once.reply(this.#hidden(outcome))
    const short = typeof body === 'string' ? body : null
    return { reply: once.reply(outcome.executed), short, items: outcome.items }
  }

  *#steps(prepared: Prepared, plan?: Plan<WriteShape>): ProgramSteps<Outcome> {
    const reply = new Reply(this.#request.bound.cost)
    const ids = new Map<DoneStep, number>()
    const items: Replayable['items'][number][] = []
    for (const [step, write] of prepared) {
      this.#at = step
      const answer = 'acts' in write ? yield* write.steps() : yield* writtenBy(write, plan)
      this.#answer = answer
      ids.set(step, answer.id)
      const shown = shownBy(step)
      if (answer.text !== null && shown !== undefined) items.push({ collection: shown, id: answer.id })
      reply.add(step, errors => completed(this.#request, step, write, () => write.value(answer), errors))
      if (this.#isAtomic && reply.fault) throw new Undone(reply.fault)
    }
    this.#outcome = { executed: reply.executed(this.#request.bound.variant.steps), ids, items }
    return this.#outcome
  }

  /** The result for a caller who may no longer read the written items: their ids, in error messages. */
  #hidden({ ids }: Outcome): Executed {
    const reply = new Reply(this.#request.bound.cost)
    for (const [step, id] of ids) {
      const value = () => {
        if (step.kind === 'delete') return String(id)
        throw step.kind === 'act' ? new ApiError('NOT_FOUND') : unseen(step, id)
      }
      reply.add(step, errors => completed(this.#request, step, undefined, value, errors))
    }
    return reply.executed(this.#request.bound.variant.steps)
  }

  /** The reply when nothing was committed. */
  #failed(error: unknown): Executed {
    const step = this.#at
    if (step === undefined) throw error
    const { cost, variant } = this.#request.bound
    if (error instanceof Undone) return executed('null', [error.formatted], cost)
    const reply = new Reply(cost)
    const value = () => {
      throw inArguments(error)
    }
    reply.add(step, errors => completed(this.#request, step, undefined, value, errors))
    if (this.#isAtomic) return executed('null', reply.errors, cost)
    return reply.executed(variant.steps)
  }

  #constants(): Executed {
    const { cost, variant } = this.#request.bound
    return new Reply(cost).executed(variant.steps)
  }
}

function writtenBy({ plan: own, afterwards }: PreparedWrite, plan = own): ProgramSteps<WriteAnswer> {
  return (afterwards ? writeWith(afterwards) : writeStep)(plan)
}

/** The actions among the fields. */
function actsOf(prepared: Prepared): Acts | undefined {
  const all = [...prepared.values()].flatMap(one => ('acts' in one ? one.acts : []))
  const [first] = all
  return first && { names: all.flatMap(({ names }) => names), tries: first.tries, limitMs: first.limitMs }
}

/** The collection of the item that a field returns. */
function shownBy(step: DoneStep): string | undefined {
  if (step.kind !== 'act') return step.collection.name
  const { output } = step.operation
  return output.kind === 'item' ? output.collection : undefined
}

/** The reply, as its fields are completed. */
class Reply {
  readonly errors: GraphQLFormattedError[] = []
  /** Why a field is null. */
  fault: GraphQLFormattedError | undefined
  readonly #cost: number
  readonly #values = new Map<MutationStep, unknown>()
  #isNull = false

  constructor(cost: number) {
    this.#cost = cost
  }

  /** `complete` returns the field's value and adds its errors to the list; it throws a `FieldFailure` if a non-null field failed. */
  add(step: DoneStep, complete: (errors: GraphQLFormattedError[]) => unknown): void {
    const before = this.errors.length
    try {
      const value = complete(this.errors)
      this.#values.set(step, value)
      if (value === null && this.errors.length > before) this.fault = this.errors.at(-1)
    } catch (failure) {
      if (!(failure instanceof FieldFailure)) throw failure
      this.errors.push(failure.formatted)
      this.fault = failure.formatted
      this.#isNull = true
    }
  }

  executed(steps: readonly MutationStep[]): Executed {
    if (this.#isNull) return executed('null', this.errors, this.#cost)
    const data: Record<string, unknown> = Object.create(null)
    for (const step of steps) {
      data[step.replyField.key] = step.kind === 'constant' ? step.value : this.#values.get(step)
    }
    return executed(JSON.stringify(data), this.errors, this.#cost)
  }
}
