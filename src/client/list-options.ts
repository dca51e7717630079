/** The options of reads and lists, and their names in REST. */
import type { ApiTypes } from './types/api.ts'
import type { CallOptions } from './types/options.ts'
import type { FieldName } from './types/read.ts'
import type { Where } from './types/where.ts'

export interface Reading<Names, Paths> extends CallOptions {
  /** The fields to return, which may be computed; `*`: all that are not computed. Default: `*`. */
  readonly fields?: readonly Names[]
  /** The relations whose items are included, also over several: `author.posts`. */
  readonly include?: readonly Paths[]
}

export interface Filtering<A extends ApiTypes, N> {
  readonly where?: Where<A, N>
  /** Search terms, in the searchable fields. */
  readonly q?: string
}

export interface Listing<A extends ApiTypes, N, Names, Paths> extends Reading<Names, Paths>, Filtering<A, N> {
  /** E.g. `['-created_at', 'title']`. `['-q']` sorts by relevance to the search terms. */
  readonly sort?: readonly (FieldName<A, N> | `-${FieldName<A, N>}` | '-q')[]
}

export type Total = 'exact' | 'estimate' | 'none'

export interface ListOptions<A extends ApiTypes, N, Names, Paths, Cursor, T>
  extends Listing<A, N, Names, Paths> {
  /** 1 to 100. Default: 20. */
  readonly perPage?: number
  /** The page number, from 1. Not with `cursor`. */
  readonly page?: [Cursor] extends [never] ? number : never
  /** `''` for the first page, then each `next_cursor`. */
  readonly cursor?: Cursor
  /** How `meta.total` is counted. */
  readonly total?: T
}

export const readNames = { fields: 'fields', include: 'include' }
export const filterNames = { q: 'q' }
export const listNames = {
  ...readNames,
  ...filterNames,
  sort: 'sort',
  page: 'page',
  perPage: 'per_page',
  cursor: 'cursor',
  total: 'total',
}
