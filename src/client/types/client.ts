/** The client: collections, actions and queries as functions. */
import type { Aggregate } from './aggregate.ts'
import type { ApiTypes, At, CollectionOf, NameOf } from './api.ts'
import type { EventOf as CollectionEvent, CollectionSubscription, EventsClient } from './events.ts'
import type { ApiOf } from './model.ts'
import type { CallOptions, ChangeOptions, WriteOptions } from './options.ts'
import type {
  FieldName,
  IncludePath,
  Listing,
  ListOptions,
  ListPage,
  ReadItem,
  Reading,
  Total,
} from './read.ts'
import type { Where } from './where.ts'

type Input<O> = keyof At<O, 'input'> extends never ? Record<string, never> : At<O, 'input'>

type Arguments<In> =
  Record<never, never> extends In ? [input?: In, options?: WriteOptions] : [input: In, options?: WriteOptions]

/** On an item, whose id comes first, or not. */
type Call<O> =
  'item' extends At<O, 'target'>
    ? (id: number, ...given: Arguments<Input<O>>) => Promise<At<O, 'output'>>
    : (...given: Arguments<Input<O>>) => Promise<At<O, 'output'>>

type Calls<Operations> = { readonly [Name in keyof Operations]: Call<Operations[Name]> }

type Name<A extends ApiTypes, N> = FieldName<A, N> | '*'
type Create<A extends ApiTypes, N> = At<CollectionOf<A, N>, 'create'>
type Revealed<A extends ApiTypes, N> = At<CollectionOf<A, N>, 'revealed'>

/** With `fields`, what is named. */
type Created<A extends ApiTypes, N, F, I> = [Revealed<A, N>] extends [never]
  ? ReadItem<A, N, F, I>
  : ReadItem<A, N, F, I> & ([F] extends [never] ? Revealed<A, N> : unknown)

type Update<A extends ApiTypes, N> = At<CollectionOf<A, N>, 'update'>

/** Calls reject with an `ApiError`. */
interface Reads<A extends ApiTypes, N> {
  /** Null where there is no such item, or none that you may read. */
  get<const F extends Name<A, N> = never, const I extends IncludePath<A, N> = never>(
    id: number,
    options?: Reading<F, I>,
  ): Promise<ReadItem<A, N, F, I> | null>
  /** The first that matches; null: none does. */
  first<const F extends Name<A, N> = never, const I extends IncludePath<A, N> = never>(
    options?: Listing<A, N, F, I>,
  ): Promise<ReadItem<A, N, F, I> | null>
  /** A page. */
  list<
    const F extends Name<A, N> = never,
    const I extends IncludePath<A, N> = never,
    const Cursor extends string = never,
    const T extends Total = 'exact',
  >(options?: ListOptions<A, N, F, I, Cursor, T>): Promise<ListPage<ReadItem<A, N, F, I>, Cursor, T>>
  count(where?: Where<A, N>, options?: CallOptions): Promise<number>
  readonly aggregate: Aggregate<A, N>
}

interface Writes<A extends ApiTypes, N> {
  /** Of an item that you may write but not read, only the `id` is given. */
  create<const F extends Name<A, N> = never, const I extends IncludePath<A, N> = never>(
    values: Create<A, N>,
    options?: Reading<F, I> & WriteOptions,
  ): Promise<Created<A, N, F, I>>
  /** Changes the given fields. `null` clears an optional one. */
  update<const F extends Name<A, N> = never, const I extends IncludePath<A, N> = never>(
    id: number,
    values: Update<A, N>,
    options?: Reading<F, I> & ChangeOptions,
  ): Promise<ReadItem<A, N, F, I>>
  /** Fields that are left out get their default, or null. */
  replace<const F extends Name<A, N> = never, const I extends IncludePath<A, N> = never>(
    id: number,
    values: Create<A, N>,
    options?: Reading<F, I> & ChangeOptions,
  ): Promise<ReadItem<A, N, F, I>>
  delete(id: number, options?: ChangeOptions): Promise<void>
}

interface Walks<A extends ApiTypes, N> {
  /** Walks all that match, by cursor. */
  all<const F extends Name<A, N> = never, const I extends IncludePath<A, N> = never>(
    options?: Listing<A, N, F, I> & { readonly perPage?: number },
  ): AsyncIterableIterator<ReadItem<A, N, F, I>>
  /** Creates all, or none: 1 to 1,000. */
  createMany<const F extends Name<A, N> = never, const I extends IncludePath<A, N> = never>(
    values: readonly Create<A, N>[],
    options?: Reading<F, I> & WriteOptions,
  ): Promise<readonly ReadItem<A, N, F, I>[]>
  /**
   * The changes, in the order of each item's changes. Reconnects by itself, and resumes where it was. Ends with an
   * `ApiError`: `RESYNC_REQUIRED` where events may be missing; `UNAUTHORIZED` where the token is refused.
   */
  subscribe(options?: CollectionSubscription<A, N>): AsyncIterableIterator<CollectionEvent<A, N>>
}

type BatchCollection<A extends ApiTypes, N> = Reads<A, N> &
  Writes<A, N> &
  Calls<At<CollectionOf<A, N>, 'actions'>>

/** A collection: `api.tasks.list()`, `api.tasks.archive(7, { why: 'old' })`. */
export type CollectionClient<A extends ApiTypes, N> = BatchCollection<A, N> & Walks<A, N>

/** The calls of a batch. They are settled with the batch: await the batch, not them. */
export type BatchClient<A extends ApiTypes> = { readonly [N in NameOf<A>]: BatchCollection<A, N> } & {
  readonly actions: Calls<A['actions']>
  readonly queries: Calls<A['queries']>
}

/**
 * A member of the result of an earlier call of the batch, to be sent as an id or within a body: `reference(task)` is its
 * `id`.
 */
type Refer = <T, const K extends keyof NonNullable<T> = 'id' & keyof NonNullable<T>>(
  call: Promise<T>,
  member?: K,
) => NonNullable<T>[K]

type Results<R> = { readonly [K in keyof R]: Awaited<R[K]> }

interface Common<A extends ApiTypes> {
  /** Actions without a collection. */
  readonly actions: Calls<A['actions']>
  readonly queries: Calls<A['queries']>
  readonly events: EventsClient<A>
  /** The signed-in user. */
  me<const F extends Name<A, 'users'> = never, const I extends IncludePath<A, 'users'> = never>(
    options?: Reading<F, I>,
  ): Promise<ReadItem<A, 'users', F, I>>
  /** Up to 100 calls in one transaction: all of them, or none. */
  batch<const R extends readonly Promise<unknown>[]>(
    operations: (tx: BatchClient<A>, reference: Refer) => R,
    options?: WriteOptions,
  ): Promise<Results<R>>
}

export type ClientOf<A extends ApiTypes> = {
  readonly [N in NameOf<A>]: CollectionClient<A, N>
} & Common<A>

/** A service as a caller sees it: `Client<typeof model>`, or of the types that `portico generate client` writes. */
export type Client<T> = ClientOf<ApiOf<T>>

/** An item as a read gives it: `ItemOf<typeof model, 'tasks'>`. Of generated types too, as are those below. */
export type ItemOf<T, N extends NameOf<ApiOf<T>>> = At<CollectionOf<ApiOf<T>, N>, 'item'>

/** The body that creates an item. */
export type CreateOf<T, N extends NameOf<ApiOf<T>>> = Create<ApiOf<T>, N>

/** The body that changes an item. */
export type UpdateOf<T, N extends NameOf<ApiOf<T>>> = Update<ApiOf<T>, N>

/** Which items. */
export type WhereOf<T, N extends NameOf<ApiOf<T>>> = Where<ApiOf<T>, N>

/** What a subscription gives. */
export type EventOf<T, N extends NameOf<ApiOf<T>>> = CollectionEvent<ApiOf<T>, N>
