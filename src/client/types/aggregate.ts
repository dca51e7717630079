/** Aggregates of groups of items. */
import type { Filtering } from '../list-options.ts'
import type { ApiTypes, Flat } from './api.ts'
import type { CallOptions } from './options.ts'
import type { FieldName } from './read.ts'
import type { FullItem } from './where.ts'

type TimePart = 'year' | 'quarter' | 'month' | 'week' | 'day' | 'hour'

type NumberName<A extends ApiTypes, N> = {
  [K in FieldName<A, N>]: NonNullable<FullItem<A, N>[K]> extends number ? K : never
}[FieldName<A, N>]

/** A field, or a part of a date or time: `created_at:month`. */
export type GroupKey<A extends ApiTypes, N> = FieldName<A, N> | `${FieldName<A, N>}:${TimePart}`

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

type GroupValues<Item, Groups> = {
  readonly [K in Groups & string]: K extends keyof Item ? Exclude<Item[K], undefined> | null : string | null
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
  GroupValues<FullItem<A, N>, Groups> & { readonly count: number } & Aggregates<
      'sum',
      Sums,
      NumbersOf<Sums>
    > &
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
