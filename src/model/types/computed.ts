/** The types of computed fields: the values of expressions, and the fields and relations that they need. */

import type { ComputedDeclaration } from '../computed/computed.ts'
import type { Marker } from '../fields/marker.ts'
import type { Scalar } from '../rule/rule.ts'
import type { AccessRule, FieldRules, FieldUse, NeedsOf, PathNeeds, RelationNeeds } from './rule.ts'

declare const pathType: unique symbol

/** The value of a field that only the model knows, by its path: `title`, `tasks.points`. */
export interface FieldValue<out Path extends string = string> {
  readonly [pathType]: Path
}

declare const filledType: unique symbol

/** A value that is never null. */
export interface Filled<out Value> {
  readonly [filledType]: Value
}

/** A part of an expression: another one, a field (`field('title')`), or a constant. A text is a constant. */
export type ComputedOperand<Value = Scalar> =
  | ComputedDeclaration<Value | FieldValue | Filled<unknown> | null>
  | FieldRules
  | (Value & Scalar)
  | null

export type ComputedNumber = ComputedOperand<number>

/** The value of an operand. */
export type OperandValue<O> =
  O extends ComputedDeclaration<infer Value> ? Value : O extends FieldRules<infer Path> ? FieldValue<Path> : O

type OperandRule<O, Use> =
  O extends ComputedDeclaration<unknown, infer Needs>
    ? AccessRule<Needs>
    : O extends FieldRules<infer Path>
      ? AccessRule<PathNeeds<Path, Use>>
      : never

/** The needs of all operands in a union. `Use`: how their fields are used. */
export type OperandNeeds<O, Use = unknown> = NeedsOf<OperandRule<O, Use>>

/** The use of a field in arithmetic. */
export type NumberUse = FieldUse<'order', number>

/** The use of a field in date parts. */
export type TimeUse = FieldUse<'order', Marker<'now'>>

/** The needs of an expression over related rows. */
export type OverNeeds<Relation extends string, Field extends string, Needs, Use = unknown> = RelationNeeds<
  Relation,
  PathNeeds<Field, Use> & Needs
>

/** A field of related rows. */
export type RelatedValue<Relation extends string, Field extends string> = FieldValue<`${Relation}.${Field}`>

/** The value of `coalesce`: not null if its last part is a constant. */
export type CoalescedValue<Parts extends readonly unknown[]> = Parts extends readonly [
  ...unknown[],
  infer Last,
]
  ? Last extends string | number | boolean
    ? Filled<OperandValue<Parts[number]>>
    : OperandValue<Parts[number]>
  : OperandValue<Parts[number]>

type ReadRule<Options> = Options extends { readonly access: { readonly read: infer Rule } } ? Rule : never

/** The value may be null if the field has a read rule of its own, which may fail. */
export type GuardedValue<Value, Options> = Value | ([ReadRule<Options>] extends [never] ? never : null)

export type OptionsNeeds<Options> = NeedsOf<ReadRule<Options>>
