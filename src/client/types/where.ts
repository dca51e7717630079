/** Conditions, as the filters of REST can express them. */
import type { FieldConditions } from '../../model/types/conditions.ts'
import type { ApiTypes, At, CollectionOf, Flat } from './api.ts'

/** The relations by name, each with its collection. */
export type Relations<A extends ApiTypes, N> = At<CollectionOf<A, N>, 'one'> & At<CollectionOf<A, N>, 'many'>

/** The item with its computed fields. */
export type FullItem<A extends ApiTypes, N> = Flat<
  At<CollectionOf<A, N>, 'item'> & At<CollectionOf<A, N>, 'computed'>
>

/** All of them must match. Those of one relation must match the same related item. */
type Conditions<A extends ApiTypes, N> = FieldConditions<FullItem<A, N>> & {
  readonly [K in keyof Relations<A, N>]?: Conditions<A, Relations<A, N>[K]>
}

type Alternative<A extends ApiTypes, N> = Conditions<A, N> & {
  /** Each contains one condition, which must not match: `not: [{ status: 'done' }, { points: { gte: 3 } }]`. */
  readonly not?: Conditions<A, N> | readonly Conditions<A, N>[]
}

/** `{ status: 'open', points: { gte: 3 }, project: { name: 'x' }, not: { urgent: true }, or: [{ … }, { … }] }`. */
export type Where<A extends ApiTypes, N> = Alternative<A, N> & {
  /** At least one must match. At most 20. */
  readonly or?: readonly Alternative<A, N>[]
}
