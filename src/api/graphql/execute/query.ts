/**
 * A query is one composite plan. Fields that are queries of the model run apart from it. If no field can fail, the JSON of
 * the plan's answer is the reply.
 */
import { setImmediate } from 'node:timers/promises'
import type { GraphQLSchema } from 'graphql'
import { type Awaitable, then } from '../../../base/awaitable.ts'
import { ApiError, toApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { OperationParts } from '../../../engine/logic/operations/call.ts'
import type { CompositeAnswer, RenderedAnswer } from '../../../engine/plan/answer.ts'
import { AnswerBound, isLarger } from '../../../engine/plan/answer-bound.ts'
import { readsEveryRow } from '../../../engine/plan/guard/guard.ts'
import type { CompositeShape, Plan } from '../../../engine/plan/plan.ts'
import type { Run } from '../../../engine/plan/run.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Model } from '../../../model/model.ts'
import type { CachedOperation } from '../documents/prepared-documents.ts'
import type { Executed, ExecutionContext } from '../engine.ts'
import type { Variables } from '../plan/input.ts'
import type { LogicStep, QueryRoot, QueryVariant } from '../plan/variant.ts'
import { executed } from '../response.ts'
import { byPlace, Completion, type ReplyObject } from './completion.ts'
import { type QueryResults, runQueries } from './declared-query.ts'
import { createIntrospection, type Introspect } from './introspection.ts'
import { completeStep } from './mutation-request.ts'
import { replySize } from './reply-size.ts'

export interface BoundQuery {
  readonly prepared: CachedOperation
  readonly variant: QueryVariant
  readonly args: readonly JsonValue[]
  readonly cost: number
  readonly variables: Variables
  /** The variables as the client sent them. */
  readonly rawVariables: Readonly<Record<string, unknown>>
}

export type ExecuteQuery = (
  bound: BoundQuery,
  principal: Principal,
  context: ExecutionContext,
) => Awaitable<Executed>

export interface QueryParts {
  readonly model: Model
  readonly run: Run
  readonly logic: OperationParts
}

interface ExecutionParts extends QueryParts {
  readonly introspect: Introspect
}

export function createQuery(query: QueryParts, schema: GraphQLSchema): ExecuteQuery {
  const parts = { ...query, introspect: createIntrospection(schema, query.logic.limits.answers) }
  return (bound, principal, context) => new Execution(parts, bound, principal, context).reply()
}

type PlainRoot = Exclude<QueryRoot, { readonly from: 'query' }>

const noQueries: QueryResults = new Map()

/** A longer answer, in characters, is parsed in one turn of the event loop, completed in the next, and written in several. */
const maxTextOfTurn = 1024 * 1024

/** About how much memory the HTTP replies take, in addition to the text. */
const httpRepliesBytes = 1000

/** A reply that is cached with the answer it was rendered from. */
interface CachedReply extends Executed, RenderedAnswer {}

/** One query for one principal: plan → answer → reply. */
class Execution {
  readonly #parts: ExecutionParts
  readonly #bound: BoundQuery
  readonly #principal: Principal
  readonly #context: ExecutionContext
  readonly #plan: Plan<CompositeShape>

  constructor(parts: ExecutionParts, bound: BoundQuery, principal: Principal, context: ExecutionContext) {
    this.#parts = parts
    this.#bound = bound
    this.#principal = principal
    this.#context = context
    this.#plan = { shape: bound.variant.shape, args: argsFor(bound, principal) }
  }

  reply(): Awaitable<Executed> {
    const { declaredQueries } = this.#bound.variant
    if (declaredQueries.length > 0) return this.#withDeclared(declaredQueries)
    return then(this.#answer(), answer => this.#replyTo(answer))
  }

  async #withDeclared(steps: QueryVariant['declaredQueries']): Promise<Executed> {
    const answerBound = this.#answerBound()
    const { variables } = this.#bound
    const principal = this.#principal
    const queryResults = await runQueries(this.#parts, steps, { variables, principal, answerBound })
    const answer = await this.#answer()
    const isTooLarge = !(answer instanceof ApiError) && isLarger(answer.text, answerBound.leftBytes)
    return this.#complete(isTooLarge ? answerBound.refusal() : answer, queryResults)
  }

  #answerBound(): AnswerBound {
    return new AnswerBound(this.#parts.logic.limits.answers, 'readBytes')
  }

  /** The plan's answer, or the error of the whole plan. */
  #answer(): Awaitable<CompositeAnswer | ApiError> {
    if (this.#plan.shape.roots.length === 0) return { kind: 'composite', text: '{}' }
    try {
      const answer = this.#parts.run.composite(this.#plan, this.#principal)
      return answer instanceof Promise ? answer.catch(toApiError) : answer
    } catch (error) {
      return toApiError(error)
    }
  }

  /** Rendered once per answer, and cached with it. */
  #replyTo(answer: CompositeAnswer | ApiError): Awaitable<Executed> {
    const { onError } = this.#context
    // `onError` is only called while a reply is built, so a cached reply would skip it.
    if (answer instanceof ApiError || this.#bound.variant.isVolatile || onError) return this.#complete(answer)
    const cached = answer.rendered as CachedReply | undefined
    if (cached) return cached
    const reply = this.#isAnswerVerbatim()
      ? executed(answer.text, [], this.#bound.cost)
      : this.#complete(answer)
    return then(reply, completed => {
      const bytes = httpRepliesBytes + 2 * completed.text.length
      const rendered: CachedReply = { ...completed, replies: {}, bytes }
      answer.rendered = rendered
      return rendered
    })
  }

  /** Whether the answer's JSON is the reply: no field is refused, and no non-null field can be null. */
  #isAnswerVerbatim(): boolean {
    const { model, run } = this.#parts
    const { isVerbatim, requiredTargets } = this.#bound.variant
    const { access } = this.#principal
    return (
      isVerbatim &&
      requiredTargets.every(target => readsEveryRow(model, target, access)) &&
      run.refusals(this.#plan, this.#principal).length === 0
    )
  }

  #complete(answer: CompositeAnswer | ApiError, queryResults: QueryResults = noQueries): Awaitable<Executed> {
    if (answer instanceof ApiError) return this.#completeData(answer, queryResults, 'reply')
    const data: ReplyObject = JSON.parse(answer.text)
    if (answer.text.length <= maxTextOfTurn) return this.#completeData(data, queryResults, 'reply')
    return setImmediate().then(() => this.#completeData(data, queryResults, 'replyInTurns'))
  }

  #completeData(
    data: ReplyObject | ApiError,
    queryResults: QueryResults,
    method: 'reply' | 'replyInTurns',
  ): Awaitable<Executed> {
    const { run } = this.#parts
    const isFailed = data instanceof ApiError
    const refusals = isFailed ? [] : run.refusals(this.#plan, this.#principal)
    const { replyFields } = this.#bound.variant
    const size = replySize(replyFields, this.#answerBound())
    const completion = new Completion(byPlace(refusals), this.#plan.args, this.#context, size)
    return completion[method](this.#bound.cost, () => {
      const reply: ReplyObject = Object.create(null)
      for (const root of this.#bound.variant.roots) {
        const { replyField } = root
        const path = { parent: undefined, key: replyField.key }
        reply[replyField.key] =
          root.from === 'query'
            ? this.#declared(root.step, queryResults, completion)
            : completion.field(replyField, () => this.#value(root, data), path)
      }
      return reply
    })
  }

  #declared(step: LogicStep, queryResults: QueryResults, { errors }: Completion): unknown {
    const query = queryResults.get(step)
    if (query === undefined) throw new Error(`there is no result of ${step.replyField.name}`)
    const completionParts = { parts: this.#parts, principal: this.#principal, context: this.#context }
    return completeStep(completionParts, step, query.prepared, query.value, errors)
  }

  #value({ from, replyField: { source } }: PlainRoot, data: ReplyObject | ApiError): unknown {
    switch (from) {
      case 'plan':
        if (data instanceof ApiError) throw data
        return data[source]
      case 'introspection':
        return this.#parts.introspect(this.#bound, source)
      case 'rateLimit':
        return rateLimitOf(this.#context, this.#bound.cost)
      case 'constant':
      case 'nothing':
        return undefined
    }
  }
}

function argsFor({ variant, args }: BoundQuery, { userId }: Principal): readonly JsonValue[] {
  if (variant.callerIds.length === 0) return args
  const filledArgs = [...args]
  for (const param of variant.callerIds) filledArgs[param] = userId ?? 0
  return filledArgs
}

function rateLimitOf({ rateLimit }: ExecutionContext, cost: number) {
  if (!rateLimit) return null
  const { limit, remaining, resetAt } = rateLimit
  return { limit, cost, remaining, resetAt }
}
