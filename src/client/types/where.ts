/** Conditions, as the filters of REST can express them. */
import type { FieldCondition } from '../../model/types/conditions.ts'
import type { ApiTypes, At, CollectionOf, Flat } from './api.ts'

/** The relations by name, each with its collection. */
export type Relations<A extends ApiTypes, N> = At<CollectionOf<A, N>, 'one'> & At<CollectionOf<A, N>, 'many'>

/** The item with its computed fields. */
export type FullItem<A extends ApiTypes, N> = Flat<
  At<CollectionOf<A, N>, 'item'> & At<CollectionOf<A, N>, 'computed'>
>

/**
 * All of them must match. Those of one relation must match the same related item.
 *
 * `in out`: the compiler compares the type by its arguments. Otherwise it would find out how they vary by comparing members
 * for unknown collections, and follow relations without end.
 */
type Conditions<in out A extends ApiTypes, in out N> = {
  readonly [K in keyof FullItem<A, N> | keyof Relations<A, N>]?: K extends keyof FullItem<A, N>
    ? FieldCondition<FullItem<A, N>, K>
    : Conditions<A, Relations<A, N>[K & keyof Relations<A, N>]>
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
