/** The types of items and bodies, inferred from the declared fields. */
import type { FieldDeclaration } from '../fields/declared.ts'
import type { FileUpload, StoredFile } from '../fields/file.ts'

/** Makes editors show an intersection as one object type. */
export type Flat<T> = { [K in keyof T]: T[K] }

type OptionsOf<F> = F extends FieldDeclaration<unknown, infer O> ? O : never
export type ValueOf<F> = F extends FieldDeclaration<infer V, object> ? V : never

type Is<F, Option extends string> = OptionsOf<F> extends { readonly [K in Option]: true } ? true : false
type Has<F, Option extends string> = OptionsOf<F> extends { readonly [K in Option]: unknown } ? true : false
export type OrNull<F> = Is<F, 'optional'> extends true ? ValueOf<F> | null : ValueOf<F>
/** A value that is written: a file is an upload, or the one that the item has. */
type Written<V> = [V] extends [StoredFile | null] ? ([V] extends [null] ? V : V | FileUpload) : V
/** A file in a write or an event has no address. */
type WithoutUrl<V> = [V] extends [StoredFile | null]
  ? [V] extends [null]
    ? V
    : Omit<StoredFile, 'url'> | Extract<V, null>
  : V
type IsGuarded<F> = OptionsOf<F> extends { readonly access: { readonly read: unknown } } ? true : false

type IsReturned<F> = true extends Is<F, 'writeOnly'> | Is<F, 'internal'> ? false : true
type IsAccepted<F> = true extends Is<F, 'readOnly'> | Is<F, 'internal'> ? false : true
type MayBeOmitted<F> = true extends Is<F, 'optional'> | Has<F, 'default'> ? true : false

/** The names of fields that everyone who may read the item may read. */
type OpenNames<F> = {
  [K in keyof F]: IsReturned<F[K]> extends true ? (IsGuarded<F[K]> extends true ? never : K) : never
}[keyof F]
/** The names of fields with a read rule of their own, which may be absent or null. */
type GuardedNames<F> = {
  [K in keyof F]: IsReturned<F[K]> extends true ? (IsGuarded<F[K]> extends true ? K : never) : never
}[keyof F]
type RequiredNames<F> = {
  [K in keyof F]: IsAccepted<F[K]> extends true ? (MayBeOmitted<F[K]> extends true ? never : K) : never
}[keyof F]
type OmittableNames<F> = {
  [K in keyof F]: IsAccepted<F[K]> extends true ? (MayBeOmitted<F[K]> extends true ? K : never) : never
}[keyof F]
type WritableNames<F> = { [K in keyof F]: IsAccepted<F[K]> extends true ? K : never }[keyof F]
type ChangeableNames<F> = {
  [K in WritableNames<F>]: Is<F[K], 'immutable'> extends true ? never : K
}[WritableNames<F>]
type StoredNames<F> = { [K in keyof F]: Is<F[K], 'internal'> extends true ? never : K }[keyof F]

export type ItemOf<F> = { readonly [K in OpenNames<F>]: OrNull<F[K]> } & {
  readonly [K in GuardedNames<F>]?: ValueOf<F[K]> | null
}

/** An item as the service reads it: no rule hides a field. */
export type WholeItemOf<F> = { readonly [K in OpenNames<F> | GuardedNames<F>]: OrNull<F[K]> }

export type InputOf<F> = { readonly [K in RequiredNames<F>]: Written<OrNull<F[K]>> } & {
  readonly [K in OmittableNames<F>]?: Written<OrNull<F[K]>>
}

/** The fields that an update may change. */
export type ChangesOf<F> = { readonly [K in ChangeableNames<F>]?: Written<OrNull<F[K]>> }

/** All stored values, regardless of who may read them. */
export type StoredOf<F> = { readonly [K in StoredNames<F>]: WithoutUrl<OrNull<F[K]>> }

/** Whether only `prepare` sets the field: its value is null before. */
type IsUnset<F> = [Is<F, 'readOnly'>, Has<F, 'default'>] extends [true, false] ? true : false

/** The values of an item before `prepare`. */
export type UnpreparedOf<F> = {
  readonly [K in StoredNames<F>]: WithoutUrl<IsUnset<F[K]> extends true ? OrNull<F[K]> | null : OrNull<F[K]>>
}

export type TimesOf<UpdatedAt> = [UpdatedAt] extends [true]
  ? { readonly created_at: string; readonly updated_at: string }
  : { readonly created_at: string }
