/**
 * The logic of a model: declared actions, queries, reactions, jobs and routes. `logic/` runs them. These are the types of the
 * checked declaration; `types/logic.ts` infers the types that authors see.
 */

import type { CallerApp } from '../../base/principal.ts'
import type { FieldDeclaration } from '../fields/declared.ts'
import type { JsonObject } from '../fields/type.ts'
import type { AccessRule, FieldRules, FieldUse, PathNeeds } from '../types/rule.ts'

/** An item of a collection, as an input, which clients send as its id, or as an output. */
export interface ItemDeclaration<C extends string = string, Optional extends boolean = boolean> {
  readonly kind: 'item'
  readonly collection: C
  readonly optional: Optional
}

interface ItemOptions<Optional> {
  /** Whether the value may be null. */
  readonly optional?: Optional
}

/**
 * An item, as an input, an output, or a value of either. An input is the id of an item that the caller may read.
 * `item('tasks', { optional: true })` may be null, and may be omitted from an input.
 */
export function item<const C extends string, const Optional extends boolean = false>(
  collection: C,
  options: ItemOptions<Optional> = {},
): ItemDeclaration<C, Optional> {
  return Object.freeze({ kind: 'item', collection, optional: (options?.optional ?? false) as Optional })
}

export type ValueDeclarations = Readonly<Record<string, FieldDeclaration | ItemDeclaration>>

/** An event type that an action emits, in addition to the events of its changes. */
export interface EmittedDeclaration {
  readonly fields?: Readonly<Record<string, FieldDeclaration>>
  /** Who receives the event, as a rule over its item. Omitted: everyone who may read the item. */
  readonly access?: AccessRule
  readonly description?: string
}

/** Common to actions and queries. */
interface OperationOptions {
  /** The collection of the item that it applies to. */
  readonly on?: string
  /** The collection that it belongs to. */
  readonly of?: string
  readonly input?: ValueDeclarations
  /** Omitted: it has no result. */
  readonly output?: ValueDeclarations | ItemDeclaration
  /** With `on`, a rule over the item. Omitted: administrators only. */
  readonly access?: AccessRule
  /** A scope of its own, e.g. `archive:project`. Omitted: `write:{type}` of `on` or `of`; for a query, `read:{type}`. */
  readonly scope?: string
  readonly description?: string
  /** Gets its context, see `engine/logic/operations/context.ts`. */
  // biome-ignore lint/suspicious/noExplicitAny: `logic/builders.ts` types it.
  readonly run: (context: any) => unknown
}

export interface ActionOptions extends OperationOptions {
  /** By type, e.g. `project.archived`. */
  readonly emits?: Readonly<Record<string, EmittedDeclaration>>
}

export type QueryOptions = OperationOptions

declare const typesType: unique symbol
declare const collectionsType: unique symbol
declare const earlierType: unique symbol

/** Types only: those of the declaration, and the collections of its model, and what an earlier part of its logic declares. */
interface Typed<Types, Collections, Earlier> {
  readonly [typesType]?: Types
  readonly [collectionsType]?: (collections: Collections) => void
  readonly [earlierType]?: (earlier: Earlier) => void
}

// biome-ignore lint/suspicious/noExplicitAny: an action without known types fits every model.
export interface ActionDeclaration<Types = unknown, in Collections = any, in Earlier = any>
  extends Typed<Types, Collections, Earlier> {
  readonly kind: 'action'
  readonly options: ActionOptions
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
export interface QueryDeclaration<Types = unknown, in Collections = any>
  extends Typed<Types, Collections, never> {
  readonly kind: 'query'
  readonly options: QueryOptions
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
export interface ReactionDeclaration<Types = unknown, in Collections = any, in Earlier = any>
  extends Typed<Types, Collections, Earlier> {
  readonly kind: 'reaction'
  /** Types of events, e.g. `task.updated`, `task.*`. */
  readonly types: readonly string[]
  // biome-ignore lint/suspicious/noExplicitAny: `logic/builders.ts` types it.
  readonly run: (context: any) => unknown
  readonly description?: string | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
export interface JobDeclaration<Types = unknown, in Collections = any, in Earlier = any>
  extends Typed<Types, Collections, Earlier> {
  readonly kind: 'job'
  /** A cron expression, or words such as `day at 03:00`. Undefined: only `later` starts the job. */
  readonly schedule: string | undefined
  /** An IANA name, e.g. `Europe/Berlin`; `UTC` if omitted. */
  readonly timeZone: string | undefined
  readonly input: Readonly<Record<string, FieldDeclaration>> | undefined
  // biome-ignore lint/suspicious/noExplicitAny: `logic/builders.ts` types it.
  readonly run: (context: any) => unknown
  readonly description?: string | undefined
}

export type RouteMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** How many requests a route takes, from all callers together. */
export interface RouteRateLimit {
  readonly requests: number
  /** Default: 60. */
  readonly seconds?: number
}

export interface RouteOptions {
  /** Default: POST. */
  readonly method?: RouteMethod
  /** Below `/hooks/`; with a slash in front, from the root. `:name` is a parameter. Default: the route's name. */
  readonly path?: string
  /** The body is only read as it was sent: there is no `input`. */
  readonly raw?: boolean
  /** The body, as JSON or as a form. */
  readonly input?: Readonly<Record<string, FieldDeclaration>>
  /** Who may call it, as a rule about the caller: `anyone` for what strangers call. */
  readonly access: AccessRule
  /** Default: 6,000 requests a minute. */
  readonly rateLimit?: RouteRateLimit
  readonly description?: string
  // biome-ignore lint/suspicious/noExplicitAny: `logic/builders.ts` types it.
  readonly run: (context: any) => unknown
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
export interface RouteDeclaration<Types = unknown, in Collections = any, in Earlier = any>
  extends Typed<Types, Collections, Earlier> {
  readonly kind: 'route'
  readonly options: RouteOptions
}

/** `Name`: that of its collection. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
export interface CheckDeclaration<Name = unknown, in Collections = any>
  extends Typed<Name, Collections, never> {
  readonly kind: 'check'
  // biome-ignore lint/suspicious/noExplicitAny: `logic/builders.ts` types it.
  readonly run: (context: any) => unknown
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
export interface LogicDeclaration<in Collections = any, in Earlier = any> {
  /** By collection. `ChecksIn` has their types, which depend on its name. */
  readonly checks?: Readonly<Record<string, object>>
  readonly actions?: Readonly<Record<string, ActionDeclaration<unknown, Collections, Earlier>>>
  readonly queries?: Readonly<Record<string, QueryDeclaration<unknown, Collections>>>
  readonly reactions?: Readonly<Record<string, ReactionDeclaration<unknown, Collections, Earlier>>>
  readonly jobs?: Readonly<Record<string, JobDeclaration<unknown, Collections, Earlier>>>
  readonly routes?: Readonly<Record<string, RouteDeclaration<unknown, Collections, Earlier>>>
}

interface CallerScopes {
  /** `'all'`: no scope limits the credential. */
  readonly scopes: 'all' | readonly string[]
  /**
   * Whether the credential is that of an app that is not the service's own, or an API key that such an app has made: the
   * opposite of the rule `firstParty`.
   */
  readonly thirdParty: boolean
}

/** A user who calls, as logic sees them. Frozen. */
export interface LogicUser extends CallerScopes {
  readonly id: number
  readonly role: string
  /**
   * The app through which the user acts, if it is in `oauth_apps`. Null does not mean that there is no app: one that has
   * registered itself has no item there. See `thirdParty`.
   */
  readonly app: CallerApp | null
}

/** An app that calls without a user. Frozen. */
export interface LogicApp extends CallerScopes {
  readonly id: null
  readonly role: null
  readonly app: CallerApp
}

export type LogicCaller = LogicUser | LogicApp

/** An item as logic sees it: its stored fields, without internal ones, as JSON. Frozen. */
export type LogicItem = JsonObject

/** The argument of `prepare` and `check`. Deeply frozen. */
export interface WriteContext {
  readonly next: LogicItem
  /** The stored row, which is locked; undefined for a create. */
  readonly previous: LogicItem | undefined
  readonly caller: LogicCaller | null
  /** The time of the write, ISO 8601 UTC. */
  readonly now: string
}

/** Returns further values to set; undefined and `{}`: none. */
export type Prepare = (context: WriteContext) => JsonObject | undefined

/** A fault of one field, or of the item if no field is named. */
export interface WriteFault {
  readonly field?: string
  readonly message: string
  /** Default: `invalid`. */
  readonly code?: string
}

export type CheckWrite = (context: WriteContext) => readonly WriteFault[] | undefined

interface LimitOptions<Field extends string = string, Needs = never> {
  /** The limit applies to each value of this field separately. */
  readonly per?: Field
  /** The items that count. Omitted: all. */
  readonly where?: AccessRule<Needs>
  /** The message of the CONFLICT. */
  readonly message?: string
}

declare const needsType: unique symbol

/** A limit on items, in all or for each value of a field. `Needs`: the fields that the row must have. */
// biome-ignore lint/suspicious/noExplicitAny: a limit without known needs fits everywhere.
export interface LimitDeclaration<in Needs = any> {
  readonly kind: 'atMost' | 'noOverlap'
  /** The maximum number of items. A field: of the item that the relation in `per` leads to. */
  readonly count?: number | Pick<FieldRules, 'field'>
  /** The fields with the start and the end of each item's interval. */
  readonly interval?: readonly [start: string, end: string]
  readonly options: LimitOptions
  readonly [needsType]?: (row: Needs) => void
}

/**
 * No more than `count` items, e.g. `atMost(100, { per: 'project_id', where: field('status').ne('done') })`, or as many as a
 * field of the parent says: `atMost(field('session.capacity'), { per: 'session_id' })`, where null is no limit.
 */
export function atMost<
  const Field extends string = never,
  Needs = unknown,
  const Bound extends string = never,
>(
  count: number | FieldRules<Bound>,
  options: LimitOptions<Field, Needs> = {},
): LimitDeclaration<
  ([Field] extends [never] ? unknown : PathNeeds<Field>) &
    ([Bound] extends [never] ? unknown : PathNeeds<Bound, FieldUse<'order', number>>) &
    Needs
> {
  return Object.freeze({ kind: 'atMost', count, options })
}

/**
 * The intervals of no two items overlap, e.g. `noOverlap('starts_at', 'ends_at', { per: 'room_id' })`. The end is not part of
 * the interval; null is open. Items without a value in `per` may overlap.
 */
export function noOverlap<
  const Start extends string,
  const End extends string,
  const Field extends string = never,
  Needs = unknown,
>(
  start: Start,
  end: End,
  options: LimitOptions<Field, Needs> = {},
): LimitDeclaration<
  PathNeeds<Start> & PathNeeds<End> & ([Field] extends [never] ? unknown : PathNeeds<Field>) & Needs
> {
  return Object.freeze({ kind: 'noOverlap', interval: [start, end] as const, options })
}
