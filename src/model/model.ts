/**
 * The checked, frozen model: what every room reads. `check.ts` makes it from a declaration.
 */
import type { FieldType, JsonValue } from './fields/type.ts'
import type { Rule } from './rule.ts'

export interface Model {
  readonly collections: ReadonlyMap<string, Collection>
  /** Every scope that the model generates, in order, with a sentence in plain words. */
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
  /** The fields that `?q=` searches; empty: the collection has no search. */
  readonly searchable: readonly Field[]
  readonly deprecated: Deprecation | undefined
  /** The name that the table had before, when the declaration says it was renamed. */
  readonly renamedFrom: string | undefined
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
  /** Never taken from a body: `id`, `created_at`, `updated_at` and what the declaration marks. */
  readonly readOnly: boolean
  /** Taken from a body, never given out. */
  readonly writeOnly: boolean
  /** Taken from the body of a create only. */
  readonly immutable: boolean
  /** Neither taken nor given out by any face; only Portico itself reads and writes it. */
  readonly internal: boolean
  readonly searchable: boolean
  /** Of `users`: whoever makes an account is asked for it. */
  readonly signUp: boolean
  readonly deprecated: Deprecation | undefined
  readonly renamedFrom: string | undefined
  /** Beyond the collection's own rules. A row for which `read` fails shows null. */
  readonly access: { readonly read: Rule; readonly write: Rule }
  /** Where the field refers to: the to-one relation that it carries. */
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
  /** When it stops working (RFC 8594), ISO 8601 UTC. */
  readonly sunset: string | undefined
  readonly reason: string | undefined
}

export interface Index {
  /** In order. Those of a unique index have no direction: none descends. */
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
