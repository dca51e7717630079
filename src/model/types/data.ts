/** The types of `data`, which `engine/logic/data/data.ts` implements. `C`: the model's collections, `N`: the name of one. */
import type { Awaitable } from '../../base/awaitable.ts'
import type { FieldDeclaration, ReferenceTrait } from '../fields/declared.ts'
import type { CallerActionCalls } from './actions.ts'
import type { FieldCondition } from './conditions.ts'
import type { ChangesOf, Flat, InputOf, StoredOf } from './item.ts'
import type { FieldsIn, ItemIn, NameIn, OptionalToOneIn, RelationsIn, ToOneIn, WholeItemIn } from './model.ts'
import type { AnyEarlier, Later } from './run.ts'

/** Who reads. `Reader`: perhaps a user, from whom rules may hide fields and related items. So `SystemDataIn` is a `DataIn`. */
type Reader = 'user' | 'service'
type ItemFor<C, N, By extends Reader> = [By] extends ['service'] ? WholeItemIn<C, N> : ItemIn<C, N>

interface Combined<C, N> {
  readonly and?: readonly WhereIn<C, N>[]
  readonly or?: readonly WhereIn<C, N>[]
  readonly not?: WhereIn<C, N>
}

/**
 * A filter: `{ status: 'open' }`, `{ points: { gte: 3 }, or: [{ status: 'a' }, { author: { name: 'x' } }] }`.
 *
 * `in out`, here and below: the compiler compares the type by its arguments. Otherwise it would find out how they vary by
 * comparing members for unknown collections, and follow relations without end.
 */
export type WhereIn<in out C, in out N> = {
  readonly [K in
    | keyof ItemIn<C, N>
    | keyof RelationsIn<C, N>
    | keyof Combined<C, N>]?: K extends keyof ItemIn<C, N>
    ? FieldCondition<ItemIn<C, N>, K>
    : K extends keyof RelationsIn<C, N>
      ? WhereIn<C, RelationsIn<C, N>[K]>
      : Combined<C, N>[K & keyof Combined<C, N>]
}

type FieldName<C, N> = keyof ItemIn<C, N> & string
/** `*`: every stored field that the principal may read. */
type SelectableName<C, N> = FieldName<C, N> | '*'
type RelationName<C, N> = keyof RelationsIn<C, N> & string
/** A relation, or a path along several: `author.posts`. */
type IncludePath<C, N> = RelationName<C, N> | `${RelationName<C, N>}.${string}`

type Head<Path> = Path extends `${infer First}.${string}` ? First : Path
type Tail<Path, First> = Path extends `${First & string}.${infer Rest}` ? Rest : never

/** Null where the relation leads nowhere, or to an item that the reader may not read. */
type NoRelated<C, N, Name, By extends Reader> = [By] extends ['service']
  ? Name extends OptionalToOneIn<C, N>
    ? null
    : never
  : null

type Related<C, N, Name, Paths, By extends Reader> = Name extends keyof ToOneIn<C, N>
  ? ReadItem<C, ToOneIn<C, N>[Name], never, Tail<Paths, Name>, By> | NoRelated<C, N, Name, By>
  : Name extends keyof RelationsIn<C, N>
    ? readonly ReadItem<C, RelationsIn<C, N>[Name], never, Tail<Paths, Name>, By>[]
    : never

type Included<C, N, Paths, By extends Reader> = {
  readonly [Name in Head<Paths> & string]: Related<C, N, Name, Paths, By>
}

/** The named fields, including computed ones. */
type Selected<Item, Names> = ('*' extends Names ? Item : unknown) & {
  readonly [K in Names & keyof Item]: Exclude<Item[K], undefined>
}

/** An item as a read returns it. `Names`: those in `fields`; `Paths`: those in `include`; `never`: omitted. */
type ReadItem<C, N, Names, Paths, By extends Reader> = [Names | Paths] extends [never]
  ? ItemFor<C, N, By>
  : Flat<
      ([Names] extends [never] ? ItemFor<C, N, By> : Selected<ItemFor<C, N, By>, Names>) &
        Included<C, N, Paths, By>
    >

interface Reading<Names, Paths> {
  /** Fields, including computed ones; `*` stands for every stored field that the principal may read, which is also the default. */
  readonly fields?: readonly Names[]
  /** Relations to embed, also along several: `author.posts`. */
  readonly include?: readonly Paths[]
}

interface Listing<C, N, Names, Paths> extends Reading<Names, Paths> {
  readonly where?: WhereIn<C, N>
  /** As in `?sort=`: `['-created_at', 'title']`. */
  readonly sort?: readonly (FieldName<C, N> | `-${FieldName<C, N>}`)[]
}

interface ListPage<C, N, Names, Paths> extends Listing<C, N, Names, Paths> {
  /** 1 to 1,000. Default: everything, which must be at most 1,000 items; with `page`, 100. */
  readonly limit?: number
  readonly page?: number
}

/** A change of a stored number. Rejects with `CONFLICT` if the result is beyond the bounds, or there is no stored number. */
interface Increment {
  readonly increment: number
  readonly min?: number
  readonly max?: number
}

interface ChangeOptions<C, N> {
  /**
   * The item as the same `data` has read it, whole or by `fields`: rejects with `PRECONDITION_FAILED` if one of these fields has
   * another value now.
   */
  readonly ifMatch?: Partial<ItemIn<C, N>>
}

interface UpsertOptions<Name> {
  readonly by: Name | readonly Name[]
}

interface BoundOptions {
  /** The maximum number of items, 1 to 1,000. Default: every match, or a rejection if there are more than 1,000. */
  readonly limit?: number
}

/** Calls that only read. */
interface CollectionReadsIn<in out C, in out N, out By extends Reader> {
  /** Null if the item does not exist, or the principal may not read it. */
  get<const F extends SelectableName<C, N> = never, const I extends IncludePath<C, N> = never>(
    id: number,
    options?: Reading<F, I>,
  ): Promise<ReadItem<C, N, F, I, By> | null>
  /** The first match; null if there is none. */
  first<const F extends SelectableName<C, N> = never, const I extends IncludePath<C, N> = never>(
    options?: Listing<C, N, F, I>,
  ): Promise<ReadItem<C, N, F, I, By> | null>
  /** Without `limit`, rejects if there are more than 1,000 items: say `limit`, or walk with `all`. */
  list<const F extends SelectableName<C, N> = never, const I extends IncludePath<C, N> = never>(
    options?: ListPage<C, N, F, I>,
  ): Promise<readonly ReadItem<C, N, F, I, By>[]>
  /** Iterates over all matches, by default in the order of ids. */
  all<const F extends SelectableName<C, N> = never, const I extends IncludePath<C, N> = never>(
    options?: Listing<C, N, F, I>,
  ): AsyncIterable<ReadItem<C, N, F, I, By>>
  count(where?: WhereIn<C, N>): Promise<number>
}

/** Calls reject with the `ApiError` of the API: `NOT_FOUND`, `FORBIDDEN`, `VALIDATION_FAILED`, `CONFLICT`. */
export interface CollectionDataIn<in out C, in out N, in Create, in Update, out By extends Reader = Reader>
  extends CollectionReadsIn<C, N, By> {
  create(values: Create): Promise<ItemFor<C, N, By>>
  /** Changes the fields in `values`. `{ seats: { increment: -1, min: 0 } }` changes a number by its stored value. */
  update(id: number, values: Update, options?: ChangeOptions<C, N>): Promise<ItemFor<C, N, By>>
  delete(id: number, options?: ChangeOptions<C, N>): Promise<void>
  /**
   * Changes the item that has these values in the fields of `by`, or creates it: safe under concurrency. A unique field, or the
   * fields of a unique index.
   */
  upsert(
    options: UpsertOptions<keyof FieldsIn<C, N> & string>,
    values: Create,
  ): Promise<{ readonly item: ItemFor<C, N, By>; readonly created: boolean }>
  /** Changes every match, each as `update` does: all of them or none. Resolves with their number. */
  updateWhere(where: WhereIn<C, N>, values: Update, options?: BoundOptions): Promise<number>
  /** Deletes every match, each as `delete` does: all of them or none. Resolves with their number. */
  deleteWhere(where: WhereIn<C, N>, options?: BoundOptions): Promise<number>
}

export type CreateIn<C, N> = Flat<InputOf<FieldsIn<C, N>>>
export type UpdateIn<C, N> = Flat<ChangesOf<FieldsIn<C, N>>>

/** The values of an update, whose numbers may be increments. */
type Changes<Fields, Update> = {
  [K in keyof Update]: Fields[K & keyof Fields] extends FieldDeclaration<
    number,
    object,
    ReferenceTrait<string>
  >
    ? Update[K]
    : number extends Update[K]
      ? Update[K] | Increment
      : Update[K]
}
export type DataUpdateIn<C, N> = Changes<FieldsIn<C, N>, UpdateIn<C, N>>

/** Logic may also write fields that are read-only or immutable for clients. */
type SystemUpdateIn<C, N> = Changes<FieldsIn<C, N>, Partial<StoredOf<FieldsIn<C, N>>>>
type SystemCreateIn<C, N> = Flat<InputOf<FieldsIn<C, N>> & Partial<StoredOf<FieldsIn<C, N>>>>

/** The collections by name, as a user. */
export type DataIn<C> = {
  readonly [N in NameIn<C>]: CollectionDataIn<C, N, CreateIn<C, N>, DataUpdateIn<C, N>>
}

/** The collections by name, as the service itself, to which no rules apply. */
export type SystemDataIn<C> = {
  readonly [N in NameIn<C>]: CollectionDataIn<C, N, SystemCreateIn<C, N>, SystemUpdateIn<C, N>, 'service'>
}

/** The same, but only to read. */
export type ReadDataIn<C> = { readonly [N in NameIn<C>]: CollectionReadsIn<C, N, 'service'> }

/** What takes effect with a transaction. */
export interface TransactionEffectsIn<C, Earlier extends AnyEarlier> {
  /** Emits an event of a type that an action declares. */
  emit(type: string, item: { readonly id: number }, values?: object): void
  readonly later: Later<Earlier['jobs']>
  /** Calls an action as a part of the transaction, which fails with it. */
  readonly actions: CallerActionCalls<C, Earlier['actions']>
}

/** `data` of actions, queries and routes: as the caller, or with `asSystem` as the service. */
export type ActionDataIn<C, Earlier extends AnyEarlier = AnyEarlier> = DataIn<C> & {
  readonly asSystem: SystemDataIn<C>
} & ActionTransactionsIn<C, Earlier>

export interface ActionTransactionsIn<in out C, in out Earlier extends AnyEarlier> {
  /**
   * Runs the code as one serialisable transaction, with the guarantees and limits of an action. Within another one, it is a
   * part of that, which fails with it. The code awaits nothing but its tools, and may run again. Resolves with what it returns
   * once that is committed; if it throws, nothing is changed, and the call rejects with what it threw.
   */
  transaction<T>(
    code: (data: ActionDataIn<C, Earlier>, effects: TransactionEffectsIn<C, Earlier>) => Awaitable<T>,
  ): Promise<T>
}

/** `data` of reactions and jobs, which run as the service itself. */
export type RunDataIn<C, Earlier extends AnyEarlier> = SystemDataIn<C> & {
  readonly asSystem: SystemDataIn<C>
} & RunTransactionsIn<C, Earlier>

export interface RunTransactionsIn<in out C, in out Earlier extends AnyEarlier> {
  /** As in an action. */
  transaction<T>(
    code: (data: RunDataIn<C, Earlier>, effects: TransactionEffectsIn<C, Earlier>) => Awaitable<T>,
  ): Promise<T>
}

/** What a call of `once` has done. */
export interface OnceResult {
  /** Whether a call with this key has taken effect before: this one has done nothing. */
  readonly repeated: boolean
}

/** `once` of reactions and jobs. Without a key it has that of the run, the same for every attempt. */
export interface RunOnceIn<in out C, in out Earlier extends AnyEarlier> {
  /**
   * Runs the code as `data.transaction` does, unless it has taken effect with this key before. The key belongs to the whole
   * model; it commits with the changes, and is kept for 90 days (`logic.limits`). A call with a key that another one
   * uses at this time waits for it.
   */
  (
    key: string,
    code: (data: RunDataIn<C, Earlier>, effects: TransactionEffectsIn<C, Earlier>) => Awaitable<unknown>,
  ): Promise<OnceResult>
  (
    code: (data: RunDataIn<C, Earlier>, effects: TransactionEffectsIn<C, Earlier>) => Awaitable<unknown>,
  ): Promise<OnceResult>
}
