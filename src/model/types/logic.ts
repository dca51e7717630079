/** The arguments and results of actions, queries, reactions and jobs. `C`: the model's collections. */

import type { FieldDeclaration } from '../fields/declared.ts'
import type { JsonObject } from '../fields/type.ts'
import type {
  CheckDeclaration,
  EmittedDeclaration,
  ItemDeclaration,
  LogicApp,
  LogicCaller,
  LogicUser,
} from '../logic/logic.ts'
import type { ActionCalls } from './actions.ts'
import type { ActionDataIn, ReadDataIn, RunDataIn, RunOnceIn } from './data.ts'
import type { Flat, OrNull } from './item.ts'
import type { FieldsIn, ItemIn, NameIn, NoRow, RowIn, SingularIn, UpdatedAtIn, WholeItemIn } from './model.ts'
import type { ReceivedIn } from './received.ts'
import type { AnyEarlier, Later, RunTools } from './run.ts'
import type { NoItem, OmittableNames, SentIn } from './sent.ts'
import type { SingularOf } from './singular.ts'
import type { StoredRow } from './write.ts'

export type ValuesIn<C> = Readonly<Record<string, FieldDeclaration | ItemDeclaration<NameIn<C>>>>

/** A value as `run` returns it: the id of an item stands for the item. */
type Returned<C, V> = V extends ItemDeclaration<infer N> ? ItemIn<C, N> | number | NoItem<V> : OrNull<V>
type ReturnedIn<C, Values> = Flat<
  { readonly [K in Exclude<keyof Values, OmittableNames<Values>>]: Returned<C, Values[K]> } & {
    readonly [K in OmittableNames<Values>]?: Returned<C, Values[K]>
  }
>

/** The return type of `run`. */
export type ResultIn<C, Output> = [Output] extends [undefined]
  ? // biome-ignore lint/suspicious/noConfusingVoidType: nothing is returned.
    void
  : Output extends ItemDeclaration
    ? Returned<C, Output>
    : ReturnedIn<C, Output>

/** The row to which the rule in `access` applies. */
export type OperationRow<C, On> = [On] extends [never] ? NoRow<C> : RowIn<C, On>

export interface QueryContext<C, On, Input, Callers> {
  /** The item that the operation applies to, if it has `on`. */
  readonly item: [On] extends [never] ? undefined : ItemIn<C, On>
  readonly input: Flat<ReceivedIn<C, Input>>
  /** Null: nobody is signed in. The rule in `access` may exclude that, and apps without a user. */
  readonly caller: LogicUser | ('anonymous' extends Callers ? LogicApp | null : never)
  readonly data: ActionDataIn<C>
  /** ISO 8601 UTC. */
  readonly now: string
}

export interface CheckContext<C, N> {
  /** The item as it has been written. */
  readonly next: StoredRow<FieldsIn<C, N>, UpdatedAtIn<C, N>>
  /** The item before; undefined for a create. */
  readonly previous: StoredRow<FieldsIn<C, N>, UpdatedAtIn<C, N>> | undefined
  /** Null: nobody is signed in, or the service writes. */
  readonly caller: LogicCaller | null
  /** As the service. */
  readonly data: ReadDataIn<C>
  /** The time of the write, ISO 8601 UTC. */
  readonly now: string
}

/** The checks of a part of a model's logic, by collection. */
export interface ChecksIn<C> {
  readonly checks?: { readonly [N in NameIn<C>]?: CheckDeclaration<N, C> }
}

type EmittedValues<E> = E extends { readonly fields: infer Fields } ? [values: SentIn<Fields>] : []

/** Emits an event about an item; it is committed with the action. */
type Emit<Events> = <const T extends keyof Events & string>(
  type: T,
  item: { readonly id: number },
  ...values: EmittedValues<Events[T]>
) => void

export interface ActionContext<C, On, Input, Events, Earlier extends AnyEarlier, Callers>
  extends QueryContext<C, On, Input, Callers> {
  readonly emit: Emit<Events>
  readonly later: Later<Earlier['jobs']>
  /** Calls another action, as the caller, as a part of this one, which fails with it. */
  readonly actions: ActionCalls<C, Earlier['actions']>
}

export type EventDeclarations = Readonly<Record<string, EmittedDeclaration>>

export type ChangeKind = 'created' | 'updated' | 'deleted'

export type DeclaredSingular<C, N> =
  SingularIn<C, N> extends infer S extends string
    ? string extends S
      ? SingularOf<N & string>
      : S
    : SingularOf<N & string>

/** The singular of each collection. */
type Singulars<C> = { readonly [N in NameIn<C>]: DeclaredSingular<C, N> }

/**
 * Event types: those of changes (`task.updated`), all of a collection (`task.*`), and those that actions emit. The emitted
 * types are not known where a reaction is written: `model` checks them.
 */
export type EventPattern<C> = string extends keyof C ? string : '*' | `${Singulars<C>[NameIn<C>]}.${string}`

/** Patterns that are valid without emitted events. */
export type KnownPattern<C> = '*' | `${Singulars<C>[NameIn<C>]}.${ChangeKind | '*'}`

type NamesOf<C, Singular> = {
  [N in NameIn<C>]: Singulars<C>[N] extends Singular ? N : never
}[NameIn<C>]

interface CommonEvent<Type> {
  readonly id: string
  /** E.g. `task.updated`. */
  readonly type: Type
  /** When it was committed, ISO 8601 UTC. */
  readonly created_at: string
  readonly item_id: number
  /** Null: an anonymous caller, or the service itself. */
  readonly actor: {
    /** Null: the app acted without a user. */
    readonly user_id: number | null
    readonly app_id: number | null
    /** The action that made the change, by `data.asSystem`. */
    readonly via?: string
  } | null
}

interface ChangeEvent<C, N, Kind, Type> extends CommonEvent<Type> {
  readonly collection: N
  /** Of an update: the fields that changed. */
  readonly changed: Kind extends 'updated' ? readonly (keyof ItemIn<C, N> & string)[] : null
  /** The item after the change; for a deletion, the item before it. */
  readonly data: WholeItemIn<C, N>
  /** Of an update: the item before the change. */
  readonly previous: Kind extends 'updated' ? WholeItemIn<C, N> : null
  readonly values: null
}

/** An event that actions emit about an item. Its fields are not known where a reaction is written. */
interface EmittedEvent<C, N, Type> extends CommonEvent<Type> {
  readonly collection: N
  readonly changed: null
  readonly data: WholeItemIn<C, N>
  readonly previous: null
  /** The declared fields of the event. */
  readonly values: JsonObject
}

/** An event whose type is only known at run time. */
interface AnyEvent extends CommonEvent<string> {
  readonly collection: string
  readonly changed: readonly string[] | null
  readonly data: JsonObject
  readonly previous: JsonObject | null
  /** Null for changes; the declared fields of an event that an action emitted. */
  readonly values: JsonObject | null
}

type ChangeOf<C, Singular, Kind> = Kind extends ChangeKind
  ? ChangeEvent<C, NamesOf<C, Singular>, Kind, `${Singular & string}.${Kind}`>
  : Kind extends '*'
    ?
        | ChangeOf<C, Singular, ChangeKind>
        | EmittedEvent<C, NamesOf<C, Singular>, `${Singular & string}.${string}`>
    : string extends Kind
      ? AnyEvent
      : EmittedEvent<C, NamesOf<C, Singular>, `${Singular & string}.${Kind & string}`>

/** The event of a pattern. */
type EventOf<C, Pattern> = Pattern extends `${infer Singular}.${infer Kind}`
  ? [NamesOf<C, Singular>] extends [never]
    ? AnyEvent
    : ChangeOf<C, Singular, Kind>
  : AnyEvent

/** Common to reactions and jobs. */
interface RunContext<C, Earlier extends AnyEarlier> extends RunTools<Earlier['jobs']> {
  readonly data: RunDataIn<C, Earlier>
  readonly once: RunOnceIn<C, Earlier>
  /** Calls an action, as the service itself. */
  readonly actions: ActionCalls<C, Earlier['actions']>
}

export interface ReactionContext<C, Pattern, Earlier extends AnyEarlier> extends RunContext<C, Earlier> {
  readonly event: EventOf<C, Pattern>
}

export interface JobContext<C, Input, Earlier extends AnyEarlier> extends RunContext<C, Earlier> {
  readonly input: Flat<ReceivedIn<C, Input>>
  /** The due time of the schedule, ISO 8601 UTC; undefined: `later` has started the job. */
  readonly scheduledFor: string | undefined
}
