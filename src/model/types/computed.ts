/** The types of computed fields: what an expression is worth, and what it needs of the row. */

import type { ComputedDeclaration } from '../computed.ts'
import type { Marker } from '../fields/marker.ts'
import type { Scalar } from '../rule.ts'
import type { AccessRule, FieldRules, FieldUse, NeedsOf, PathNeeds, RelationNeeds } from './rule.ts'

declare const pathType: unique symbol

/** The value of a field that only the model knows, by its path: `title`, `tasks.points`. */
export interface FieldValue<out Path extends string = string> {
  readonly [pathType]: Path
}

declare const filledType: unique symbol

/** A value in place of which null never comes. */
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

/** What an operand is worth. */
export type OperandValue<O> =
  O extends ComputedDeclaration<infer Value> ? Value : O extends FieldRules<infer Path> ? FieldValue<Path> : O

type OperandRule<O, Use> =
  O extends ComputedDeclaration<unknown, infer Needs>
    ? AccessRule<Needs>
    : O extends FieldRules<infer Path>
      ? AccessRule<PathNeeds<Path, Use>>
      : never

/** What all operands of a union need. `Use`: how their fields are used. */
export type OperandNeeds<O, Use = unknown> = NeedsOf<OperandRule<O, Use>>

/** Of a field in arithmetic. */
export type NumberUse = FieldUse<'order', number>

/** Of a field with date parts. */
export type TimeUse = FieldUse<'order', Marker<'now'>>

/** What an expression over related rows needs. */
export type OverNeeds<Relation extends string, Field extends string, Needs, Use = unknown> = RelationNeeds<
  Relation,
  PathNeeds<Field, Use> & Needs
>

/** A field of related rows. */
export type RelatedValue<Relation extends string, Field extends string> = FieldValue<`${Relation}.${Field}`>

/** Of `coalesce`: not null where its last part is a constant. */
export type CoalescedValue<Parts extends readonly unknown[]> = Parts extends readonly [
  ...unknown[],
  infer Last,
]
  ? Last extends string | number | boolean
    ? Filled<OperandValue<Parts[number]>>
    : OperandValue<Parts[number]>
  : OperandValue<Parts[number]>

type ReadRule<Options> = Options extends { readonly access: { readonly read: infer Rule } } ? Rule : never

/** Null where the field has a read rule of its own, which may fail. */
export type GuardedValue<Value, Options> = Value | ([ReadRule<Options>] extends [never] ? never : null)

export type OptionsNeeds<Options> = NeedsOf<ReadRule<Options>>
