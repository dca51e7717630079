/** Derives `ApiTypes` from a model's type. `C`: the model's collections; `L`: its logic. */
import type { AnyCollections, Declaration } from '../../model/declared-model.ts'
import type { ActionTypes, OperationTypes } from '../../model/logic/builders.ts'
import type { ActionDeclaration, QueryDeclaration } from '../../model/logic/logic.ts'
import type { CreateIn, UpdateIn } from '../../model/types/data.ts'
import type { DeclaredSingular } from '../../model/types/logic.ts'
import type { ComputedIn, NameIn, PlainItemIn, ToManyIn, ToOneIn } from '../../model/types/model.ts'
import type { OutputIn } from '../../model/types/received.ts'
import type { SentIn } from '../../model/types/sent.ts'
import type { ApiTypes } from './api.ts'

type Part<L, Name extends string> = L extends { readonly [K in Name]: infer P } ? P : Record<never, never>

type Target<On, Of> = [On] extends [never] ? ([Of] extends [never] ? 'none' : 'collection') : 'item'

interface Operation<C, On, Of, In, Out> {
  readonly target: Target<On, Of>
  readonly input: SentIn<In>
  readonly output: OutputIn<C, Out>
}

type ActionOf<C, A> =
  A extends ActionDeclaration<ActionTypes<infer On, infer Of, infer In, infer Out, unknown>>
    ? Operation<C, On, Of, In, Out>
    : never

type QueryOf<C, Q> =
  Q extends QueryDeclaration<OperationTypes<infer On, infer Of, infer In, infer Out>>
    ? Operation<C, On, Of, In, Out>
    : never

/** The collection of an action; `undefined` if it has none. */
type CollectionOfAction<A> =
  A extends ActionDeclaration<ActionTypes<infer On, infer Of, unknown, unknown, unknown>>
    ? [On | Of] extends [never]
      ? undefined
      : On | Of
    : never

type ActionsIn<C, Actions, Place> = {
  readonly [Name in keyof Actions as CollectionOfAction<Actions[Name]> extends Place
    ? Name
    : never]: ActionOf<C, Actions[Name]>
}

type EmitsOf<A> =
  A extends ActionDeclaration<ActionTypes<unknown, unknown, unknown, unknown, infer E>> ? E : never

type EmittedBy<Actions, Singular> = {
  [Name in keyof Actions]: Extract<keyof EmitsOf<Actions[Name]>, `${Singular & string}.${string}`>
}[keyof Actions]

type FieldsOfEvent<Actions, Type> = {
  [Name in keyof Actions]: EmitsOf<Actions[Name]> extends { readonly [K in Type & string]: infer E }
    ? E
    : never
}[keyof Actions]

type EmittedValues<E> = E extends { readonly fields: infer Fields } ? SentIn<Fields> : Record<never, never>

type Emits<Actions, Singular> = {
  readonly [Type in EmittedBy<Actions, Singular>]: EmittedValues<FieldsOfEvent<Actions, Type>>
}

interface Secrets {
  readonly api_keys: { readonly key: string }
  readonly oauth_apps: { readonly client_secret?: string }
  readonly oauth_app_secrets: { readonly client_secret: string }
  readonly webhooks: { readonly secret: string }
}

interface Collection<C, L, N> {
  readonly singular: DeclaredSingular<C, N>
  readonly item: PlainItemIn<C, N>
  readonly computed: ComputedIn<C, N>
  readonly revealed: N extends keyof Secrets ? Secrets[N] : never
  readonly create: CreateIn<C, N>
  readonly update: UpdateIn<C, N>
  readonly one: ToOneIn<C, N>
  readonly many: ToManyIn<C, N>
  readonly actions: ActionsIn<C, Part<L, 'actions'>, N>
  readonly emits: Emits<Part<L, 'actions'>, DeclaredSingular<C, N>>
}

interface ApiIn<C, L> {
  readonly collections: { readonly [N in NameIn<C>]: Collection<C, L, N> }
  readonly actions: ActionsIn<C, Part<L, 'actions'>, undefined>
  readonly queries: { readonly [Name in keyof Part<L, 'queries'>]: QueryOf<C, Part<L, 'queries'>[Name]> }
}

type LogicOf<M> = M extends { readonly logic: infer L } ? L : never

/** The types of a client: `typeof model`, or the types that `portico generate client` writes. */
export type ApiSource = Declaration | ApiTypes

export type ApiOf<T> =
  T extends Declaration<infer C extends AnyCollections>
    ? ApiIn<C, LogicOf<T>>
    : T extends ApiTypes
      ? T
      : never
