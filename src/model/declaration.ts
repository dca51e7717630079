/** The functions that a model file is written with. `checkModel` checks what they return. */
import type { AccessRule } from './access.ts'
import type { ComputedDeclaration } from './computed.ts'
import type { DeprecationOptions, FieldDeclaration } from './fields/declared.ts'
import type { CheckWrite, LimitDeclaration, LogicDeclaration, Prepare } from './logic.ts'

type Operation = 'read' | 'create' | 'update' | 'delete'

export type FieldDeclarations = Readonly<Record<string, FieldDeclaration>>

export interface ManyToManyDeclaration {
  readonly kind: 'manyToMany'
  readonly target: string
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
  readonly access?: { readonly [operation in Operation]?: AccessRule }
  /** Read-only fields that the database computes. */
  readonly computed?: Readonly<Record<string, ComputedDeclaration>>
  /** Sets values of an item that is about to be written. Pure and synchronous. */
  readonly prepare?: Prepare
  /** Finds what is wrong with an item that is about to be written. Pure and synchronous. */
  readonly check?: CheckWrite
  /** How many items there may be. */
  readonly limits?: readonly LimitDeclaration[]
}

/** The options that extend `users`. It is built in, so it cannot be renamed or deprecated. */
type UsersOptions<
  Fields extends FieldDeclarations = FieldDeclarations,
  UpdatedAt extends boolean = boolean,
> = Partial<Omit<CollectionOptions<Fields, UpdatedAt>, 'singular' | 'renamedFrom' | 'deprecated'>>

export interface CollectionDeclaration<
  Fields extends FieldDeclarations = FieldDeclarations,
  UpdatedAt extends boolean = boolean,
> {
  readonly kind: 'collection'
  /** The built-in collection that this one extends. */
  readonly extends: 'users' | undefined
  /** Of built-in collections: see `Collection.unlogged`. */
  readonly unlogged?: true
  readonly options: CollectionOptions<Fields, UpdatedAt>
}

export type CollectionDeclarations = Readonly<Record<string, CollectionDeclaration>>

export interface Declaration<Collections extends CollectionDeclarations = CollectionDeclarations> {
  readonly kind: 'model'
  readonly collections: Collections
  readonly logic: LogicDeclaration
}

/** A model. The keys are the names of the collections: plural, in snake_case. `logic`: what the product does with them. */
export function model<const C extends CollectionDeclarations>(
  collections: C,
  logic: LogicDeclaration = {},
): Declaration<C> {
  return Object.freeze({ kind: 'model', collections, logic })
}

/** A collection of items. Every item also has an `id` and a `created_at`. */
export function collection<const F extends FieldDeclarations, const U extends boolean = false>(
  options: CollectionOptions<F, U>,
): CollectionDeclaration<F, U> {
  return Object.freeze({ kind: 'collection', extends: undefined, options })
}

/** Extends the built-in collection of accounts. */
export function users<
  const F extends FieldDeclarations = Record<never, never>,
  const U extends boolean = false,
>(options: UsersOptions<F, U> = {}): CollectionDeclaration<F, U> {
  const fields = options.fields ?? ({} as F)
  return Object.freeze({ kind: 'collection', extends: 'users', options: { ...options, fields } })
}

/** A relation through a join collection, whose fields `from` and `to` hold the two ids. */
export function manyToMany(
  target: string,
  join: { readonly through: string; readonly from: string; readonly to: string },
): ManyToManyDeclaration {
  return Object.freeze({ kind: 'manyToMany', target, ...join })
}

/**
 * An index over these fields, in this order. A `-` before a name makes the field descend, as in `?sort=`. The index
 * serves lists that filter by its first fields and sort by the next ones, in this direction or its exact reverse.
 */
export function index(...fields: readonly string[]): IndexDeclaration {
  return Object.freeze({ kind: 'index', fields, unique: false })
}

/** No two items have the same values in all these fields. Items that lack one of them are exempt. */
export function unique(...fields: readonly string[]): IndexDeclaration {
  return Object.freeze({ kind: 'index', fields, unique: true })
}
