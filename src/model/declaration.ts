/** The words that a model file is written with. What they make is checked by `checkModel`. */
import type { AccessRule } from './access.ts'
import type { DeprecationOptions, FieldDeclaration } from './fields/declared.ts'

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
  /** The name of one item; needed only where it cannot be derived from the collection's. */
  readonly singular?: string
  /** Whether items carry the time of their last change. */
  readonly updatedAt?: UpdatedAt
  readonly deprecated?: DeprecationOptions
  /** The name that this collection had before; its data are kept. */
  readonly renamedFrom?: string
  readonly relations?: Readonly<Record<string, ManyToManyDeclaration>>
  readonly indexes?: readonly IndexDeclaration[]
  /** What is left out is for administrators only. */
  readonly access?: { readonly [operation in Operation]?: AccessRule }
}

/** What `users` can be extended with: everything but its name. */
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
  readonly options: CollectionOptions<Fields, UpdatedAt>
}

export type CollectionDeclarations = Readonly<Record<string, CollectionDeclaration>>

export interface Declaration<Collections extends CollectionDeclarations = CollectionDeclarations> {
  readonly kind: 'model'
  readonly collections: Collections
}

/** A whole model, by the names of its collections: plural, in snake_case. */
export function model<const C extends CollectionDeclarations>(collections: C): Declaration<C> {
  return Object.freeze({ kind: 'model', collections })
}

/** A collection of items. Every item also has an `id` and a `created_at`. */
export function collection<const F extends FieldDeclarations, const U extends boolean = false>(
  options: CollectionOptions<F, U>,
): CollectionDeclaration<F, U> {
  return Object.freeze({ kind: 'collection', extends: undefined, options })
}

/** The accounts, which are there by themselves, with what this model adds to them. */
export function users<
  const F extends FieldDeclarations = Record<never, never>,
  const U extends boolean = false,
>(options: UsersOptions<F, U> = {}): CollectionDeclaration<F, U> {
  const fields = options.fields ?? ({} as F)
  return Object.freeze({ kind: 'collection', extends: 'users', options: { ...options, fields } })
}

/** A relation by the rows of a join collection, whose fields `from` and `to` hold the two ids. */
export function manyToMany(
  target: string,
  join: { readonly through: string; readonly from: string; readonly to: string },
): ManyToManyDeclaration {
  return Object.freeze({ kind: 'manyToMany', target, ...join })
}

/**
 * An index over these fields, in this order; a `-` before a name makes that field descend, as in `?sort=`. It serves
 * lists that are filtered by its first fields and sorted by the next ones, in this direction or its exact reverse.
 */
export function index(...fields: readonly string[]): IndexDeclaration {
  return Object.freeze({ kind: 'index', fields, unique: false })
}

/** No two items share the values of all these fields. Items in which one of them is missing do not count. */
export function unique(...fields: readonly string[]): IndexDeclaration {
  return Object.freeze({ kind: 'index', fields, unique: true })
}
