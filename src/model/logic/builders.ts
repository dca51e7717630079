/**
 * The functions that declare actions, queries, reactions, jobs and routes. `checkModel` checks what they return. `C`, the model's
 * collections, and `J`, the jobs and actions of an earlier part of its logic, are inferred from where the declaration is written: within
 * `model(…)`.
 */

import type { Awaitable } from '../../base/awaitable.ts'
import type { AnyCollections } from '../declared-model.ts'
import type { FieldDeclarations } from '../fields/declared.ts'
import type {
  ActionContext,
  CheckContext,
  EventDeclarations,
  EventPattern,
  JobContext,
  OperationRow,
  QueryContext,
  ReactionContext,
  ResultIn,
  ValuesIn,
} from '../types/logic.ts'
import type { FieldsIn, NameIn, NoRow } from '../types/model.ts'
import type { RouteAnswer, RouteContext } from '../types/route.ts'
import type { AccessRule, AnyCaller } from '../types/rule.ts'
import type { AnyEarlier } from '../types/run.ts'
import type { FaultField, TypedFault } from '../types/write.ts'
import type {
  ActionDeclaration,
  ActionOptions,
  CheckDeclaration,
  ItemDeclaration,
  JobDeclaration,
  QueryDeclaration,
  QueryOptions,
  ReactionDeclaration,
  RouteDeclaration,
  RouteOptions,
} from './logic.ts'

type None = Record<never, never>
type Output<C> = ValuesIn<C> | ItemDeclaration<NameIn<C>> | undefined

/** The types of an operation, for callers. */
export interface OperationTypes<On, Of, In, Out> {
  readonly on: On
  readonly of: Of
  readonly input: In
  readonly output: Out
}

export interface ActionTypes<On, Of, In, Out, E> extends OperationTypes<On, Of, In, Out> {
  readonly emits: E
}

interface TypedOptions<C, On, Of, In, Out, Callers extends AnyCaller>
  extends Omit<QueryOptions, 'on' | 'of' | 'input' | 'output' | 'access' | 'run'> {
  /** The collection of the item that it applies to. */
  readonly on?: On
  /** The collection that it belongs to. */
  readonly of?: Of
  readonly input?: In
  /** Omitted: it has no result. */
  readonly output?: Out
  /** With `on`, a rule over the item. Omitted: administrators only. */
  readonly access?: AccessRule<OperationRow<C, On>, Callers>
}

interface TypedQuery<C, On, Of, In, Out, Callers extends AnyCaller>
  extends TypedOptions<C, On, Of, In, Out, Callers> {
  run(context: QueryContext<C, On, In, Callers>): Awaitable<ResultIn<C, Out>>
}

interface TypedAction<C, J extends AnyEarlier, On, Of, In, Out, E, Callers extends AnyCaller>
  extends TypedOptions<C, On, Of, In, Out, Callers> {
  /** By type, e.g. `project.archived`. */
  readonly emits?: E
  run(context: ActionContext<C, On, In, E, J, Callers>): Awaitable<ResultIn<C, Out>>
}

/** A named operation over several items, in one serialisable transaction. */
export function action<
  C extends AnyCollections = AnyCollections,
  J extends AnyEarlier = AnyEarlier,
  const On extends NameIn<C> = never,
  const Of extends NameIn<C> = never,
  const In extends ValuesIn<C> = None,
  const Out extends Output<C> = undefined,
  const E extends EventDeclarations = None,
  Callers extends AnyCaller = 'user',
>(
  options: TypedAction<C, J, On, Of, In, Out, E, Callers>,
): ActionDeclaration<ActionTypes<On, Of, In, Out, E>, C, J> {
  return Object.freeze({ kind: 'action', options: options as unknown as ActionOptions })
}

/** A named operation that only reads, in one serialisable transaction. */
export function query<
  C extends AnyCollections = AnyCollections,
  const On extends NameIn<C> = never,
  const Of extends NameIn<C> = never,
  const In extends ValuesIn<C> = None,
  const Out extends Output<C> = undefined,
  Callers extends AnyCaller = 'user',
>(options: TypedQuery<C, On, Of, In, Out, Callers>): QueryDeclaration<OperationTypes<On, Of, In, Out>, C> {
  return Object.freeze({ kind: 'query', options: options as unknown as QueryOptions })
}

interface WithDescription {
  readonly description?: string
}

/** Runs after the commit of each event of these types: at least once, and in order for each item. */
export function on<
  C extends AnyCollections = AnyCollections,
  J extends AnyEarlier = AnyEarlier,
  const T extends EventPattern<C> = EventPattern<C>,
>(
  types: T | readonly T[],
  run: (context: ReactionContext<C, T, J>) => Awaitable<unknown>,
  options: WithDescription = {},
): ReactionDeclaration<T, C, J> {
  return Object.freeze({
    kind: 'reaction',
    types: typeof types === 'string' ? [types] : types,
    run,
    description: options?.description,
  })
}

interface EveryOptions extends WithDescription {
  /** An IANA name, e.g. `Europe/Berlin`; `UTC` if omitted. */
  readonly timeZone?: string
}

type RunJob<C, J extends AnyEarlier, In> = (context: JobContext<C, In, J>) => Awaitable<unknown>

/** A job that runs by a schedule: a cron expression, or words such as `day at 03:00`. */
export function every<C extends AnyCollections = AnyCollections, J extends AnyEarlier = AnyEarlier>(
  schedule: string,
  run: RunJob<C, J, None>,
): JobDeclaration<None, C, J>
export function every<C extends AnyCollections = AnyCollections, J extends AnyEarlier = AnyEarlier>(
  schedule: string,
  options: EveryOptions,
  run: RunJob<C, J, None>,
): JobDeclaration<None, C, J>
export function every(
  schedule: string,
  second: EveryOptions | JobDeclaration['run'],
  third?: JobDeclaration['run'],
): JobDeclaration<None> {
  const [options, run] = typeof second === 'function' ? [{}, second] : [second ?? {}, third]
  return Object.freeze({
    kind: 'job',
    schedule,
    timeZone: options.timeZone,
    input: undefined,
    run: run as JobDeclaration['run'],
    description: options.description,
  })
}

interface JobOptions<C, J extends AnyEarlier, In> extends WithDescription {
  readonly input?: In
  run(context: JobContext<C, In, J>): Awaitable<unknown>
}

/** A job that only `later` starts. */
export function job<
  C extends AnyCollections = AnyCollections,
  J extends AnyEarlier = AnyEarlier,
  const In extends FieldDeclarations = None,
>(options: JobOptions<C, J, In>): JobDeclaration<In, C, J> {
  const { input, run, description } = options ?? {}
  return Object.freeze({
    kind: 'job',
    schedule: undefined,
    timeZone: undefined,
    input,
    run,
    description,
  })
}

/**
 * A check that reads: called once an item of its collection has been written, within the write's transaction. It returns the
 * faults of the item, which undo the write.
 */
export function check<
  C extends AnyCollections = AnyCollections,
  N extends NameIn<C> = NameIn<C>,
  const Name extends FaultField<FieldsIn<C, N>> = never,
>(
  run: (context: CheckContext<C, N>) => Awaitable<readonly TypedFault<FieldsIn<C, N>, Name>[] | undefined>,
): CheckDeclaration<N, C> {
  return Object.freeze({ kind: 'check', run })
}

interface TypedRoute<C, J extends AnyEarlier, In, Path, Callers extends AnyCaller>
  extends Omit<RouteOptions, 'path' | 'input' | 'access' | 'run'> {
  /** Below `/hooks/`; with a slash in front, from the root. `:name` is a parameter. Default: the route's name. */
  readonly path?: Path
  /** The body, as JSON or as a form. */
  readonly input?: In
  /** Who may call it, as a rule about the caller: `anyone` for what strangers call. */
  readonly access: AccessRule<NoRow<C>, Callers>
  // biome-ignore lint/suspicious/noConfusingVoidType: nothing is returned.
  run(context: RouteContext<C, In, Path, J, Callers>): Awaitable<RouteAnswer | void>
}

/** A path of one's own: for what others call, such as payment providers, and for what is no JSON of the API. */
export function route<
  C extends AnyCollections = AnyCollections,
  J extends AnyEarlier = AnyEarlier,
  const In extends FieldDeclarations = None,
  const Path extends string = '',
  Callers extends AnyCaller = 'user',
>(options: TypedRoute<C, J, In, Path, Callers>): RouteDeclaration<In, C, J> {
  return Object.freeze({ kind: 'route', options: options as unknown as RouteOptions })
}
