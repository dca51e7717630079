/** What the names of the schema stand for. */
import type { Collection, Field, ManyToMany, Relation, ToMany } from '../model/model.ts'

/** A field of a collection's type. */
export type Member =
  | { readonly kind: 'field'; readonly field: Field }
  /** The item's id and type in one. */
  | { readonly kind: 'nodeId' }
  | { readonly kind: 'relation'; readonly relation: Relation; readonly target: Collection }
  | { readonly kind: 'connection'; readonly relation: ToMany | ManyToMany; readonly target: Collection }
  /** Known only in the answer to its creation. */
  | { readonly kind: 'revealed'; readonly name: string }

export type QueryField =
  | { readonly kind: 'item'; readonly collection: Collection }
  /** An item of whatever type. */
  | { readonly kind: 'node' }
  | { readonly kind: 'list'; readonly collection: Collection }
  | { readonly kind: 'connection'; readonly collection: Collection }
  | { readonly kind: 'me'; readonly collection: Collection }
  | { readonly kind: 'rateLimit' }

export type MutationField = {
  readonly kind: 'create' | 'update' | 'delete'
  readonly collection: Collection
}

export type SubscriptionField = {
  readonly kind: 'created' | 'updated' | 'deleted'
  readonly collection: Collection
}

/** By name. */
export interface Directory {
  /** By type, then by field. */
  readonly members: ReadonlyMap<string, ReadonlyMap<string, Member>>
  readonly queries: ReadonlyMap<string, QueryField>
  readonly mutations: ReadonlyMap<string, MutationField>
  readonly subscriptions: ReadonlyMap<string, SubscriptionField>
  /** The object type of each collection. */
  readonly typeOf: ReadonlyMap<string, string>
  /** The collections whose items `node` finds, by type. */
  readonly nodes: ReadonlyMap<string, Collection>
  /** The model's field or relation for each field of a filter, by collection. */
  readonly filterable: ReadonlyMap<string, ReadonlyMap<string, Field | Relation>>
}
