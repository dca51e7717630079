/** Results of reads. */
import type { ApiTypes, At, CollectionOf, Flat } from './api.ts'
import type { FullItem, Relations } from './where.ts'

export type FieldName<A extends ApiTypes, N> = keyof FullItem<A, N> & string

type RelationName<A extends ApiTypes, N> = keyof Relations<A, N> & string

type Below<A extends ApiTypes, N, R> = R extends keyof Relations<A, N>
  ? `${R & string}.${RelationName<A, Relations<A, N>[R]>}`
  : never

/** A relation, or a path over several: `author.posts`. */
export type IncludePath<A extends ApiTypes, N> =
  | RelationName<A, N>
  | Below<A, N, RelationName<A, N>>
  | `${Below<A, N, RelationName<A, N>>}.${string}`

type Head<Path> = Path extends `${infer First}.${string}` ? First : Path
type Tail<Path, First> = Path extends `${First & string}.${infer Rest}` ? Rest : never

type Related<A extends ApiTypes, N, Name, Paths> = Name extends keyof At<CollectionOf<A, N>, 'one'>
  ? ReadItem<A, At<CollectionOf<A, N>, 'one'>[Name], never, Tail<Paths, Name>> | null
  : Name extends keyof At<CollectionOf<A, N>, 'many'>
    ? readonly ReadItem<A, At<CollectionOf<A, N>, 'many'>[Name], never, Tail<Paths, Name>>[]
    : never

type Included<A extends ApiTypes, N, Paths> = {
  readonly [Name in Head<Paths> & string]: Related<A, N, Name, Paths>
}

type Named<Item, Names> = { readonly [K in Names & keyof Item]: Exclude<Item[K], undefined> }

/** The named fields, including computed ones. `*`: all fields that are not computed. */
type Selected<A extends ApiTypes, N, Names> = Named<FullItem<A, N>, Names> &
  ('*' extends Names ? At<CollectionOf<A, N>, 'item'> : unknown)

/** An item as a read returns it. `Names`: those in `fields`; `Paths`: those in `include`; `never`: the option is omitted. */
export type ReadItem<A extends ApiTypes, N, Names, Paths> = [Names | Paths] extends [never]
  ? At<CollectionOf<A, N>, 'item'>
  : Flat<
      ([Names] extends [never] ? At<CollectionOf<A, N>, 'item'> : Selected<A, N, Names>) &
        Included<A, N, Paths>
    >

interface PageMeta<T> {
  readonly total: 'none' extends T ? undefined : number
  readonly total_is_estimate?: true
  readonly page: number
  readonly per_page: number
}

interface CursorMeta {
  readonly per_page: number
  /** Null on the last page. */
  readonly next_cursor: string | null
}

/** A list as REST returns it. */
export interface ListPage<Item, Cursor = never, T = 'exact'> {
  readonly data: readonly Item[]
  readonly meta: [Cursor] extends [never] ? PageMeta<T> : CursorMeta
}
