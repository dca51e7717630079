/** Events as subscribers receive them, typed by the collection. */
import type { ApiTypes, At, CollectionOf, NameOf } from './api.ts'
import type { CallOptions } from './options.ts'
import type { Where } from './where.ts'

interface CommonEvent<N, Type> {
  /** Increases with each change of an item. Equal ids mean the same event. */
  readonly id: string
  readonly type: Type
  /** When the change was committed, in ISO 8601 and UTC. */
  readonly created_at: string
  readonly collection: N
  readonly item_id: number
  /** Absent if the caller was anonymous, or you may not read the user, or the app that acted without one. */
  readonly actor?: {
    readonly user_id: number | null
    readonly app_id: number | null
    /** The action that made the change on their behalf. */
    readonly via?: string
  }
}

interface CreatedEvent<Item, N, Type> extends CommonEvent<N, Type> {
  readonly data: Item
}

interface UpdatedEvent<Item, N, Type> extends CommonEvent<N, Type> {
  /** The fields whose values have changed. */
  readonly changed: readonly (keyof Item & string)[]
  readonly data: Item
}

interface DeletedEvent<Item, N, Type> extends CommonEvent<N, Type> {
  /** The item before its deletion; null if it still exists but no longer matches, or may no longer be read. */
  readonly data: Item | null
}

interface EmittedEvent<Item, N, Type, Values> extends CommonEvent<N, Type> {
  readonly values: Values
  readonly data: Item
}

type SingularOf<A extends ApiTypes, N> = At<CollectionOf<A, N>, 'singular'> & string
type ItemOf<A extends ApiTypes, N> = At<CollectionOf<A, N>, 'item'>
type EmitsOf<A extends ApiTypes, N> = At<CollectionOf<A, N>, 'emits'>

type EmittedEvents<A extends ApiTypes, N> = {
  [Type in keyof EmitsOf<A, N>]: EmittedEvent<ItemOf<A, N>, N, Type, EmitsOf<A, N>[Type]>
}[keyof EmitsOf<A, N>]

/** An event of a collection, discriminated by `type`. */
export type EventOf<A extends ApiTypes, N> =
  N extends NameOf<A>
    ?
        | CreatedEvent<ItemOf<A, N>, N, `${SingularOf<A, N>}.created`>
        | UpdatedEvent<ItemOf<A, N>, N, `${SingularOf<A, N>}.updated`>
        | DeletedEvent<ItemOf<A, N>, N, `${SingularOf<A, N>}.deleted`>
        | EmittedEvents<A, N>
    : never

type TypeOf<A extends ApiTypes, N> =
  N extends NameOf<A>
    ? `${SingularOf<A, N>}.${'created' | 'updated' | 'deleted' | '*'}` | (keyof EmitsOf<A, N> & string)
    : never

interface EventOptions {
  /** The id of the last event that you have. If omitted, only new events are returned. */
  readonly after?: string | undefined
}

export interface SubscribeOptions extends EventOptions {
  /** Ends the subscription without an error. `break` does too. */
  readonly signal?: AbortSignal | undefined
  /** Called when the stream connects, and when it disconnects. It reconnects automatically. */
  readonly onConnection?: (isConnected: boolean) => void
}

interface CollectionFilter<A extends ApiTypes, N> {
  /** An item that no longer matches arrives as a deletion. */
  readonly where?: Where<A, N>
  readonly types?: readonly TypeOf<A, N>[]
  readonly itemId?: number
}

export interface CollectionSubscription<A extends ApiTypes, N>
  extends SubscribeOptions,
    CollectionFilter<A, N> {}

interface LogFilter<A extends ApiTypes, N> {
  /** Default: all collections that you may read. */
  readonly collections?: readonly N[]
  readonly types?: readonly TypeOf<A, NameOf<A>>[]
}

interface LogSubscription<A extends ApiTypes, N> extends SubscribeOptions, LogFilter<A, N> {}

interface LogPageOptions<A extends ApiTypes, N> extends CallOptions, EventOptions, LogFilter<A, N> {
  /** 1 to 1,000. Default: 100. */
  readonly limit?: number
  /** Seconds to wait for an event, up to 30. */
  readonly wait?: number
}

interface LogPage<Event> {
  readonly data: readonly Event[]
  readonly meta: {
    /** The `after` of the next page, or of a subscription. */
    readonly next_after: string
    readonly has_more: boolean
  }
}

export interface EventsClient<A extends ApiTypes> {
  /** Returns a page of the log. Without `after` it is empty, and `meta.next_after` is the end of the log. */
  list<const N extends NameOf<A> = NameOf<A>>(options?: LogPageOptions<A, N>): Promise<LogPage<EventOf<A, N>>>
  /** See `CollectionClient.subscribe`. */
  subscribe<const N extends NameOf<A> = NameOf<A>>(
    options?: LogSubscription<A, N>,
  ): AsyncIterableIterator<EventOf<A, N>>
}
