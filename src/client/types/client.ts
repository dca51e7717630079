/** The client: collections, actions and queries as functions. */
import type { Listing, ListOptions, Reading, Total } from '../list-options.ts'
import type { Aggregate } from './aggregate.ts'
import type { ApiTypes, At, CollectionOf, NameOf } from './api.ts'
import type { EventOf as CollectionEvent, CollectionSubscription, EventsClient } from './events.ts'
import type { ApiOf } from './model.ts'
import type { CallOptions, ChangeOptions, WriteOptions } from './options.ts'
import type { FieldName, IncludePath, ListPage, ReadItem } from './read.ts'
import type { Where } from './where.ts'

type Input<O> = keyof At<O, 'input'> extends never ? Record<string, never> : At<O, 'input'>

type Arguments<In> =
  Record<never, never> extends In ? [input?: In, options?: WriteOptions] : [input: In, options?: WriteOptions]

/** A call on an item takes the item's id first. */
type Call<O> =
  'item' extends At<O, 'target'>
    ? (id: number, ...args: Arguments<Input<O>>) => Promise<At<O, 'output'>>
    : (...args: Arguments<Input<O>>) => Promise<At<O, 'output'>>

type Calls<Operations> = { readonly [Name in keyof Operations]: Call<Operations[Name]> }

type Name<A extends ApiTypes, N> = FieldName<A, N> | '*'
type Create<A extends ApiTypes, N> = At<CollectionOf<A, N>, 'create'>
type Revealed<A extends ApiTypes, N> = At<CollectionOf<A, N>, 'revealed'>

/** The result of a create: with `fields`, only the named fields. */
type Created<A extends ApiTypes, N, F, I> = [Revealed<A, N>] extends [never]
  ? ReadItem<A, N, F, I>
  : ReadItem<A, N, F, I> & ([F] extends [never] ? Revealed<A, N> : unknown)

type Update<A extends ApiTypes, N> = At<CollectionOf<A, N>, 'update'>

/** Calls reject with an `ApiError`. */
interface Reads<A extends ApiTypes, N> {
  /** Returns null if the item does not exist or you may not read it. */
  get<const F extends Name<A, N> = never, const I extends IncludePath<A, N> = never>(
    id: number,
    options?: Reading<F, I>,
  ): Promise<ReadItem<A, N, F, I> | null>
  /** Returns the first item that matches; null if none does. */
  first<const F extends Name<A, N> = never, const I extends IncludePath<A, N> = never>(
    options?: Listing<A, N, F, I>,
  ): Promise<ReadItem<A, N, F, I> | null>
  /** Returns one page. */
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
  /** Returns only the `id` of an item that you may create but not read. */
  create<const F extends Name<A, N> = never, const I extends IncludePath<A, N> = never>(
    values: Create<A, N>,
    options?: Reading<F, I> & WriteOptions,
  ): Promise<Created<A, N, F, I>>
  /** Changes the fields in `values`. `null` clears an optional field. */
  update<const F extends Name<A, N> = never, const I extends IncludePath<A, N> = never>(
    id: number,
    values: Update<A, N>,
    options?: Reading<F, I> & ChangeOptions,
  ): Promise<ReadItem<A, N, F, I>>
  /** Omitted fields get their default, or null. */
  replace<const F extends Name<A, N> = never, const I extends IncludePath<A, N> = never>(
    id: number,
    values: Create<A, N>,
    options?: Reading<F, I> & ChangeOptions,
  ): Promise<ReadItem<A, N, F, I>>
  delete(id: number, options?: ChangeOptions): Promise<void>
}

/** The functions that a batch does not have. */
interface Unbatched<A extends ApiTypes, N> {
  /** Iterates over all items that match, by cursor. */
  all<const F extends Name<A, N> = never, const I extends IncludePath<A, N> = never>(
    options?: Listing<A, N, F, I> & { readonly perPage?: number },
  ): AsyncIterableIterator<ReadItem<A, N, F, I>>
  /** Reads all items that match in one response: as text of CSV, in pieces, or as items. One that breaks off throws a `NETWORK_ERROR`. */
  export<
    const Format extends 'csv' | 'ndjson',
    const F extends Name<A, N> = never,
    const I extends IncludePath<A, N> = never,
  >(
    options: Listing<A, N, F, I> & { readonly format: Format },
  ): AsyncIterableIterator<Format extends 'csv' ? string : ReadItem<A, N, F, I>>
  /** Creates 1 to 1,000 items, all or none. */
  createMany<const F extends Name<A, N> = never, const I extends IncludePath<A, N> = never>(
    values: readonly Create<A, N>[],
    options?: Reading<F, I> & WriteOptions,
  ): Promise<readonly ReadItem<A, N, F, I>[]>
  /**
   * Iterates over changes; those of one item are in order. Reconnects and resumes automatically. Ends with an `ApiError`:
   * `RESYNC_REQUIRED` if events may be missing, `UNAUTHORIZED` if the token is refused.
   */
  subscribe(options?: CollectionSubscription<A, N>): AsyncIterableIterator<CollectionEvent<A, N>>
}

type BatchCollection<A extends ApiTypes, N> = Reads<A, N> &
  Writes<A, N> &
  Calls<At<CollectionOf<A, N>, 'actions'>>

/** A collection: `api.tasks.list()`, `api.tasks.archive(7, { why: 'old' })`. */
export type CollectionClient<A extends ApiTypes, N> = BatchCollection<A, N> & Unbatched<A, N>

/** The calls of a batch. They settle with the batch: await the batch, not the calls. */
export type BatchClient<A extends ApiTypes> = { readonly [N in NameOf<A>]: BatchCollection<A, N> } & {
  readonly actions: Calls<A['actions']>
  readonly queries: Calls<A['queries']>
}

/**
 * Refers to a member of the result of an earlier call of the batch, as an id or within a body: `reference(task)` is the
 * task's `id`.
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
  /** Executes up to 100 calls in one transaction, all or none. */
  batch<const R extends readonly Promise<unknown>[]>(
    operations: (tx: BatchClient<A>, reference: Refer) => R,
    options?: WriteOptions,
  ): Promise<Results<R>>
}

export type ClientOf<A extends ApiTypes> = {
  readonly [N in NameOf<A>]: CollectionClient<A, N>
} & Common<A>

/** A client of a service: `Client<typeof model>`, or with the types that `portico generate client` writes. */
export type Client<T> = ClientOf<ApiOf<T>>

/** An item as a read returns it: `ItemOf<typeof model, 'tasks'>`. This type and those below also accept generated types. */
export type ItemOf<T, N extends NameOf<ApiOf<T>>> = At<CollectionOf<ApiOf<T>, N>, 'item'>

/** The body that creates an item. */
export type CreateOf<T, N extends NameOf<ApiOf<T>>> = Create<ApiOf<T>, N>

/** The body that changes an item. */
export type UpdateOf<T, N extends NameOf<ApiOf<T>>> = Update<ApiOf<T>, N>

/** The conditions of a list. */
export type WhereOf<T, N extends NameOf<ApiOf<T>>> = Where<ApiOf<T>, N>

/** An event of a subscription. */
export type EventOf<T, N extends NameOf<ApiOf<T>>> = CollectionEvent<ApiOf<T>, N>
