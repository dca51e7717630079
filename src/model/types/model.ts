/** Collections, fields and relations of a model by name, for the types that are inferred from it. `C`: its collections. */
import type { ApiKeyFields, OauthAppFields, OauthAppSecretFields, UserFields } from '../builtin/fields.ts'
import type { WebhookDeliveryFields, WebhookFields } from '../builtin/webhook-fields.ts'
import type { ComputedDeclaration } from '../computed/computed.ts'
import type { CollectionDeclaration, ManyToManyDeclaration } from '../declared-model.ts'
import type { FieldDeclaration, FieldDeclarations, ReferenceTrait } from '../fields/declared.ts'
import type { Scalar } from '../rule/rule.ts'
import type { FieldValue, Filled } from './computed.ts'
import type { Flat, ItemOf, OrNull, TimesOf, WholeItemOf } from './item.ts'
import type { RowFields } from './row.ts'
import type { NeedsOf } from './rule.ts'

interface BuiltinFields {
  readonly users: UserFields
  readonly api_keys: ApiKeyFields
  readonly oauth_apps: OauthAppFields
  readonly oauth_app_secrets: OauthAppSecretFields
  readonly webhooks: WebhookFields
  readonly webhook_deliveries: WebhookDeliveryFields
}

/** The names of the collections, the built-in ones among them. */
export type NameIn<C> = (keyof C & string) | keyof BuiltinFields

type DeclaredFields<C, N> = N extends keyof C
  ? C[N] extends CollectionDeclaration<infer F extends FieldDeclarations, boolean>
    ? F
    : FieldDeclarations
  : Record<never, never>

/** A narrowed built-in field of `users` is declared with its options. */
export type FieldsIn<C, N> = N extends 'users'
  ? Omit<UserFields, keyof DeclaredFields<C, N>> & DeclaredFields<C, N>
  : N extends keyof BuiltinFields
    ? BuiltinFields[N]
    : DeclaredFields<C, N>

export type UpdatedAtIn<C, N> = N extends keyof C
  ? C[N] extends CollectionDeclaration<FieldDeclarations, infer U>
    ? U
    : false
  : false

type TraitsIn<C, N> = N extends keyof C
  ? C[N] extends CollectionDeclaration<FieldDeclarations, boolean, infer T>
    ? T
    : never
  : never

type TraitIn<C, N, Name extends string> =
  TraitsIn<C, N> extends { readonly [K in Name]: infer T } ? T : Record<never, never>

export type SingularIn<C, N> = TraitIn<C, N, 'singular'>

/** Along relations, a value may be missing, or the caller may not be allowed to read it. */
type PathValue<C, N, Path> = Path extends `${infer Relation}.${infer Rest}`
  ? Relation extends keyof RelationsIn<C, N>
    ? PathValue<C, RelationsIn<C, N>[Relation], Rest> | null
    : Scalar
  : Path extends keyof FieldsIn<C, N>
    ? OrNull<FieldsIn<C, N>[Path]>
    : Path extends 'id'
      ? number
      : string

type ComputedValue<C, N, Value> =
  Value extends FieldValue<infer Path>
    ? PathValue<C, N, Path>
    : Value extends Filled<infer Part>
      ? NonNullable<ComputedValue<C, N, Part>>
      : Value

/** Computed fields, which only reads that name them return. */
type ComputedOf<C, N, K> = {
  readonly [Name in keyof K]?: K[Name] extends ComputedDeclaration<infer Value>
    ? ComputedValue<C, N, Value>
    : never
}

/** An item without its computed fields. */
export type PlainItemIn<C, N> = Flat<
  { readonly id: number } & ItemOf<FieldsIn<C, N>> & TimesOf<UpdatedAtIn<C, N>>
>

export type ComputedIn<C, N> = ComputedOf<C, N, TraitIn<C, N, 'computed'>>

export type ItemIn<C, N> = Flat<PlainItemIn<C, N> & ComputedIn<C, N>>

/** An item as the service reads it. */
export type WholeItemIn<C, N> = Flat<
  { readonly id: number } & WholeItemOf<FieldsIn<C, N>> & TimesOf<UpdatedAtIn<C, N>> & ComputedIn<C, N>
>

/** Clients cannot name the relation of an internal field. */
type RelationName<Field, Options> = Options extends { readonly internal: true }
  ? never
  : Options extends { readonly as: infer As extends string }
    ? As
    : Field extends `${infer Name}_id`
      ? Name
      : never

/** To-one relations by name, each with its target. */
type ToOneOf<F> = {
  readonly [K in keyof F as F[K] extends FieldDeclaration<unknown, infer O, ReferenceTrait<string>>
    ? RelationName<K, O>
    : never]: F[K] extends FieldDeclaration<unknown, object, ReferenceTrait<infer Target>> ? Target : never
}

/** The to-one relations that may lead nowhere. */
type OptionalToOneOf<F> = {
  readonly [K in keyof F]: F[K] extends FieldDeclaration<unknown, infer O, ReferenceTrait<string>>
    ? O extends { readonly optional: true }
      ? RelationName<K, O>
      : never
    : never
}[keyof F]

interface Inverse<Target, Name extends PropertyKey, From> {
  readonly target: Target
  readonly name: Name
  readonly from: From
}

type InversesOf<F, From> = {
  [K in keyof F]: F[K] extends FieldDeclaration<
    unknown,
    { readonly inverse: infer Name extends string },
    ReferenceTrait<infer Target>
  >
    ? Inverse<Target, Name, From>
    : never
}[keyof F]

/** The inverses of all relations, as a union. */
type InversesIn<C> = { [N in NameIn<C>]: InversesOf<FieldsIn<C, N>, N> }[NameIn<C>]

type InverseOf<All, N> = {
  readonly [I in Extract<All, { readonly target: N }> as I extends Inverse<unknown, infer Name, unknown>
    ? Name
    : never]: I extends Inverse<unknown, PropertyKey, infer From> ? From : never
}

type JoinsOf<Joins> = {
  readonly [K in keyof Joins]: Joins[K] extends ManyToManyDeclaration<infer Target> ? Target : never
}

export type ToOneIn<C, N> = ToOneOf<FieldsIn<C, N>>
export type OptionalToOneIn<C, N> = OptionalToOneOf<FieldsIn<C, N>>
export type ToManyIn<C, N> = InverseOf<InversesIn<C>, N> & JoinsOf<TraitIn<C, N, 'relations'>>
export type RelationsIn<C, N> = ToOneIn<C, N> & ToManyIn<C, N>

type IdOf<N> = N extends 'users' ? ReferenceTrait<'users'> : unknown

/** A row as rules see it, with its related rows. */
export interface RowIn<C, N> {
  readonly fields: RowFields<FieldsIn<C, N>, UpdatedAtIn<C, N>, IdOf<N>>
  readonly relations: RowsIn<C, RelationsIn<C, N>>
  readonly caller: CallerIn<C>
}

type RowsIn<C, Relations> = { readonly [K in keyof Relations]: RowIn<C, Relations[K]> }

/** The caller's own item, whose fields rules may name. */
export interface CallerIn<C> {
  readonly fields: RowFields<FieldsIn<C, 'users'>, UpdatedAtIn<C, 'users'>, ReferenceTrait<'users'>>
}

/** The row of rules that apply to no row: it has no fields. */
export interface NoRow<C> {
  readonly fields: Record<never, never>
  readonly relations: Record<never, never>
  readonly caller: CallerIn<C>
}

export type IsUnknownModel<C> = string extends keyof C ? true : false

/** The needs of all rules of a collection. */
export type NeedsIn<C, N> = NeedsOf<TraitIn<C, N, 'rules'>>
