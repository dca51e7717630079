/** What callers of a service get, typed by its model: collections, actions and queries as functions. `L`: the model's logic. */

import type { ActionTypes, OperationTypes } from '../logic/builders.ts'
import type { ActionDeclaration, QueryDeclaration } from '../logic.ts'
import type { CollectionDataIn, CreateIn, UpdateIn } from './data.ts'
import type { OutputIn, SentIn } from './logic.ts'
import type { NameIn } from './model.ts'

type Part<L, Name extends string> = L extends { readonly [K in Name]: infer P } ? P : Record<never, never>

type InputArgs<In> = Record<never, never> extends SentIn<In> ? [input?: SentIn<In>] : [input: SentIn<In>]

/** On an item, whose id comes first, or not. */
type Call<C, On, In, Out> = [On] extends [never]
  ? (...input: InputArgs<In>) => Promise<OutputIn<C, Out>>
  : (id: number, ...input: InputArgs<In>) => Promise<OutputIn<C, Out>>

type ActionCall<C, A> =
  A extends ActionDeclaration<ActionTypes<infer On, unknown, infer In, infer Out, unknown>>
    ? Call<C, On, In, Out>
    : never

type QueryCall<C, Q> =
  Q extends QueryDeclaration<OperationTypes<infer On, unknown, infer In, infer Out>>
    ? Call<C, On, In, Out>
    : never

/** The collection of an action; `undefined`: it has none. */
type PlaceOf<A> =
  A extends ActionDeclaration<ActionTypes<infer On, infer Of, unknown, unknown, unknown>>
    ? [On | Of] extends [never]
      ? undefined
      : On | Of
    : never

type ActionsAt<C, Actions, Place> = {
  readonly [Name in keyof Actions as PlaceOf<Actions[Name]> extends Place ? Name : never]: ActionCall<
    C,
    Actions[Name]
  >
}

type CollectionClient<C, L, N> = CollectionDataIn<C, N, CreateIn<C, N>, UpdateIn<C, N>> &
  ActionsAt<C, Part<L, 'actions'>, N>

interface FreeOperations<C, L> {
  /** Actions without a collection. */
  readonly actions: ActionsAt<C, Part<L, 'actions'>, undefined>
  readonly queries: { readonly [Name in keyof Part<L, 'queries'>]: QueryCall<C, Part<L, 'queries'>[Name]> }
}

/** `api.projects.list()`, `api.projects.archive(id, input)`, `api.actions.x(input)`, `api.queries.y(input)`. */
export type ClientIn<C, L> = { readonly [N in NameIn<C>]: CollectionClient<C, L, N> } & FreeOperations<C, L>
