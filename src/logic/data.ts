/**
 * What logic reads and writes with: every call is a guarded plan of one principal. The same interface serves actions,
 * where the calls are steps of one transaction, reactions, jobs, tests and programs that embed Portico.
 *
 * `model/types.ts` infers the types that authors see from the model; these are the ones of any model.
 */
import type { JsonValue } from '../model/fields/type.ts'
import type { LogicItem } from '../model/logic.ts'

export type Values = Readonly<Record<string, JsonValue>>

/**
 * Which items: `{ status: 'open' }`, `{ points: { gte: 3 }, or: [{ status: 'a' }, { author: { name: 'x' } }] }`. Operators are
 * those of REST's filters; names are those of fields and relations.
 */
export interface Where {
  readonly [name: string]: JsonValue | Where | readonly Where[]
}

export interface ReadOptions {
  /** Fields, computed ones too. Left out: every stored field that the principal may read. */
  readonly fields?: readonly string[]
  /** Relations, in place of whose ids the items come. */
  readonly include?: readonly string[]
}

export interface ListOptions extends ReadOptions {
  readonly where?: Where
  /** As in `?sort=`: `['-created_at', 'title']`. */
  readonly sort?: readonly string[]
  /** 1 to 100; 100 if left out. */
  readonly limit?: number
  readonly page?: number
}

/**
 * The items of one collection. Calls reject with an `ApiError` as the API answers it: `NOT_FOUND`, `FORBIDDEN`,
 * `VALIDATION_FAILED`, `CONFLICT`.
 */
export interface CollectionData {
  /** Null where there is no such item, or none that the principal may read. */
  get(id: number, options?: ReadOptions): Promise<LogicItem | null>
  /** The first that matches; null: none does. */
  first(options?: Omit<ListOptions, 'limit' | 'page'>): Promise<LogicItem | null>
  /** At most 100. */
  list(options?: ListOptions): Promise<readonly LogicItem[]>
  /** Walks all that match, in the order of ids if `sort` is left out. */
  all(options?: Omit<ListOptions, 'limit' | 'page'>): AsyncIterable<LogicItem>
  count(where?: Where): Promise<number>
  create(values: Values): Promise<LogicItem>
  /** Changes the given fields. */
  update(id: number, values: Values): Promise<LogicItem>
  delete(id: number): Promise<void>
}

/** The collections by name, as one principal. */
export type DataOf = Readonly<Record<string, CollectionData>>

/** What actions and queries get: as the caller, and as the service itself, whom no rule binds. */
export type ActionData = DataOf & { readonly asSystem: DataOf }
