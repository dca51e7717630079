/** The TypeScript types of items and bodies, inferred from a declaration. */
import type { CollectionDeclarations, Declaration } from './declaration.ts'
import type { ChangesOf, Flat, InputOf } from './item-types.ts'
import type { FieldsIn, ItemIn, NameIn } from './model-types.ts'

type CollectionsOf<M> = M extends Declaration<infer C extends CollectionDeclarations> ? C : never

/** The names of a model's collections, the built-in ones among them. */
export type CollectionName<M extends Declaration> = NameIn<CollectionsOf<M>>

/** An item as the API returns it: `Item<typeof model, 'posts'>`. Computed fields are given where a read names them. */
export type Item<M extends Declaration, C extends CollectionName<M>> = ItemIn<CollectionsOf<M>, C>

/** The body that creates an item: `CreateInput<typeof model, 'posts'>`. */
export type CreateInput<M extends Declaration, C extends CollectionName<M>> = Flat<
  InputOf<FieldsIn<CollectionsOf<M>, C>>
>

/** The body that changes an item: `UpdateInput<typeof model, 'posts'>`. */
export type UpdateInput<M extends Declaration, C extends CollectionName<M>> = Flat<
  ChangesOf<FieldsIn<CollectionsOf<M>, C>>
>
