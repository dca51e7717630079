/** The conditions over rows in guarded plans, with the fields, relations and values that they read. */
import type { Predicate } from '../../base/predicate.ts'
import type { AggregateFunction, DatePart } from '../../model/computed/computed.ts'
import type { FieldType } from '../../model/fields/field-type.ts'
import type { FilterOperator, JsonValue } from '../../model/fields/type.ts'
import type { Collection, Field, ManyToMany, ToMany, ToOne } from '../../model/model.ts'
import type { Scalar } from '../../model/rule/rule.ts'
import type { Param } from './plan.ts'

/** A value that is known before any row is read. */
export type Value =
  | { readonly kind: 'param'; readonly param: Param }
  | { readonly kind: 'literal'; readonly value: JsonValue }
  | { readonly kind: 'userId' }

/** The right side of a comparison. */
export type Operand =
  | Value
  /** The time of the request, or that of the event in parameter `at`, shifted. Never missing. */
  | { readonly kind: 'now'; readonly shiftMs: number; readonly at?: Param }
  /** The id of the caller's app; missing without one. */
  | { readonly kind: 'appId' }
  /** A field of the caller's own stored row. `isConfirmed`: missing unless it is the address that the caller has confirmed. */
  | {
      readonly kind: 'caller'
      readonly users: Collection
      readonly field: Field
      readonly isConfirmed: boolean
      /** Missing unless this holds for the caller's row. Omitted in access rules, which see stored rows. */
      readonly when?: Condition
    }
  /** A claim of the caller's token; missing where it is of another type than the field. */
  | { readonly kind: 'claim'; readonly claim: string }

export function isValue(operand: Operand): operand is Value {
  return operand.kind === 'param' || operand.kind === 'literal' || operand.kind === 'userId'
}

/** The filter operator `null` becomes a condition of its own. */
export type ConditionOperator = Exclude<FilterOperator, 'null'>

export type ConditionLeaf =
  | { readonly kind: 'always' }
  | { readonly kind: 'never' }
  /** False when the field is null or not visible. `ne` too. */
  | {
      readonly kind: 'compare'
      readonly field: VisibleField
      readonly operator: ConditionOperator
      readonly operand: Operand
    }
  /** Two fields of stored rows, in access rules. False when either is missing. */
  | {
      readonly kind: 'fields'
      readonly left: FieldPath
      readonly operator: Exclude<ConditionOperator, 'in' | 'contains' | 'icontains' | 'starts_with'>
      readonly right: FieldPath
    }
  /** Two values as the caller sees them, in rules of computed fields. */
  | {
      readonly kind: 'values'
      readonly left: Computation
      readonly operator: Exclude<ConditionOperator, 'in' | 'contains'>
      readonly right: Computation
    }
  | { readonly kind: 'isNull'; readonly field: VisibleField }
  /** For the filter operator `null`. `param` true: the field is null; false: it is not. */
  | { readonly kind: 'nullness'; readonly field: VisibleField; readonly param: Param }
  /**
   * A related row exists for which the condition holds. `stored`: in an access rule, which also sees rows that the
   * caller may not read; elsewhere `rows` excludes them.
   */
  | {
      readonly kind: 'related'
      readonly path: RelationPath
      readonly rows: Condition
      readonly stored?: true
    }
  /** `isWhole`: `fields` has all searchable fields of the collection. */
  | {
      readonly kind: 'search'
      readonly fields: readonly Field[]
      readonly param: Param
      readonly isWhole: boolean
    }
  /**
   * The event log says that a fact holds, or, with `holds` false, that it does not. False for a fact that the log did not
   * keep. `facts`: of the event, see `guard/facts.ts`.
   */
  | { readonly kind: 'fact'; readonly key: string; readonly holds: boolean; readonly facts: Param }

/** Two-valued over a row: never unknown, so `not` is safe. */
export type Condition = Predicate<ConditionLeaf>

export type ConditionOfKind<Kind extends Condition['kind']> = Extract<Condition, { readonly kind: Kind }>

/** A field of the row itself, or of the stored row to which to-one relations lead from it. */
export interface FieldPath {
  readonly steps: readonly ToOnePath[]
  readonly field: Field
}

export interface ToOnePath {
  readonly relation: ToOne
  readonly target: Collection
}

/** A field that reads as null in the rows for which `when` fails. */
export interface VisibleField {
  readonly field: Field
  readonly when: Condition
  /** Only for computed fields; other fields are columns. */
  readonly computation?: Computation
  /** A column has the value of the computation, except in rows of the event log. */
  readonly isStored?: true
}

/** A value computed from a row; null where the caller may not read what it is computed from. */
export type Computation = ComputationPart & { readonly type: FieldType }

export type ComputationPart =
  | { readonly kind: 'column'; readonly field: VisibleField }
  | { readonly kind: 'literal'; readonly value: Scalar }
  /** A value of the row that a to-one relation leads to, if that row fulfils `rows`. */
  | {
      readonly kind: 'related'
      readonly path: RelationPath
      readonly when: Condition
      readonly rows: Condition
      readonly value: Computation
    }
  /** `field` undefined: the number of rows. */
  | {
      readonly kind: 'aggregate'
      readonly function: AggregateFunction
      readonly path: RelationPath
      readonly rows: Condition
      readonly field: VisibleField | undefined
      /** Over all stored rows, whether or not the caller may read them. */
      readonly stored?: true
    }
  | {
      readonly kind: 'first'
      readonly path: RelationPath
      readonly rows: Condition
      readonly sort: readonly GuardedSort[]
      readonly field: VisibleField
    }
  | {
      readonly kind: 'arithmetic'
      readonly operator: '+' | '-' | '*' | '/'
      readonly left: Computation
      readonly right: Computation
    }
  | { readonly kind: 'concat' | 'coalesce'; readonly parts: readonly Computation[] }
  | {
      readonly kind: 'when'
      readonly condition: Condition
      readonly value: Computation
      readonly otherwise: Computation
    }
  | { readonly kind: 'datePart'; readonly part: DatePart; readonly of: Computation }
  | { readonly kind: 'round'; readonly of: Computation }

/** From the rows of one collection to those of another. */
export type RelationPath =
  | ToOnePath
  | { readonly relation: ToMany; readonly target: Collection }
  /** `joinRows`: which rows of the join collection count. */
  | {
      readonly relation: ManyToMany
      readonly target: Collection
      readonly through: Collection
      readonly joinRows: Condition
    }

export interface GuardedSort {
  readonly field: VisibleField
  readonly descending: boolean
}
