/**
 * Guarded plans, which the guard returns and the store runs: the plan's tree with every name resolved, and every rule
 * included as a `Condition`. The brand ensures that only `guard.ts` creates them.
 */
import type { ApiError } from '../errors.ts'
import type { AggregateFunction, DatePart } from '../model/computed.ts'
import type { DatePrefix } from '../model/fields/date-parts.ts'
import type { FieldType } from '../model/fields/field-type.ts'
import type { FilterOperator, JsonValue } from '../model/fields/type.ts'
import type { Collection, Field, FieldDefault, ManyToMany, ToMany, ToOne } from '../model/model.ts'
import type { Scalar } from '../model/rule.ts'
import type { Principal } from '../principal.ts'
import type { FieldForm, FieldMeasure, GroupSort, PageWindow, Param, SelectedFigure } from './plan.ts'

declare const guarded: unique symbol

export interface GuardedPlan<S extends GuardedShape = GuardedShape> {
  readonly [guarded]: true
  readonly shape: S
  readonly args: readonly JsonValue[]
  readonly principal: Principal
}

export type GuardedRead = GuardedPlan<GuardedItem | GuardedList | GuardedAggregate>
export type GuardedCompositeRead = GuardedPlan<GuardedComposite>
export type AnyGuardedRead = GuardedRead | GuardedCompositeRead
export type GuardedWrite = GuardedPlan<GuardedCreate | GuardedUpdate | GuardedDelete>
export type GuardedShape =
  | GuardedItem
  | GuardedList
  | GuardedAggregate
  | GuardedComposite
  | GuardedCreate
  | GuardedUpdate
  | GuardedDelete

/** A value that is known before any row is read. */
export type Value =
  | { readonly kind: 'param'; readonly param: Param }
  | { readonly kind: 'literal'; readonly value: JsonValue }
  | { readonly kind: 'userId' }

/** The right side of a comparison. */
export type Operand =
  | Value
  /** The time of the request, shifted. Never missing. */
  | { readonly kind: 'now'; readonly shiftMs: number }
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

/** The filter operator `null` becomes a condition of its own. */
export type ConditionOperator = Exclude<FilterOperator, 'null'>

/** Two-valued over a row: never unknown, so `not` is safe. */
export type Condition =
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
  | { readonly kind: 'and'; readonly conditions: readonly Condition[] }
  | { readonly kind: 'or'; readonly conditions: readonly Condition[] }
  | { readonly kind: 'not'; readonly condition: Condition }

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

export type GuardedSelected =
  | {
      readonly kind: 'field'
      readonly key: string
      readonly field: VisibleField
      readonly as?: FieldForm | undefined
    }
  | { readonly kind: 'constant'; readonly key: string; readonly value: string }
  | GuardedRelation

export interface GuardedRelation {
  readonly kind: 'relation'
  readonly key: string
  readonly path: RelationPath
  /** The related rows that are included: the target's read rule and the client's filter. */
  readonly rows: Condition
  /** To-one only: the link itself reads as null in the rows for which this fails. */
  readonly when: Condition
  readonly select: readonly GuardedSelected[]
  /** Undefined for a to-one relation. */
  readonly list: GuardedSelectedList | undefined
}

/** The order, size and form of a selected list. The condition over its rows is stored beside it. */
export interface GuardedSelectedList {
  readonly sort: readonly GuardedSort[]
  readonly limit: Param
  readonly after?: readonly Param[] | undefined
  readonly connection?: { readonly total: boolean } | undefined
}

export interface GuardedSort {
  readonly field: VisibleField
  readonly descending: boolean
}

interface GuardedReadBase {
  /** Every collection that the answer depends on, including those in rules and relations. */
  readonly reads: readonly string[]
  /** Whether the answer depends on `principal.userId`. */
  readonly personal: boolean
  /**
   * Whether the answer depends on more than rows and `principal.userId`: on the time, on claims, or on whether an address
   * is confirmed. Such an answer is never cached or shared with other requests.
   */
  readonly volatile: boolean
  /** Whether a field is computed from all rows of a list of unbounded length. */
  readonly readsUnboundedLists: boolean
}

/** A part that an answer omits, and the keys that lead to it. */
export interface Refusal {
  readonly keys: readonly string[]
  readonly error: ApiError
}

export interface GuardedComposite extends GuardedReadBase {
  readonly kind: 'composite'
  readonly roots: readonly GuardedRoot[]
  readonly refusals: readonly Refusal[]
}

export type GuardedRoot = GuardedItemRoot | GuardedListRoot | GuardedAggregateRoot

export interface GuardedItemRoot {
  readonly kind: 'item'
  readonly key: string
  readonly collection: Collection
  readonly id: Param
  readonly event: Param | undefined
  readonly rows: Condition
  readonly select: readonly GuardedSelected[]
}

export interface GuardedListRoot {
  readonly kind: 'list'
  readonly key: string
  readonly collection: Collection
  readonly rows: Condition
  readonly list: GuardedSelectedList
  readonly select: readonly GuardedSelected[]
}

export interface GuardedAggregateRoot {
  readonly kind: 'aggregate'
  readonly key: string
  readonly collection: Collection
  readonly rows: Condition
  readonly aggregation: GuardedAggregation
}

/** The groups and their measures. The condition over the rows is stored beside it. */
export interface GuardedAggregation {
  readonly groups: readonly GuardedGroupKey[]
  readonly measures: readonly GuardedMeasure[]
  /** A total order over the groups. */
  readonly sort: readonly GroupSort[]
  readonly offset: Param
  readonly limit: Param
  readonly select: readonly SelectedFigure[]
}

export interface GuardedGroupKey {
  readonly field: VisibleField
  readonly part: DatePrefix | undefined
}

export type GuardedMeasure =
  | { readonly kind: 'count' }
  | { readonly kind: FieldMeasure; readonly field: VisibleField }

export interface GuardedAggregate extends GuardedReadBase {
  readonly kind: 'aggregate'
  readonly collection: Collection
  readonly within: GuardedList['within']
  readonly rows: Condition
  readonly aggregation: GuardedAggregation
}

export interface GuardedItem extends GuardedReadBase {
  readonly kind: 'item'
  readonly collection: Collection
  readonly id: Param
  readonly rows: Condition
  readonly select: readonly GuardedSelected[]
}

export interface GuardedList extends GuardedReadBase {
  readonly kind: 'list'
  readonly collection: Collection
  /** The parent; when it is missing or its `rows` fails, the answer is `null` (404). */
  readonly within:
    | {
        readonly collection: Collection
        readonly id: Param
        readonly rows: Condition
        readonly path: RelationPath
      }
    | undefined
  readonly rows: Condition
  /** A total order: the last key is `id`. */
  readonly sort: readonly GuardedSort[]
  readonly window:
    | PageWindow
    | { readonly kind: 'cursor'; readonly after: readonly Param[] | undefined; readonly limit: Param }
  readonly select: readonly GuardedSelected[]
}

export interface GuardedAssignment {
  readonly field: Field
  readonly value: Value | { readonly kind: 'default'; readonly default: FieldDefault }
  /** Updates only: the stored rows in which it is made; in others, the field keeps its value. Omitted: all rows. */
  readonly when?: Condition
  /**
   * Updates only: the stored rows in which the caller can read the field. Omitted: all rows. In other rows, an assignment
   * always counts as a change, so that it reveals nothing about the hidden value.
   */
  readonly readableWhen?: Condition
  /** Updates only: a JSON object is merged into the stored one (RFC 7396, 2). */
  readonly merges?: true
  /** Updates only: the assignment is checked, but not made. */
  readonly withheld?: true
}

/**
 * A check within the write's transaction. When it fails, the write is rolled back with FORBIDDEN. An update skips the
 * checks and references of a field whose assignment changes nothing.
 */
export interface Check {
  readonly condition: Condition
  /** The field whose write rule it is; undefined for the collection's own rule. */
  readonly field: Field | undefined
}

/** The referenced row must exist and be readable by the caller; otherwise VALIDATION_FAILED for the field. */
export interface ReferenceCheck {
  readonly field: Field
  readonly value: Value
  readonly target: Collection
  readonly rows: Condition
  /** Whether the caller's own user may be referenced, readable or not: a signed-in user exists. */
  readonly self: boolean
}

/** The maximum number of items after the write; otherwise CONFLICT. */
export interface GuardedLimit {
  readonly count: number
  /** The limit applies to each value of this field; items without a value do not count. Undefined: to all items. */
  readonly per: Field | undefined
  /** The items that count. Depends only on their own fields. */
  readonly where: Condition
  readonly refusal: string
}

export interface GuardedCreate {
  readonly kind: 'create'
  readonly collection: Collection
  readonly set: readonly GuardedAssignment[]
  readonly limits: readonly GuardedLimit[]
  readonly references: readonly ReferenceCheck[]
  /** Over the new row. */
  readonly after: readonly Check[]
  /** The answer: selected as a read would, over the rows that a read may see. */
  readonly rows: Condition
  readonly select: readonly GuardedSelected[]
  /** The parts that a lenient shape's selection omits. */
  readonly refusals: readonly Refusal[]
}

export interface GuardedUpdate {
  readonly kind: 'update'
  readonly collection: Collection
  readonly id: Param
  readonly set: readonly GuardedAssignment[]
  readonly references: readonly ReferenceCheck[]
  readonly ifMatch: Param | undefined
  readonly eventType: string | undefined
  /** The limits that the update may affect. */
  readonly limits: readonly GuardedLimit[]
  /** Over the stored row: NOT_FOUND unless it fulfils `rows`, FORBIDDEN when it fails `before`. */
  readonly rows: Condition
  readonly before: readonly Check[]
  readonly after: readonly Check[]
  readonly select: readonly GuardedSelected[]
  readonly refusals: readonly Refusal[]
  /** The item as a read without parameters shows it: `ifMatch` is compared with its entity tag. */
  readonly representation: readonly GuardedSelected[]
}

export interface GuardedDelete {
  readonly kind: 'delete'
  readonly collection: Collection
  readonly id: Param
  readonly ifMatch: Param | undefined
  readonly rows: Condition
  readonly before: readonly Check[]
  readonly representation: readonly GuardedSelected[]
}
