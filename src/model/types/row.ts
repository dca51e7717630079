/** Rows as rules see them, for the compiler. */
import type { FieldDeclaration, ReferenceTrait, TimeTrait } from '../fields/declared.ts'
import type { Scalar } from '../rule/rule.ts'
import type { Accepts, Placeholder } from './rule.ts'

type IsLiteral<Text extends string> = string extends Text ? false : true

type Equal<Value, Trait> =
  | null
  | (Trait extends TimeTrait ? Placeholder<'now'> : never)
  | (Trait extends ReferenceTrait<'users'> ? Placeholder<'currentUser'> : never)
  | (Trait extends ReferenceTrait<'oauth_apps'> ? Placeholder<'currentApp'> : never)
  | (Value extends string ? Value | Placeholder<'text'> : Value extends number | boolean ? Value : never)

type Ordered<Value, Trait> =
  | (Trait extends TimeTrait ? Placeholder<'now'> : never)
  | (Value extends string
      ? IsLiteral<Value> extends true
        ? never
        : Value | Placeholder<'text'>
      : Value extends number
        ? Value
        : never)

/** A field as rules see it. `unknown`: the field is json, or its type is not known. */
type RowField<Value, Trait> = [Scalar] extends [Value]
  ? { readonly eq: Accepts<null>; readonly order: Accepts<never> }
  : { readonly eq: Accepts<Equal<Value, Trait>>; readonly order: Accepts<Ordered<Value, Trait>> }

type RowFieldOf<F> =
  F extends FieldDeclaration<infer Value, object, infer Trait> ? RowField<Value, Trait> : never

interface TimeFields {
  readonly created_at: RowField<string, TimeTrait>
}

type BuiltinRowFields<UpdatedAt, Id> = TimeFields & {
  readonly id: RowField<number, Id>
} & ([UpdatedAt] extends [true] ? { readonly updated_at: RowField<string, TimeTrait> } : unknown)

/** The fields of a row. `Id`: `ReferenceTrait<'users'>` where the row is a user. */
export type RowFields<Fields, UpdatedAt = false, Id = unknown> = string extends keyof Fields
  ? // biome-ignore lint/suspicious/noExplicitAny: names that are only known at run time.
    any
  : BuiltinRowFields<UpdatedAt, Id> & { readonly [K in keyof Fields]: RowFieldOf<Fields[K]> }

/** A row whose own fields alone are known: only `model` knows the targets of relations. */
export interface OwnRow<Fields, UpdatedAt = false, Id = unknown> {
  readonly fields: RowFields<Fields, UpdatedAt, Id>
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly relations: any
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly caller: any
}

/** The rules in the options of fields. */
export type FieldRulesIn<Fields> = {
  [K in keyof Fields]-?: Fields[K] extends FieldDeclaration<unknown, { readonly access: infer Access }>
    ? Access[keyof Access]
    : never
}[keyof Fields]
