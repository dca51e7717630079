/**
 * `data`, the interface by which logic reads and writes. Every call is a guarded plan of one principal. In actions, calls are
 * steps of one transaction. Reactions, jobs, tests and programs that embed Portico use it too.
 *
 * These are the types for any model; `model/types/types.ts` infers the types for authors of a model.
 */
import type { Awaitable } from '../../../base/awaitable.ts'
import type { JsonObject, JsonValue } from '../../../model/fields/type.ts'
import type { LogicItem } from '../../../model/logic/logic.ts'

/**
 * A filter: `{ status: 'open' }`, `{ points: { gte: 3 }, or: [{ status: 'a' }, { author: { name: 'x' } }] }`. Operators are
 * those of REST's filters; names are those of fields and relations.
 */
export interface Where {
  readonly [name: string]: JsonValue | Where | readonly Where[]
}

export interface ReadOptions {
  /** Fields, computed ones included. Default: every stored field that the principal may read. */
  readonly fields?: readonly string[]
  /** Relations whose items are returned in place of their ids. */
  readonly include?: readonly string[]
}

export interface ListOptions extends ReadOptions {
  readonly where?: Where
  /** The sort keys, as in `?sort=`: `['-created_at', 'title']`. */
  readonly sort?: readonly string[]
  /** 1 to 1,000. Default: everything, which must be at most 1,000 items; with `page`, 100. */
  readonly limit?: number
  readonly page?: number
}

export interface ChangeOptions {
  /**
   * The item as the same `data` has read it, whole or by `fields`: rejects with `PRECONDITION_FAILED` if one of these fields has
   * another value now.
   */
  readonly ifMatch?: LogicItem
}

export interface UpsertOptions {
  /** A unique field, or the fields of a unique index. */
  readonly by: string | readonly string[]
}

export interface Upserted {
  readonly item: LogicItem
  readonly created: boolean
}

export interface BoundOptions {
  /** The maximum number of items, 1 to 1,000. Default: every match, or a rejection if there are more than 1,000. */
  readonly limit?: number
}

/**
 * The items of one collection. Calls reject with the `ApiError` of the API: `NOT_FOUND`, `FORBIDDEN`,
 * `VALIDATION_FAILED`, `CONFLICT`.
 */
export interface CollectionData {
  /** Null if the item does not exist, or the principal may not read it. */
  get(id: number, options?: ReadOptions): Promise<LogicItem | null>
  /** The first match, or null. */
  first(options?: Omit<ListOptions, 'limit' | 'page'>): Promise<LogicItem | null>
  /** Without `limit`, rejects if there are more than 1,000 items. */
  list(options?: ListOptions): Promise<readonly LogicItem[]>
  /** Every match, read page by page; by id unless `sort` says otherwise. */
  all(options?: Omit<ListOptions, 'limit' | 'page'>): AsyncIterable<LogicItem>
  count(where?: Where): Promise<number>
  create(values: JsonObject): Promise<LogicItem>
  /** Changes the given fields. A number may be an `Increment` of the stored one, which no concurrent change is lost to. */
  update(id: number, values: JsonObject, options?: ChangeOptions): Promise<LogicItem>
  delete(id: number, options?: ChangeOptions): Promise<void>
  /** Changes the item that has these values in the fields of `by`, or creates it. */
  upsert(options: UpsertOptions, values: JsonObject): Promise<Upserted>
  /** Changes every match, each as `update` does: all of them or none. Resolves with their number. */
  updateWhere(where: Where, values: JsonObject, options?: BoundOptions): Promise<number>
  /** Deletes every match, each as `delete` does: all of them or none. Resolves with their number. */
  deleteWhere(where: Where, options?: BoundOptions): Promise<number>
}

/** The collections by name, as one principal. */
export type DataOf = Readonly<Record<string, CollectionData>>

/** What takes effect with the transaction. */
export interface TransactionEffects {
  /** Emits an event of a type that an action declares. */
  emit(type: string, item: unknown, values?: unknown): Promise<void>
  /** Schedules a job. */
  later(at: string | Date, name: string, input?: unknown): Promise<void>
  /** Calls actions as parts of the transaction, which fails with them. */
  readonly actions: CallerActionFunctions
}

/** Actions by name: `actions.book(input)`; those on an item take its id first. */
export type ActionFunctions = Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>

/** `asSystem`: as the service itself. */
export type CallerActionFunctions = ActionFunctions & { readonly asSystem: ActionFunctions }

/** The code of a transaction. It awaits nothing but `data`; if a conflict makes it be tried again, it runs again. */
export type TransactionCode<T = unknown> = (data: ActionData, effects: TransactionEffects) => Awaitable<T>

export interface Transactional {
  /**
   * Runs the code as one serialisable transaction, with the guarantees and limits of an action. Within another one, it is a
   * part of that. Resolves with what the code returns once that is committed; if the code throws, nothing is changed.
   */
  transaction<T>(code: TransactionCode<T>): Promise<T>
}

/** The `data` of logic: as its principal, or with `asSystem` as the service itself, to which no rule applies. */
export type ActionData = DataOf & { readonly asSystem: DataOf } & Transactional
