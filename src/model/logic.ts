/**
 * A product's own logic, as a model declares it: actions, queries, reactions and jobs. `logic/` runs them.
 * The types here are those of the checked declaration; `types/logic.ts` infers the ones that authors see.
 */

import type { FieldDeclaration } from './fields/declared.ts'
import type { JsonValue } from './fields/type.ts'
import type { AccessRule, PathNeeds } from './types/rule.ts'

/** An item of a collection, as an input (its id is given) or an output. */
export interface ItemDeclaration<C extends string = string, Optional extends boolean = boolean> {
  readonly kind: 'item'
  readonly collection: C
  readonly optional: Optional
}

interface ItemOptions<Optional> {
  /** Whether there may be none: null. */
  readonly optional?: Optional
}

/**
 * An item, as an input, an output, or a value of either. As an input its id is given, and it must be one that the caller may
 * read. `item('tasks', { optional: true })` may be null, and an input may be left out.
 */
export function item<const C extends string, const Optional extends boolean = false>(
  collection: C,
  options: ItemOptions<Optional> = {},
): ItemDeclaration<C, Optional> {
  return Object.freeze({ kind: 'item', collection, optional: (options?.optional ?? false) as Optional })
}

export type ValueDeclarations = Readonly<Record<string, FieldDeclaration | ItemDeclaration>>

/** A type of event that an action emits, besides those of every change. */
export interface EmittedDeclaration {
  readonly fields?: Readonly<Record<string, FieldDeclaration>>
  /** Who is given the event, by the item that it is about. Left out: whoever may read the item. */
  readonly access?: AccessRule
  readonly description?: string
}

/** Common to actions and queries. */
interface OperationOptions {
  /** The collection of the item that it is about. */
  readonly on?: string
  /** The collection that it belongs to. */
  readonly of?: string
  readonly input?: ValueDeclarations
  /** Left out: it answers with nothing. */
  readonly output?: ValueDeclarations | ItemDeclaration
  /** With `on`, judged by the item. Left out: for administrators only. */
  readonly access?: AccessRule
  /** A scope of its own, e.g. `archive:project`. Left out: `write:{type}` of `on` or `of`, for a query `read:{type}`. */
  readonly scope?: string
  readonly description?: string
  /** Takes its context, see `logic/operations/context.ts`. */
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
declare const jobsType: unique symbol

/** What only the compiler knows: the types of a declaration, and the collections and jobs of the model that it is written for. */
interface Typed<Types, Collections, Jobs> {
  readonly [typesType]?: Types
  readonly [collectionsType]?: (collections: Collections) => void
  readonly [jobsType]?: (jobs: Jobs) => void
}

// biome-ignore lint/suspicious/noExplicitAny: an action of which nothing is known fits every model.
export interface ActionDeclaration<Types = unknown, in Collections = any, in Jobs = any>
  extends Typed<Types, Collections, Jobs> {
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
export interface ReactionDeclaration<Types = unknown, in Collections = any, in Jobs = any>
  extends Typed<Types, Collections, Jobs> {
  readonly kind: 'reaction'
  /** Types of events, e.g. `task.updated`, `task.*`. */
  readonly types: readonly string[]
  // biome-ignore lint/suspicious/noExplicitAny: `logic/builders.ts` types it.
  readonly run: (context: any) => unknown
  readonly description?: string | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
export interface JobDeclaration<Types = unknown, in Collections = any, in Jobs = any>
  extends Typed<Types, Collections, Jobs> {
  readonly kind: 'job'
  /** A cron expression, or words such as `day at 03:00`; undefined: only `later` starts it. */
  readonly schedule: string | undefined
  /** An IANA name, e.g. `Europe/Berlin`; `UTC` if left out. */
  readonly timeZone: string | undefined
  readonly input: Readonly<Record<string, FieldDeclaration>> | undefined
  // biome-ignore lint/suspicious/noExplicitAny: `logic/builders.ts` types it.
  readonly run: (context: any) => unknown
  readonly description?: string | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
export interface LogicDeclaration<in Collections = any, in Jobs = any> {
  readonly actions?: Readonly<Record<string, ActionDeclaration<unknown, Collections, Jobs>>>
  readonly queries?: Readonly<Record<string, QueryDeclaration<unknown, Collections>>>
  readonly reactions?: Readonly<Record<string, ReactionDeclaration<unknown, Collections, Jobs>>>
  readonly jobs?: Readonly<Record<string, JobDeclaration<unknown, Collections, Jobs>>>
}

/** Who writes, as logic sees it: null when nobody is signed in. Frozen. */
export interface LogicCaller {
  readonly id: number
  readonly role: string
  /** `'all'`: no scope limits the credential. */
  readonly scopes: 'all' | readonly string[]
}

/** An item as logic sees it: the stored fields, internal ones left out, as JSON. Frozen. */
export type LogicItem = Readonly<Record<string, JsonValue>>

/** What `prepare` and `check` are given. All of it is frozen. */
export interface WriteContext {
  readonly next: LogicItem
  /** The stored row, which is locked; undefined for a create. */
  readonly previous: LogicItem | undefined
  readonly caller: LogicCaller | null
  /** The time of the write, ISO 8601 UTC. */
  readonly now: string
}

/** Values to set besides; undefined and `{}`: none. */
export type Prepare = (context: WriteContext) => Readonly<Record<string, JsonValue>> | undefined

/** A fault of one field, or of the item where no field is named. */
export interface WriteFault {
  readonly field?: string
  readonly message: string
  /** `invalid` if left out. */
  readonly code?: string
}

export type CheckWrite = (context: WriteContext) => readonly WriteFault[] | undefined

interface LimitOptions<Field extends string = string, Needs = never> {
  /** The field, of which each value has a limit of its own. */
  readonly per?: Field
  /** Which items count. Left out: all. */
  readonly where?: AccessRule<Needs>
  /** What the CONFLICT says. */
  readonly message?: string
}

declare const needsType: unique symbol

/** How many items there may be, in all or for each value of a field. `Needs` is what it needs of a row. */
// biome-ignore lint/suspicious/noExplicitAny: a limit of which nothing is known fits everywhere.
export interface LimitDeclaration<in Needs = any> {
  readonly kind: 'atMost'
  readonly count: number
  readonly options: LimitOptions
  readonly [needsType]?: (row: Needs) => void
}

/** No more than `count` items, e.g. `atMost(100, { per: 'project_id', where: field('status').ne('done') })`. */
export function atMost<const Field extends string = never, Needs = unknown>(
  count: number,
  options: LimitOptions<Field, Needs> = {},
): LimitDeclaration<([Field] extends [never] ? unknown : PathNeeds<Field>) & Needs> {
  return Object.freeze({ kind: 'atMost', count, options })
}
