/**
 * What the compiler knows of a rule: the fields, relations and values that it names. `collection` compares it with the
 * collection's own fields, `model` with the rest. A name that is only known at run time (a plain `string`) needs `any`:
 * `checkModel` finds out.
 */
import type { AccessRule, CallerOperand, ClaimOperand, FieldRules } from './access.ts'
import type { FieldDeclaration, Reference, Time } from './fields/declared.ts'
import type { Marker, ShiftedNow } from './fields/marker.ts'
import type { Scalar } from './rule.ts'

/** What takes more values fits where fewer are needed. */
type Accepts<Value> = (value: Value) => void

declare const stands: unique symbol

/** A value that is known only when a request is served, or a text that is not a literal. */
interface Placeholder<Name extends string> {
  readonly [stands]: Name
}

/** What a comparison needs a field to take. */
type Taken<Value> = [Value] extends [Marker<'now'> | ShiftedNow]
  ? Placeholder<'now'>
  : [Value] extends [Marker<'currentUser'>]
    ? Placeholder<'currentUser'>
    : [Scalar] extends [Value]
      ? never
      : Value extends string
        ? string extends Value
          ? Placeholder<'text'>
          : Value
        : Value

/** What the row must have at a path: `status`, `task.project.organization_id`. */
export type PathNeeds<Path extends string, Use = unknown> = string extends Path
  ? // biome-ignore lint/suspicious/noExplicitAny: nothing is known of it, so it fits everywhere.
    any
  : Path extends `${infer Relation}.${infer Rest}`
    ? RelationNeeds<Relation, PathNeeds<Rest, Use>>
    : { readonly fields: { readonly [K in Path]: Use } }

export type RelationNeeds<Relation extends string, Needs> = string extends Relation
  ? // biome-ignore lint/suspicious/noExplicitAny: as above.
    any
  : { readonly relations: { readonly [K in Relation]: Needs } }

/** `eq`: equations and `in`; `order`: comparisons by size, and arithmetic. */
export type FieldUse<Comparison extends 'eq' | 'order', Value> = {
  readonly [C in Comparison]: Accepts<Taken<Value>>
}

export type CompareNeeds<Path extends string, Comparison extends 'eq' | 'order', Value> = [Value] extends [
  FieldRules<infer Other>,
]
  ? PathNeeds<Path> & PathNeeds<Other>
  : [Value] extends [CallerOperand<infer Field>]
    ? PathNeeds<Path> & { readonly caller: PathNeeds<Field> }
    : [Value] extends [ClaimOperand]
      ? PathNeeds<Path>
      : PathNeeds<Path, FieldUse<Comparison, Value>>

/** What all the rules of a union need. */
export type NeedsOf<Rules> = [Rules] extends [AccessRule<infer Needs>] ? Needs : never

type IsLiteral<Text extends string> = string extends Text ? false : true

type Equal<Value, Trait> =
  | null
  | (Trait extends Time ? Placeholder<'now'> : never)
  | (Trait extends Reference<'users'> ? Placeholder<'currentUser'> : never)
  | (Value extends string ? Value | Placeholder<'text'> : Value extends number | boolean ? Value : never)

type Ordered<Value, Trait> =
  | (Trait extends Time ? Placeholder<'now'> : never)
  | (Value extends string
      ? IsLiteral<Value> extends true
        ? never
        : Value | Placeholder<'text'>
      : Value extends number
        ? Value
        : never)

/** A field as rules see it. `unknown`: it is json, or nothing is known of it. */
type RowField<Value, Trait> = [Scalar] extends [Value]
  ? { readonly eq: Accepts<null>; readonly order: Accepts<never> }
  : { readonly eq: Accepts<Equal<Value, Trait>>; readonly order: Accepts<Ordered<Value, Trait>> }

type RowFieldOf<F> =
  F extends FieldDeclaration<infer Value, object, infer Trait> ? RowField<Value, Trait> : never

interface TimeFields {
  readonly created_at: RowField<string, Time>
}

type BuiltinRowFields<UpdatedAt, Id> = TimeFields & {
  readonly id: RowField<number, Id>
} & ([UpdatedAt] extends [true] ? { readonly updated_at: RowField<string, Time> } : unknown)

/** The fields of a row. `Id`: `Reference<'users'>` where the row is a user. */
export type RowFields<Fields, UpdatedAt = false, Id = unknown> = string extends keyof Fields
  ? // biome-ignore lint/suspicious/noExplicitAny: names that are only known at run time.
    any
  : BuiltinRowFields<UpdatedAt, Id> & { readonly [K in keyof Fields]: RowFieldOf<Fields[K]> }

/** A row of which only its own fields are known: where relations lead is known to `model`. */
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
