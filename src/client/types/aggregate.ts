/** Figures of groups of items. */
import type { ApiTypes, Flat } from './api.ts'
import type { CallOptions } from './options.ts'
import type { FieldName, Filtering } from './read.ts'
import type { FullItem } from './where.ts'

type TimePart = 'year' | 'month' | 'day' | 'hour'

type NumberName<A extends ApiTypes, N> = {
  [K in FieldName<A, N>]: NonNullable<FullItem<A, N>[K]> extends number ? K : never
}[FieldName<A, N>]

/** A field, or a part of a date or time, in UTC: `created_at:month`. */
export type GroupKey<A extends ApiTypes, N> = FieldName<A, N> | `${FieldName<A, N>}:${TimePart}`

/** `Groups`, `Sums`, … : the names given. */
export interface AggregateOptions<A extends ApiTypes, N, Groups, Sums, Averages, Minima, Maxima>
  extends CallOptions,
    Filtering<A, N> {
  /** At most 3. Left out: all items are one group. */
  readonly groupBy?: readonly Groups[]
  readonly sum?: readonly Sums[]
  readonly avg?: readonly Averages[]
  readonly min?: readonly Minima[]
  readonly max?: readonly Maxima[]
  /** Keys of the groups, `count`, `sum.points`; `-` reverses. */
  readonly sort?: readonly `${'' | '-'}${NoInfer<SortKey<Groups, Sums, Averages, Minima, Maxima>>}`[]
  readonly page?: number
  /** Groups; 100 at most, and if left out. */
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

type Figures<Name extends string, Names, Values> = [Names] extends [never]
  ? unknown
  : { readonly [K in Name]: Flat<Values> }

type NumbersOf<Names> = { readonly [K in Names & string]: number | null }
type ValuesOf<Item, Names> = { readonly [K in Names & keyof Item]: NonNullable<Item[K]> | null }

export interface AggregatePage<Group> {
  readonly data: readonly Group[]
  readonly meta: { readonly page: number; readonly per_page: number; readonly has_more: boolean }
}

type Group<A extends ApiTypes, N, Groups, Sums, Averages, Minima, Maxima> = Flat<
  GroupValues<FullItem<A, N>, Groups> & { readonly count: number } & Figures<'sum', Sums, NumbersOf<Sums>> &
    Figures<'avg', Averages, NumbersOf<Averages>> &
    Figures<'min', Minima, ValuesOf<FullItem<A, N>, Minima>> &
    Figures<'max', Maxima, ValuesOf<FullItem<A, N>, Maxima>>
>

/** Counts the items of each group, and adds up or compares their fields. */
export type Aggregate<A extends ApiTypes, N> = <
  const G extends GroupKey<A, N> = never,
  const S extends NumberName<A, N> = never,
  const V extends NumberName<A, N> = never,
  const Min extends FieldName<A, N> = never,
  const Max extends FieldName<A, N> = never,
>(
  options?: AggregateOptions<A, N, G, S, V, Min, Max>,
) => Promise<AggregatePage<Group<A, N, G, S, V, Min, Max>>>
