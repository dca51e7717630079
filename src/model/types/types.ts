/** The TypeScript types of items, bodies, `data` and clients, inferred from a declaration. */

import type { AnyCollections, Declaration } from '../declared-model.ts'
import type { ActionCalls } from './actions.ts'
import type {
  ActionTransactionsIn,
  CollectionDataIn,
  CreateIn,
  DataIn,
  DataUpdateIn,
  RunTransactionsIn,
  SystemDataIn,
  UpdateIn,
  WhereIn,
} from './data.ts'
import type { ItemIn, NameIn } from './model.ts'
import type { EarlierOf } from './run.ts'

type LogicIn<M> = M extends { readonly logic: infer L } ? EarlierOf<L> : never
type CollectionsOf<M> = M extends Declaration<infer C extends AnyCollections> ? C : never

/** The names of a model's collections, the built-in ones among them. */
export type CollectionName<M extends Declaration> = NameIn<CollectionsOf<M>>

/** An item as the API returns it: `Item<typeof model, 'posts'>`. It has computed fields only if a read names them. */
export type Item<M extends Declaration, C extends CollectionName<M>> = ItemIn<CollectionsOf<M>, C>

/** The body that creates an item: `CreateInput<typeof model, 'posts'>`. */
export type CreateInput<M extends Declaration, C extends CollectionName<M>> = CreateIn<CollectionsOf<M>, C>

/** The body that changes an item: `UpdateInput<typeof model, 'posts'>`. */
export type UpdateInput<M extends Declaration, C extends CollectionName<M>> = UpdateIn<CollectionsOf<M>, C>

/** A filter: `Where<typeof model, 'posts'>`. */
export type Where<M extends Declaration, C extends CollectionName<M>> = WhereIn<CollectionsOf<M>, C>

/** The items of one collection, as a user reads and writes them. */
export type CollectionData<M extends Declaration, C extends CollectionName<M>> = CollectionDataIn<
  CollectionsOf<M>,
  C,
  CreateInput<M, C>,
  DataUpdateIn<CollectionsOf<M>, C>
>

/** The collections by name, as a user: `data` of actions and queries. */
export type Data<M extends Declaration> = DataIn<CollectionsOf<M>>

/** The collections by name, as the service itself, to which no rules apply: `data.asSystem`. */
export type SystemData<M extends Declaration> = SystemDataIn<CollectionsOf<M>>

/** `data` of a program, as a user. */
export type ProgramData<M extends Declaration> = Data<M> & ActionTransactionsIn<CollectionsOf<M>, LogicIn<M>>

/** `data` of a program, as the service itself. */
export type SystemProgramData<M extends Declaration> = SystemData<M> &
  RunTransactionsIn<CollectionsOf<M>, LogicIn<M>>

/** The actions of a model as functions of a program. */
export type ProgramActions<M extends Declaration> = ActionCalls<CollectionsOf<M>, LogicIn<M>['actions']>
