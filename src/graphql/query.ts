/** Queries: one composite plan, whose answer is the reply where nothing of it can fail. */
import { type DocumentNode, executeSync, Kind, type OperationDefinitionNode } from 'graphql'
import { ApiError } from '../errors.ts'
import type { JsonValue } from '../model/fields/type.ts'
import type { Model } from '../model/model.ts'
import type { Awaitable, CompositeAnswer, RenderedAnswer } from '../plan/answer.ts'
import { staticRule } from '../plan/guard.ts'
import type { CompositeShape, Plan } from '../plan/plan.ts'
import type { Run } from '../plan/run.ts'
import type { AccessClass, Principal } from '../principal.ts'
import { byPlace, Completion, FieldFailure } from './completion.ts'
import type { Executed, ExecutionContext } from './engine.ts'
import { type Picked, some } from './picked.ts'
import type { Operation } from './prepare.ts'
import { executed } from './reply.ts'
import type { QueryRoot, QueryVariant } from './variant.ts'

/** A reply, remembered with the answer that it was made of. */
interface Kept extends Executed, RenderedAnswer {}

/** A query with its variables. */
export interface BoundQuery {
  readonly prepared: Operation
  readonly variant: QueryVariant
  readonly args: readonly JsonValue[]
  readonly cost: number
  /** As they came. */
  readonly given: Readonly<Record<string, unknown>>
}

export type ExecuteQuery = (
  bound: BoundQuery,
  principal: Principal,
  context: ExecutionContext,
) => Awaitable<Executed>

export function createQuery(model: Model, run: Run, schema: Parameters<typeof executeSync>[0]['schema']) {
  const holes = createHoles(model)

  const introspected = new WeakMap<BoundQuery, Readonly<Record<string, unknown>>>()

  function introspect(bound: BoundQuery): Readonly<Record<string, unknown>> {
    const known = introspected.get(bound)
    if (known) return known
    const made = introspectNow(bound)
    introspected.set(bound, made)
    return made
  }

  /** The fields that graphql-js answers. */
  function introspectNow({ prepared, variant, given }: BoundQuery): Readonly<Record<string, unknown>> {
    const asked = variant.roots.filter(({ from }) => from === 'introspection')
    if (asked.length === 0) return {}
    const selections = asked.flatMap(({ picked }) => picked.nodes)
    const operation: OperationDefinitionNode = {
      ...prepared.node,
      selectionSet: { kind: Kind.SELECTION_SET, selections },
    }
    const document: DocumentNode = {
      kind: Kind.DOCUMENT,
      definitions: [operation, ...prepared.fragments.values()],
    }
    return executeSync({ schema, document, variableValues: given }).data ?? {}
  }

  function complete(
    bound: BoundQuery,
    plan: Plan<CompositeShape>,
    answer: CompositeAnswer | ApiError,
    principal: Principal,
    context: ExecutionContext,
  ): Executed {
    const { variant, cost } = bound
    const failed = answer instanceof ApiError ? answer : undefined
    const refusals = failed ? [] : run.refusals(plan, principal)
    const completion = new Completion(byPlace(refusals), plan.args, context.onFault)
    const sources = {
      plan: failed ? {} : JSON.parse((answer as CompositeAnswer).text),
      introspection: introspect(bound),
      rateLimit: { rateLimit: rateLimitOf(context, cost) },
      constant: {},
    }
    const read = ({ from, picked }: QueryRoot) => {
      if (from === 'plan' && failed) throw failed
      if (from === 'rateLimit') return sources.rateLimit.rateLimit
      return sources[from][picked.source]
    }
    try {
      const data: Record<string, unknown> = Object.create(null)
      for (const root of variant.roots) {
        const { picked } = root
        data[picked.key] = completion.field(picked, () => read(root), {
          before: undefined,
          key: picked.key,
        })
      }
      return executed(JSON.stringify(data), completion.errors, cost)
    } catch (error) {
      if (!(error instanceof FieldFailure)) throw error
      completion.fail(error)
      return executed('null', completion.errors, cost)
    }
  }

  /** The answer as it is, where every field of it is shown as the plan gives it; else field by field. */
  function render(
    bound: BoundQuery,
    plan: Plan<CompositeShape>,
    answer: CompositeAnswer,
    principal: Principal,
    context: ExecutionContext,
  ): Executed {
    const { variant, cost } = bound
    const { access } = principal
    if (isPlain(variant) && !holes(variant, access) && run.refusals(plan, principal).length === 0) {
      return executed(answer.text, [], cost)
    }
    return complete(bound, plan, answer, principal, context)
  }

  const execute: ExecuteQuery = (bound, principal, context) => {
    const { variant } = bound
    const plan = { shape: variant.shape, args: argsFor(bound, principal) }
    const reply = (answer: CompositeAnswer): Executed => {
      if (dependsOnContext(variant)) return complete(bound, plan, answer, principal, context)
      const known = answer.rendered as Kept | undefined
      if (known) return known
      const made = render(bound, plan, answer, principal, context)
      const kept: Kept = { ...made, bytes: 2 * made.text.length }
      answer.rendered = kept
      return made
    }
    const fail = (error: unknown) => complete(bound, plan, failureOf(error), principal, context)
    try {
      const answer = variant.shape.roots.length === 0 ? empty() : run.composite(plan, principal)
      return answer instanceof Promise ? answer.then(reply, fail) : reply(answer)
    } catch (error) {
      return fail(error)
    }
  }
  return execute
}

function empty(): CompositeAnswer {
  return { kind: 'composite', text: '{}' }
}

export function failureOf(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError('INTERNAL_ERROR', undefined, { cause: error })
}

function argsFor({ variant, args }: BoundQuery, { userId }: Principal): readonly JsonValue[] {
  if (variant.me.length === 0) return args
  const own = [...args]
  for (const param of variant.me) own[param] = userId ?? 0
  return own
}

function rateLimitOf({ rateLimit }: ExecutionContext, cost: number) {
  if (!rateLimit) return null
  const { limit, remaining, resetAt } = rateLimit
  return { limit, cost, remaining, resetAt }
}

const plain = new WeakMap<QueryVariant, boolean>()

/** Whether the reply has only what the plan's answer holds, under the same keys. */
function isPlain(variant: QueryVariant): boolean {
  const known = plain.get(variant)
  if (known !== undefined) return known
  const trees = variant.roots.map(({ picked }) => picked)
  const made = variant.roots.every(({ from }) => from === 'plan') && !some(trees, isMade)
  plain.set(variant, made)
  return made
}

export function isMade(picked: Picked): boolean {
  if (picked.kind === 'constant') return false
  return picked.at === undefined || (picked.kind !== 'leaf' && picked.reshape !== undefined)
}

function dependsOnContext({ roots }: QueryVariant): boolean {
  return roots.some(({ from }) => from !== 'plan' && from !== 'constant')
}

/** Whether a caller may meet a null where the schema has none: a related item that only some may see. */
export function createHoles(model: Model) {
  const known = new WeakMap<object, WeakMap<AccessClass, boolean>>()
  const isHole = (picked: Picked, access: AccessClass) =>
    picked.kind === 'object' &&
    picked.nonNull &&
    picked.target !== undefined &&
    staticRule(model, picked.target, picked.target.access.read, access) !== 'always'
  return (variant: { readonly roots: readonly { readonly picked: Picked }[] }, access: AccessClass) => {
    const byAccess = known.get(variant) ?? new WeakMap<AccessClass, boolean>()
    known.set(variant, byAccess)
    const found = byAccess.get(access)
    if (found !== undefined) return found
    const trees = variant.roots.map(({ picked }) => picked)
    const made = some(trees, picked => isHole(picked, access))
    byAccess.set(access, made)
    return made
  }
}
