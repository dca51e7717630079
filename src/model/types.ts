/** The TypeScript types of items and bodies, inferred from a declaration. */
import type { ApiKeyFields, OauthAppFields, OauthAppSecretFields, UserFields } from './builtin.ts'
import type { WebhookDeliveryFields, WebhookFields } from './builtin-webhooks.ts'
import type {
  CollectionDeclaration,
  CollectionDeclarations,
  Declaration,
  FieldDeclarations,
} from './declaration.ts'
import type { FieldDeclaration } from './fields/declared.ts'

/** Makes editors show an intersection as one object type. */
type Flat<T> = { [K in keyof T]: T[K] }

type CollectionsOf<M> = M extends Declaration<infer C extends CollectionDeclarations> ? C : never

type BuiltinName =
  | 'users'
  | 'api_keys'
  | 'oauth_apps'
  | 'oauth_app_secrets'
  | 'webhooks'
  | 'webhook_deliveries'

/** The names of a model's collections, the built-in ones among them. */
export type CollectionName<M extends Declaration> = (keyof CollectionsOf<M> & string) | BuiltinName

type DeclaredFields<M, C> = C extends keyof CollectionsOf<M>
  ? CollectionsOf<M>[C] extends CollectionDeclaration<infer F extends FieldDeclarations, boolean>
    ? F
    : never
  : Record<never, never>

interface BuiltinFields {
  readonly api_keys: ApiKeyFields
  readonly oauth_apps: OauthAppFields
  readonly oauth_app_secrets: OauthAppSecretFields
  readonly webhooks: WebhookFields
  readonly webhook_deliveries: WebhookDeliveryFields
}

type FieldsOf<M, C> = C extends keyof BuiltinFields
  ? BuiltinFields[C]
  : C extends 'users'
    ? UserFields & DeclaredFields<M, C>
    : DeclaredFields<M, C>

type HasUpdatedAt<M, C> = C extends keyof CollectionsOf<M>
  ? CollectionsOf<M>[C] extends CollectionDeclaration<FieldDeclarations, infer U>
    ? U
    : false
  : false

type OptionsOf<F> = F extends FieldDeclaration<unknown, infer O> ? O : never
type ValueOf<F> = F extends FieldDeclaration<infer V, object> ? V : never

type Is<F, Option extends string> = OptionsOf<F> extends { readonly [K in Option]: true } ? true : false
type Has<F, Option extends string> = OptionsOf<F> extends { readonly [K in Option]: unknown } ? true : false
type OrNull<F> = Is<F, 'optional'> extends true ? ValueOf<F> | null : ValueOf<F>
type IsGuarded<F> = OptionsOf<F> extends { readonly access: { readonly read: unknown } } ? true : false

type IsGivenOut<F> = true extends Is<F, 'writeOnly'> | Is<F, 'internal'> ? false : true
type IsTaken<F> = true extends Is<F, 'readOnly'> | Is<F, 'internal'> ? false : true
type MayBeLeftOut<F> = true extends Is<F, 'optional'> | Has<F, 'default'> ? true : false

/** The names of fields that everyone who may read the item may read. */
type OpenNames<F> = {
  [K in keyof F]: IsGivenOut<F[K]> extends true ? (IsGuarded<F[K]> extends true ? never : K) : never
}[keyof F]
/** The names of fields with a read rule of their own, which may be absent or null. */
type GuardedNames<F> = {
  [K in keyof F]: IsGivenOut<F[K]> extends true ? (IsGuarded<F[K]> extends true ? K : never) : never
}[keyof F]
type NeededNames<F> = {
  [K in keyof F]: IsTaken<F[K]> extends true ? (MayBeLeftOut<F[K]> extends true ? never : K) : never
}[keyof F]
type FreeNames<F> = {
  [K in keyof F]: IsTaken<F[K]> extends true ? (MayBeLeftOut<F[K]> extends true ? K : never) : never
}[keyof F]

type ItemOf<F> = { readonly [K in OpenNames<F>]: OrNull<F[K]> } & {
  readonly [K in GuardedNames<F>]?: ValueOf<F[K]> | null
}

type Times<UpdatedAt> = [UpdatedAt] extends [true]
  ? { readonly created_at: string; readonly updated_at: string }
  : { readonly created_at: string }

/** An item as the API returns it: `Item<typeof model, 'posts'>`. */
export type Item<M extends Declaration, C extends CollectionName<M>> = Flat<
  { readonly id: number } & ItemOf<FieldsOf<M, C>> & Times<HasUpdatedAt<M, C>>
>

type InputOf<F> = { readonly [K in NeededNames<F>]: OrNull<F[K]> } & {
  readonly [K in FreeNames<F>]?: OrNull<F[K]>
}

/** The body that creates an item: `CreateInput<typeof model, 'posts'>`. */
export type CreateInput<M extends Declaration, C extends CollectionName<M>> = Flat<InputOf<FieldsOf<M, C>>>
