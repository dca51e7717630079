/**
 * The types of rules: the fields, relations and values that a rule names. `collection` checks them against the collection's
 * own fields, `model` against the rest. A name that is known only at run time (a plain `string`) has the type `any`;
 * `checkModel` checks it.
 */
import type { Marker, ShiftedNow } from '../fields/marker.ts'
import type { Rule, Scalar } from '../rule/rule.ts'

declare const needsType: unique symbol
declare const callersType: unique symbol

/** Those for whom a rule may hold: users who are signed in, and everyone else. */
export type AnyCaller = 'user' | 'anonymous'

/**
 * A rule that can be chained: `owner('author_id').or(role('admin'))`. `Needs`: the fields and relations that the row must
 * have; the compiler refuses the rule for other rows. `Callers`: those for whom it may hold.
 */
// biome-ignore lint/suspicious/noExplicitAny: a rule without known needs fits everywhere.
export interface AccessRule<in Needs = any, out Callers extends AnyCaller = AnyCaller> {
  readonly rule: Rule
  /** Exist only for the compiler. */
  readonly [needsType]: (row: Needs) => void
  readonly [callersType]: Callers
  /** This rule and all the others must hold. */
  and<const Others extends readonly AccessRule[]>(
    ...others: Others
  ): AccessRule<Needs & NeedsOf<Others[number]>, Callers & CommonCallers<Others>>
  /** This rule or one of the others must hold. */
  or<const Others extends readonly AccessRule[]>(
    ...others: Others
  ): AccessRule<Needs & NeedsOf<Others[number]>, Callers | CallersOf<Others[number]>>
}

type CallersOf<R> = R extends AccessRule<never, infer Callers> ? Callers : never

/** Those for whom all rules of a tuple may hold. One rule that is certainly for users is enough; a list may have none. */
type CommonCallers<Rules> = Rules extends readonly [infer First, ...infer Others]
  ? [First] extends [AccessRule<never, 'user'>]
    ? 'user'
    : CommonCallers<Others>
  : AnyCaller

/** A field of the caller's own item of `users`: `caller('email')`, or the id of the caller's app: `caller('app.id')`. */
export interface CallerOperand<Field extends string = string> {
  readonly operand: 'caller'
  readonly field: Field
}

/** A claim of the caller's token, if a trusted issuer issued it: `claim('org_id')`. */
export interface ClaimOperand {
  readonly operand: 'claim'
  readonly claim: string
}

/** The right side of an equation. */
export type Comparable = Ordered | Marker<'currentUser'> | CallerOperand | ClaimOperand

/** The right side of a comparison by size. */
type Ordered = Scalar | Marker<'now'> | ShiftedNow | FieldRules

/** A field, and its comparisons. A comparison with a missing value is false. */
export interface FieldRules<out Path extends string = string> {
  /** The field's name, or a path along to-one relations: `task.project.organization_id`. */
  readonly field: Path
  readonly eq: Equation<Path>
  readonly ne: Equation<Path>
  readonly gt: Inequality<Path>
  readonly gte: Inequality<Path>
  readonly lt: Inequality<Path>
  readonly lte: Inequality<Path>
  in<const Value extends Scalar>(values: readonly Value[]): AccessRule<CompareNeeds<Path, 'eq', Value>>
}

type Equation<Path extends string> = <const Value extends Comparable>(
  value: Value,
) => AccessRule<CompareNeeds<Path, 'eq', Value>, ComparedCallers<Value>>

type AppOperand = CallerOperand<'app.id'>

/** A comparison with the caller is false for those who are not signed in. An app may have no user. */
type ComparedCallers<Value> = [AppOperand] extends [Value]
  ? AnyCaller
  : [Value] extends [Marker<'currentUser'> | CallerOperand]
    ? 'user'
    : AnyCaller

type Inequality<Path extends string> = <const Value extends Ordered>(
  value: Value,
) => AccessRule<CompareNeeds<Path, 'order', Value>>

/** Contravariant: a field that accepts more values fits where fewer are needed. */
export type Accepts<Value> = (value: Value) => void

declare const placeholderName: unique symbol

/** A value that is known only when a request is served, or a text that is not a literal. */
export interface Placeholder<Name extends string> {
  readonly [placeholderName]: Name
}

/** The type that a field must accept for a comparison. */
type AcceptedValue<Value> = [Value] extends [Marker<'now'> | ShiftedNow]
  ? Placeholder<'now'>
  : [Value] extends [Marker<infer Name extends 'currentUser' | 'currentApp'>]
    ? Placeholder<Name>
    : [Scalar] extends [Value]
      ? never
      : Value extends string
        ? string extends Value
          ? Placeholder<'text'>
          : Value
        : Value

/** The needs of a path: `status`, `task.project.organization_id`. */
export type PathNeeds<Path extends string, Use = unknown> = string extends Path
  ? // biome-ignore lint/suspicious/noExplicitAny: its needs are not known, so it fits everywhere.
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
  readonly [C in Comparison]: Accepts<AcceptedValue<Value>>
}

export type CompareNeeds<Path extends string, Comparison extends 'eq' | 'order', Value> = [Value] extends [
  FieldRules<infer Other>,
]
  ? PathNeeds<Path> & PathNeeds<Other>
  : [Value] extends [CallerOperand<infer Field>]
    ? [Value] extends [AppOperand]
      ? PathNeeds<Path, FieldUse<Comparison, Marker<'currentApp'>>>
      : PathNeeds<Path> & { readonly caller: PathNeeds<Field> }
    : [Value] extends [ClaimOperand]
      ? PathNeeds<Path>
      : PathNeeds<Path, FieldUse<Comparison, Value>>

/** The needs of all rules in a union. */
export type NeedsOf<Rules> = [Rules] extends [AccessRule<infer Needs>] ? Needs : never
