/** A model as it is declared: what the functions of `declaration.ts` return. */
import type { ComputedDeclaration } from './computed/computed.ts'
import type { DeprecationOptions, FieldDeclarations } from './fields/declared.ts'
import type { CheckWrite, LimitDeclaration, LogicDeclaration, Prepare } from './logic/logic.ts'
import type { AccessRule } from './types/rule.ts'

export type CrudOperation = 'read' | 'create' | 'update' | 'delete'

export interface ManyToManyDeclaration<Target extends string = string> {
  readonly kind: 'manyToMany'
  readonly target: Target
  readonly through: string
  readonly from: string
  readonly to: string
}

export interface IndexDeclaration {
  readonly kind: 'index'
  /** As written: `-created_at` descends. */
  readonly fields: readonly string[]
  readonly unique: boolean
}

export interface CollectionOptions<
  Fields extends FieldDeclarations = FieldDeclarations,
  UpdatedAt extends boolean = boolean,
> {
  readonly fields: Fields
  /** A sentence for the documentation. */
  readonly description?: string
  /** The name of one item. Required only where it cannot be derived from the collection's name. */
  readonly singular?: string
  /** Whether items have the field `updated_at`. */
  readonly updatedAt?: UpdatedAt
  readonly deprecated?: DeprecationOptions
  /** The former name of the collection. A migration renames the table and keeps its data. */
  readonly renamedFrom?: string
  readonly relations?: Readonly<Record<string, ManyToManyDeclaration>>
  readonly indexes?: readonly IndexDeclaration[]
  /** Operations without a rule are for administrators only. */
  readonly access?: { readonly [operation in CrudOperation]?: AccessRule }
  /** Read-only fields that the database computes. */
  readonly computed?: Readonly<Record<string, ComputedDeclaration>>
  /** Returns values to set in an item that is about to be written. Pure and synchronous. */
  readonly prepare?: Prepare
  /** Returns the faults of an item that is about to be written. Pure and synchronous. */
  readonly check?: CheckWrite
  /** Cardinality limits. */
  readonly limits?: readonly LimitDeclaration[]
  /**
   * True: its one relation to `users`, or to a collection that is personal, is `personal: true`. False: none of its relations is.
   */
  readonly personal?: boolean
}

declare const traitsType: unique symbol

/** A declared collection. `Traits`: its other types, see `TraitsOf`. */
export interface CollectionDeclaration<
  Fields extends FieldDeclarations = FieldDeclarations,
  UpdatedAt extends boolean = boolean,
  Traits = unknown,
> {
  readonly kind: 'collection'
  /** The built-in collection that this one extends. */
  readonly extends: 'users' | undefined
  /** Built-in collections only: see `Collection.unlogged`. */
  readonly unlogged?: true
  readonly options: CollectionOptions<Fields, UpdatedAt>
  readonly [traitsType]?: Traits
}

/**
 * The constraint for collections. Not `CollectionDeclaration`, from which the compiler would infer fields of any name in
 * place of the declared ones.
 */
type AnyCollection = Pick<CollectionDeclaration, 'kind' | 'extends'>

export type AnyCollections = Readonly<Record<string, AnyCollection>>

export type CollectionDeclarations = Readonly<Record<string, CollectionDeclaration>>

export interface Declaration<
  Collections extends AnyCollections = CollectionDeclarations,
  Logic extends LogicDeclaration = LogicDeclaration,
> {
  readonly kind: 'model'
  readonly collections: Collections
  readonly logic: Logic
}
