/** What each name of the schema means in the model. */
import type {
  Action,
  Collection,
  EmittedEvent,
  Field,
  ManyToMany,
  Query,
  Relation,
  ToMany,
} from '../../../model/model.ts'
import type { AggregateFields } from './aggregate-types.ts'

/** A field of a collection's type. */
export type Member =
  | { readonly kind: 'field'; readonly field: Field }
  /** The item's type and id, combined (`Post:1`). */
  | { readonly kind: 'nodeId' }
  | { readonly kind: 'relation'; readonly relation: Relation; readonly target: Collection }
  | { readonly kind: 'connection'; readonly relation: ToMany | ManyToMany; readonly target: Collection }
  /** Only the reply to a create reveals it. */
  | { readonly kind: 'revealed'; readonly name: string }

export type QueryField =
  | { readonly kind: 'item'; readonly collection: Collection }
  /** An item of any type. */
  | { readonly kind: 'node' }
  | { readonly kind: 'list'; readonly collection: Collection }
  | { readonly kind: 'connection'; readonly collection: Collection }
  | { readonly kind: 'aggregate'; readonly collection: Collection }
  | { readonly kind: 'me'; readonly collection: Collection }
  | { readonly kind: 'rateLimit' }
  | { readonly kind: 'query'; readonly query: Query }

export type MutationField =
  | { readonly kind: 'create' | 'update' | 'delete'; readonly collection: Collection }
  | { readonly kind: 'logic'; readonly action: Action }

export type SubscriptionField =
  | { readonly kind: 'created' | 'updated' | 'deleted'; readonly collection: Collection }
  /** A type of event that actions emit. */
  | { readonly kind: 'emitted'; readonly collection: Collection; readonly event: EmittedEvent }

export interface SchemaDirectory {
  /** By type, then by field. */
  readonly members: ReadonlyMap<string, ReadonlyMap<string, Member>>
  readonly queries: ReadonlyMap<string, QueryField>
  readonly mutations: ReadonlyMap<string, MutationField>
  readonly subscriptions: ReadonlyMap<string, SubscriptionField>
  /** The name of each collection's object type. */
  readonly typeNames: ReadonlyMap<string, string>
  /** The collections whose items `node` finds, by type. */
  readonly nodes: ReadonlyMap<string, Collection>
  /** The model's field or relation for each field of a filter, by collection. */
  readonly filterable: ReadonlyMap<string, ReadonlyMap<string, Field | Relation>>
  /** By collection. */
  readonly aggregates: ReadonlyMap<string, AggregateFields>
}
