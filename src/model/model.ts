/**
 * The checked, frozen model, which all modules read. `check.ts` makes it from a declaration.
 */
import type { FieldType } from './fields/field-type.ts'
import type { JsonValue } from './fields/type.ts'
import type { Rule } from './rule.ts'

export interface Model {
  readonly collections: ReadonlyMap<string, Collection>
  /** Every scope of the model, in order, with the sentence that users read when they consent. */
  readonly scopes: ReadonlyMap<string, string>
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
  readonly indexes: readonly Index[]
  readonly access: CollectionAccess
  /** The fields that `?q=` searches. Empty if the collection has no search. */
  readonly searchable: readonly Field[]
  readonly deprecated: Deprecation | undefined
  /** The former name of the table. */
  readonly renamedFrom: string | undefined
  /** Changes of its items are no events: the log has no row of them, and nobody can subscribe to them. */
  readonly unlogged: boolean
}

export interface CollectionAccess {
  readonly read: Rule
  readonly create: Rule
  /** Must hold for the row before and after the change. */
  readonly update: Rule
  readonly delete: Rule
}

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
  /** Clients can write it; nobody can read it. */
  readonly writeOnly: boolean
  /** Clients can set it only when they create the item. */
  readonly immutable: boolean
  /** Neither REST nor GraphQL shows or takes it: only Portico itself reads and writes it. */
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

export type FieldDefault =
  | { readonly kind: 'value'; readonly value: JsonValue }
  /** The time of the write, for datetime and date fields. */
  | { readonly kind: 'now' }
  /** The id of the user who writes. */
  | { readonly kind: 'currentUser' }
  /** A fresh random UUID. */
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
