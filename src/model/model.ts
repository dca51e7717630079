/**
 * The checked, frozen model, which all modules read. `check.ts` derives it from a declaration.
 */
import type { CheckedExpression } from './computed/computed.ts'
import type { CrudOperation } from './declared-model.ts'
import type { FieldType } from './fields/field-type.ts'
import type { JsonValue } from './fields/type.ts'
import type { CheckWrite, Prepare, RouteMethod, RouteRateLimit } from './logic/logic.ts'
import type { Rule } from './rule/rule.ts'

export type { CrudOperation } from './declared-model.ts'

/** A checked model. It is frozen, and has every default filled in. */
export interface Model {
  readonly collections: ReadonlyMap<string, Collection>
  /** Every scope of the model, in order, with the sentence for the consent page. */
  readonly scopes: ReadonlyMap<string, string>
  /** The claims that rules name, in order. */
  readonly claims: readonly string[]
  readonly logic: Logic
}

export interface Collection {
  /** Plural, snake_case: the path segment and the table's name, e.g. `posts`. */
  readonly name: string
  /** Singular, snake_case: the scope's type, e.g. `post` in `read:post`. */
  readonly singular: string
  readonly description: string | undefined
  /** In order: `id`, the declared fields, `created_at`, and `updated_at` where the collection has it. */
  readonly fields: ReadonlyMap<string, Field>
  readonly relations: ReadonlyMap<string, Relation>
  /** Their names differ from those in `fields`. */
  readonly computed: ReadonlyMap<string, ComputedField>
  /** Called for every write of an item. */
  readonly prepare: Prepare | undefined
  readonly check: CheckWrite | undefined
  readonly limits: readonly Limit[]
  readonly indexes: readonly Index[]
  readonly access: CollectionAccess
  /** The fields that `?q=` searches. Empty if the collection has no search. */
  readonly searchable: readonly Field[]
  readonly deprecated: Deprecation | undefined
  /** The former name of the table. */
  readonly renamedFrom: string | undefined
  /** Changes of its items are not events: they are not in the log, and no caller can subscribe to them. */
  readonly unlogged: boolean
  /** The events about its items that actions emit, by type. */
  readonly emits?: ReadonlyMap<string, EmittedEvent>
}

/** The rule for updates must hold for the row before and after the change. */
export type CollectionAccess = Readonly<Record<CrudOperation, Rule>>

export interface Field {
  readonly name: string
  readonly type: FieldType
  readonly description: string | undefined
  /** The column may be null. */
  readonly optional: boolean
  readonly default: FieldDefault | undefined
  readonly unique: boolean
  /** Clients cannot write it: `id`, `created_at`, `updated_at` and fields declared so. */
  readonly readOnly: boolean
  /** Clients can write it; no caller can read it. */
  readonly writeOnly: boolean
  /** Clients can set it only when they create the item. */
  readonly immutable: boolean
  /** Only Portico itself reads and writes it: it does not exist in REST and GraphQL. */
  readonly internal: boolean
  readonly searchable: boolean
  /** Of `users`: the sign-up form asks for it. */
  readonly signUp: boolean
  readonly deprecated: Deprecation | undefined
  readonly renamedFrom: string | undefined
  /** Apply in addition to the collection's rules. Where `read` fails, the field is null. */
  readonly access: { readonly read: Rule; readonly write: Rule }
  /** The to-one relation whose id the field holds. */
  readonly reference: ToOne | undefined
}

/** A read-only field that the database computes. Responses contain it only if the request names it. */
export interface ComputedField extends Field {
  readonly expression: CheckedExpression
}

export type FieldDefault =
  | { readonly kind: 'value'; readonly value: JsonValue }
  /** The time of the write, for datetime and date fields. */
  | { readonly kind: 'now' }
  /** The id of the caller. */
  | { readonly kind: 'currentUser' }
  /** The id of the caller's app. */
  | { readonly kind: 'currentApp' }
  /** A new random UUID. */
  | { readonly kind: 'uuid' }

export interface Deprecation {
  /** ISO 8601 UTC. */
  readonly since: string
  /** When the endpoint stops working (RFC 8594), ISO 8601 UTC. */
  readonly sunset: string | undefined
  readonly reason: string | undefined
}

export interface Index {
  /** In order. No key of a unique index descends. */
  readonly keys: readonly IndexKey[]
  readonly unique: boolean
}

export interface IndexKey {
  readonly field: string
  readonly descending: boolean
}

export type Relation = ToOne | ToMany | ManyToMany

/** `posts.author`, held by the field `posts.author_id`. */
export interface ToOne {
  readonly kind: 'one'
  readonly name: string
  readonly target: string
  readonly field: string
  readonly onDelete: 'restrict' | 'cascade' | 'clear'
  /** Whether the item belongs to the person to whom the target belongs, or who it is. Undefined: the model does not say. */
  readonly personal?: boolean
}

/** `users.posts`, the inverse of `posts.author`: the target's `field` holds our id. */
export interface ToMany {
  readonly kind: 'many'
  readonly name: string
  readonly target: string
  readonly field: string
}

/** `posts.tags`, by the rows of a join collection: its field `from` holds our id, `to` the target's. */
export interface ManyToMany {
  readonly kind: 'manyToMany'
  readonly name: string
  readonly target: string
  readonly through: string
  readonly from: string
  readonly to: string
}

/** A checked limit. */
export type Limit = CountLimit | OverlapLimit

interface LimitedItems {
  readonly per: Field | undefined
  readonly where: Rule
  readonly message: string
}

/** The maximum number of items. */
export interface CountLimit extends LimitedItems {
  readonly kind: 'count'
  readonly count: number | LimitBound
}

/** The intervals of no two items overlap. */
export interface OverlapLimit extends LimitedItems {
  readonly kind: 'overlap'
  readonly start: Field
  readonly end: Field
}

/** A field of the item that the limit's `per` refers to. Without a value there is no limit. */
export interface LimitBound {
  /** As the model declares it, e.g. `session.capacity`. */
  readonly path: string
  readonly collection: string
  readonly field: string
}

/** A value of an operation's input or output. */
export type OperationValue =
  | { readonly kind: 'field'; readonly field: Field }
  | { readonly kind: 'item'; readonly name: string; readonly collection: string; readonly optional: boolean }

/** A checked action or query. */
export interface Operation {
  readonly name: string
  /** `item`: it applies to an item of `collection`; `collection`: it belongs to the collection; `none`: to no collection. */
  readonly target: 'item' | 'collection' | 'none'
  /** Undefined for the target `none`. */
  readonly collection: string | undefined
  readonly description: string | undefined
  readonly input: ReadonlyMap<string, OperationValue>
  readonly output:
    | { readonly kind: 'nothing' }
    | { readonly kind: 'item'; readonly collection: string; readonly optional: boolean }
    | { readonly kind: 'values'; readonly values: ReadonlyMap<string, OperationValue> }
  readonly access: Rule
  /** Undefined: the operation needs no scope, which is possible only without a collection. */
  readonly scope: string | undefined
  readonly run: (context: never) => unknown
}

export interface Action extends Operation {
  readonly emits: ReadonlyMap<string, EmittedEvent>
}

export type Query = Operation

/** A type of event that an action emits. */
export interface EmittedEvent {
  readonly type: string
  readonly collection: string
  readonly description: string | undefined
  readonly fields: ReadonlyMap<string, Field>
  readonly access: Rule
}

export interface Reaction {
  readonly name: string
  readonly types: readonly string[]
  readonly description: string | undefined
  readonly run: (context: never) => unknown
}

export interface Job {
  readonly name: string
  readonly schedule: string | undefined
  readonly timeZone: string
  readonly description: string | undefined
  readonly input: ReadonlyMap<string, Field>
  readonly run: (context: never) => unknown
}

/** A checked route. */
export interface Route {
  readonly name: string
  readonly method: RouteMethod
  /** From the root; a segment that begins with `:` is a parameter. */
  readonly path: string
  readonly description: string | undefined
  /** Undefined: the body is not parsed. */
  readonly input: ReadonlyMap<string, Field> | undefined
  /** A rule about the caller alone. */
  readonly access: Rule
  readonly rateLimit: Required<RouteRateLimit>
  readonly run: (context: never) => unknown
}

/** What a check that reads is called with, and returns. */
export type ReadingCheck = (context: never) => unknown

export interface Logic {
  /** By collection. */
  readonly checks: ReadonlyMap<string, ReadingCheck>
  readonly actions: ReadonlyMap<string, Action>
  readonly queries: ReadonlyMap<string, Query>
  readonly reactions: ReadonlyMap<string, Reaction>
  readonly jobs: ReadonlyMap<string, Job>
  readonly routes: ReadonlyMap<string, Route>
}
