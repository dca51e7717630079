/**
 * Mutations that run in one transaction: with `@atomic`, or with an `Idempotency-Key`, because the reply is stored in the
 * transaction. The first error rolls an atomic mutation back; with a key, a mutation of several fields is atomic too.
 */
import type { GraphQLFormattedError } from 'graphql'
import { ApiError } from '../../../base/errors.ts'
import { KeyTaken, type Replayable } from '../../../engine/idempotency/idempotency.ts'
import type { WriteAnswer } from '../../../engine/plan/answer.ts'
import { AnswerBound } from '../../../engine/plan/answer-bound.ts'
import { requirePlain } from '../../../engine/plan/plain-writes.ts'
import type { Plan, WriteShape } from '../../../engine/plan/plan.ts'
import { writeStep, writeWith } from '../../../engine/plan/run.ts'
import type { AsyncSteps, ProgramSteps } from '../../../engine/plan/transaction.ts'
import type { Executed, IdempotentReply } from '../engine.ts'
import type { LogicStep, MutationStep, WriteStep } from '../plan/variant.ts'
import { executed } from '../response.ts'
import { usesOf } from './collection-uses.ts'
import { FieldFailure } from './completion.ts'
import { completeStep, type MutationRequest } from './mutation-request.ts'
import type { PreparedLogic } from './prepare-logic.ts'
import { prepareStep } from './prepare-step.ts'
import { type PreparedWrite, unreadableError, withArgumentNames } from './prepare-write.ts'

/** Rolls an atomic mutation back: a field failed after its write. No client sees this error. */
class RollBack extends ApiError {
  readonly formatted: GraphQLFormattedError

  constructor(formatted: GraphQLFormattedError) {
    super('INTERNAL_ERROR', formatted.message)
    this.formatted = formatted
  }
}

type ExecutableStep = WriteStep | LogicStep

function isWrite(step: MutationStep): step is ExecutableStep {
  return step.kind !== 'constant'
}

export function executeInTransaction(request: MutationRequest): Promise<Executed> {
  return new MutationTransaction(request).run()
}

type PreparedSteps = ReadonlyMap<ExecutableStep, PreparedWrite | PreparedLogic>

/** The results of a mutation's fields. */
interface MutationResult {
  readonly executed: Executed
  /** The ids of the written items, by field. */
  readonly ids: ReadonlyMap<ExecutableStep, number>
  readonly items: Replayable['items']
}

class MutationTransaction {
  readonly #request: MutationRequest
  readonly #writes: readonly ExecutableStep[]
  readonly #isAtomic: boolean
  /** The field that is being executed. */
  #currentStep: ExecutableStep | undefined
  #answer: WriteAnswer | undefined
  #outcome: MutationResult | undefined

  constructor(request: MutationRequest) {
    const { variant } = request.bound
    this.#request = request
    this.#writes = variant.steps.filter(isWrite)
    this.#isAtomic = variant.isAtomic || this.#writes.length > 1
  }

  async run(): Promise<Executed> {
    const { idempotent } = this.#request.context
    try {
      await this.#execute(await this.#prepare())
    } catch (error) {
      // Every field was executed, but the commit is uncertain: the idempotency module checks whether the reply was stored.
      if (error instanceof KeyTaken || idempotent?.attempt.reply !== undefined) throw error
      return this.#failureReply(error)
    }
    return this.#outcome?.executed ?? this.#constantReply()
  }

  async #prepare(): Promise<PreparedSteps> {
    const { parts, bound, principal } = this.#request
    const prepared = new Map<ExecutableStep, PreparedWrite | PreparedLogic>()
    for (const step of this.#writes) {
      this.#currentStep = step
      const write = await prepareStep(parts, step, bound.variables, principal)
      if (this.#writes.length > 1 && step.kind !== 'logic' && 'plan' in write) this.#requirePlain(step, write)
      prepared.set(step, write)
    }
    return prepared
  }

  #requirePlain({ collection, kind: operation }: WriteStep, { plan: { shape } }: PreparedWrite): void {
    const { parts, principal } = this.#request
    const sets = shape.kind === 'delete' ? [] : shape.set.map(({ field }) => field)
    requirePlain({ collection, operation, sets, principal, hooks: parts.hooks })
  }

  async #execute(prepared: PreparedSteps): Promise<void> {
    const { parts, principal } = this.#request
    const [only] = prepared.values()
    if (only === undefined) return
    if (prepared.size === 1 && 'plan' in only) {
      // Only `Run.write` does the extra work that some collections need.
      await parts.run.write(only.plan, principal, plan => this.#singleWrite(prepared, plan))
      return
    }
    const serial = usesOf(
      parts.model,
      this.#writes.filter(step => step.kind !== 'logic'),
    )
    const asyncSteps = combineAsyncSteps(prepared)
    const program = { serial, principal, ...(asyncSteps && { asyncSteps }) }
    await parts.run.transaction({ ...program, steps: () => this.#allSteps(prepared) })
  }

  *#singleWrite(prepared: PreparedSteps, plan: Plan<WriteShape>): ProgramSteps<WriteAnswer> {
    yield* this.#allSteps(prepared, plan)
    if (this.#answer === undefined) throw new Error('the write has no answer')
    return this.#answer
  }

  /** `plan`: replaces the plan of the only write. */
  *#allSteps(prepared: PreparedSteps, plan?: Plan<WriteShape>): ProgramSteps<void> {
    const { idempotent } = this.#request.context
    if (idempotent) yield* idempotent.attempt.steps(() => this.#replayable(idempotent, prepared, plan))
    else yield* this.#steps(prepared, plan)
  }

  *#replayable(
    idempotent: IdempotentReply,
    prepared: PreparedSteps,
    plan?: Plan<WriteShape>,
  ): ProgramSteps<Replayable> {
    const outcome = yield* this.#steps(prepared, plan)
    const { body } = idempotent.reply(this.#idsOnly(outcome))
    const short = typeof body === 'string' ? body : null
    return { reply: idempotent.reply(outcome.executed), short, items: outcome.items }
  }

  *#steps(prepared: PreparedSteps, plan?: Plan<WriteShape>): ProgramSteps<MutationResult> {
    const reply = new MutationReply(this.#request.bound.cost)
    const ids = new Map<ExecutableStep, number>()
    const items: Replayable['items'][number][] = []
    // The store counts what it reads, but not the values that actions return.
    const answerBound = new AnswerBound(this.#request.parts.logic.limits.answers, 'writeBytes')
    for (const [step, write] of prepared) {
      this.#currentStep = step
      const answer = 'asyncSteps' in write ? yield* write.steps() : yield* writeSteps(write, plan)
      answerBound.add(answer.text)
      this.#answer = answer
      ids.set(step, answer.id)
      const collection = returnedCollection(step)
      if (answer.text !== null && collection !== undefined) items.push({ collection, id: answer.id })
      reply.add(step, errors => completeStep(this.#request, step, write, () => write.value(answer), errors))
      if (this.#isAtomic && reply.fault) throw new RollBack(reply.fault)
    }
    this.#outcome = { executed: reply.executed(this.#request.bound.variant.steps), ids, items }
    return this.#outcome
  }

  /** The result for a caller who may no longer read the written items: their ids, in error messages. */
  #idsOnly({ ids }: MutationResult): Executed {
    const reply = new MutationReply(this.#request.bound.cost)
    for (const [step, id] of ids) {
      const value = () => {
        if (step.kind === 'delete') return String(id)
        throw step.kind === 'logic' ? new ApiError('NOT_FOUND') : unreadableError(step, id)
      }
      reply.add(step, errors => completeStep(this.#request, step, undefined, value, errors))
    }
    return reply.executed(this.#request.bound.variant.steps)
  }

  /** The reply when nothing was committed. */
  #failureReply(error: unknown): Executed {
    const step = this.#currentStep
    if (step === undefined) throw error
    const { cost, variant } = this.#request.bound
    if (error instanceof RollBack) return executed('null', [error.formatted], cost)
    const reply = new MutationReply(cost)
    const value = () => {
      throw withArgumentNames(error)
    }
    reply.add(step, errors => completeStep(this.#request, step, undefined, value, errors))
    if (this.#isAtomic) return executed('null', reply.errors, cost)
    return reply.executed(variant.steps)
  }

  #constantReply(): Executed {
    const { cost, variant } = this.#request.bound
    return new MutationReply(cost).executed(variant.steps)
  }
}

function writeSteps(
  { plan: preparedPlan, afterwards }: PreparedWrite,
  plan = preparedPlan,
): ProgramSteps<WriteAnswer> {
  return (afterwards ? writeWith(afterwards) : writeStep)(plan)
}

/** The actions among the fields. */
function combineAsyncSteps(prepared: PreparedSteps): AsyncSteps | undefined {
  const asyncSteps = [...prepared.values()].flatMap(step => ('asyncSteps' in step ? step.asyncSteps : []))
  const [first] = asyncSteps
  return (
    first && {
      places: asyncSteps.flatMap(({ places }) => places),
      tries: first.tries,
      limitMs: first.limitMs,
    }
  )
}

/** The collection of the item that a field returns. */
function returnedCollection(step: ExecutableStep): string | undefined {
  if (step.kind !== 'logic') return step.collection.name
  const { output } = step.operation
  return output.kind === 'item' ? output.collection : undefined
}

/** The reply, as its fields are completed. */
class MutationReply {
  readonly errors: GraphQLFormattedError[] = []
  /** The error that made a field null. */
  fault: GraphQLFormattedError | undefined
  readonly #cost: number
  readonly #values = new Map<MutationStep, unknown>()
  #isNull = false

  constructor(cost: number) {
    this.#cost = cost
  }

  /** `complete` returns the field's value and adds its errors to the list; it throws a `FieldFailure` if a non-null field failed. */
  add(step: ExecutableStep, complete: (errors: GraphQLFormattedError[]) => unknown): void {
    const errorsBefore = this.errors.length
    try {
      const value = complete(this.errors)
      this.#values.set(step, value)
      if (value === null && this.errors.length > errorsBefore) this.fault = this.errors.at(-1)
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
