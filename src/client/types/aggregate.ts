/** Aggregates of groups of items. */
import type { Filtering } from '../list-options.ts'
import type { ApiTypes, At, CollectionOf, Flat } from './api.ts'
import type { CallOptions } from './options.ts'
import type { FieldName } from './read.ts'
import type { FullItem } from './where.ts'

type TimePart = 'year' | 'quarter' | 'month' | 'week' | 'day' | 'hour'

type OwnNumber<A extends ApiTypes, N> = {
  [K in FieldName<A, N>]: NonNullable<FullItem<A, N>[K]> extends number ? K : never
}[FieldName<A, N>]

/** The to-one relations by name, each with its collection. */
type ToOne<A extends ApiTypes, N> = At<CollectionOf<A, N>, 'one'>
type ToOneName<A extends ApiTypes, N> = keyof ToOne<A, N> & string

/** `points`, `project.budget` */
type NumberName<A extends ApiTypes, N> =
  | OwnNumber<A, N>
  | { [R in ToOneName<A, N>]: `${R}.${OwnNumber<A, ToOne<A, N>[R]>}` }[ToOneName<A, N>]

/** `status`, `project.name` */
type Along<A extends ApiTypes, N> =
  | FieldName<A, N>
  | { [R in ToOneName<A, N>]: `${R}.${FieldName<A, ToOne<A, N>[R]>}` }[ToOneName<A, N>]

/** A field, also of the item to which a to-one relation leads, or a part of a date or time: `created_at:month`. */
export type GroupKey<A extends ApiTypes, N> = Along<A, N> | `${Along<A, N>}:${TimePart}`

/** `Groups`, `Sums`, …: the names in the call. */
export interface AggregateOptions<A extends ApiTypes, N, Groups, Sums, Averages, Minima, Maxima>
  extends CallOptions,
    Filtering<A, N> {
  /** At most 3. If omitted, all items are one group. */
  readonly groupBy?: readonly Groups[]
  /** The time zone of the parts of times, e.g. `Europe/Berlin`. Default: UTC. */
  readonly timeZone?: string
  readonly sum?: readonly Sums[]
  readonly avg?: readonly Averages[]
  readonly min?: readonly Minima[]
  readonly max?: readonly Maxima[]
  /** Group keys, `count`, `sum.points`; `-` sorts in descending order. */
  readonly sort?: readonly `${'' | '-'}${NoInfer<SortKey<Groups, Sums, Averages, Minima, Maxima>>}`[]
  readonly page?: number
  /** The number of groups on a page. Default and maximum: 100. */
  readonly perPage?: number
}

type SortKey<Groups, Sums, Averages, Minima, Maxima> =
  | (Groups & string)
  | 'count'
  | `sum.${Sums & string}`
  | `avg.${Averages & string}`
  | `min.${Minima & string}`
  | `max.${Maxima & string}`

type GroupValue<A extends ApiTypes, N, K> = K extends `${string}:${string}`
  ? string
  : K extends `${infer R}.${infer Name}`
    ? At<FullItem<A, At<ToOne<A, N>, R>>, Name>
    : At<FullItem<A, N>, K>

type GroupValues<A extends ApiTypes, N, Groups> = {
  readonly [K in Groups & string]: Exclude<GroupValue<A, N, K>, undefined> | null
}

type Aggregates<Name extends string, Names, Values> = [Names] extends [never]
  ? unknown
  : { readonly [K in Name]: Flat<Values> }

type NumbersOf<Names> = { readonly [K in Names & string]: number | null }
type ValuesOf<Item, Names> = { readonly [K in Names & keyof Item]: NonNullable<Item[K]> | null }

export interface AggregatePage<Group> {
  readonly data: readonly Group[]
  readonly meta: { readonly page: number; readonly per_page: number; readonly has_more: boolean }
}

type Group<A extends ApiTypes, N, Groups, Sums, Averages, Minima, Maxima> = Flat<
  GroupValues<A, N, Groups> & { readonly count: number } & Aggregates<'sum', Sums, NumbersOf<Sums>> &
    Aggregates<'avg', Averages, NumbersOf<Averages>> &
    Aggregates<'min', Minima, ValuesOf<FullItem<A, N>, Minima>> &
    Aggregates<'max', Maxima, ValuesOf<FullItem<A, N>, Maxima>>
>

/** Counts the items of each group, and computes sums, averages, minima and maxima of their fields. */
export type Aggregate<A extends ApiTypes, N> = <
  const G extends GroupKey<A, N> = never,
  const S extends NumberName<A, N> = never,
  const V extends NumberName<A, N> = never,
  const Min extends FieldName<A, N> = never,
  const Max extends FieldName<A, N> = never,
>(
  options?: AggregateOptions<A, N, G, S, V, Min, Max>,
) => Promise<AggregatePage<Group<A, N, G, S, V, Min, Max>>>
