/**
 * Guarded plans, which the guard returns and the store runs: the plan's tree with every name resolved, and every rule
 * included as a `Condition`. The brand ensures that only `guard.ts` creates them.
 */
import type { ApiError } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import type { DateGroup } from '../../model/fields/date-parts.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Collection, Field, FieldDefault } from '../../model/model.ts'
import type { Condition, GuardedSort, RelationPath, Value, VisibleField } from './guarded-conditions.ts'
import type {
  FieldForm,
  FieldMeasure,
  GroupSort,
  LoggedRow,
  Param,
  SelectedAggregate,
  SelectedWindow,
  Window,
} from './plan.ts'

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

/** The order, size and form of a selected list. The condition over its rows is stored next to it. */
export interface GuardedSelectedList extends SelectedWindow {
  readonly sort: readonly GuardedSort[]
}

interface GuardedReadBase {
  /** Every collection that the answer depends on, including those in rules and relations. */
  readonly reads: readonly string[]
  /** Whether the answer depends on `principal.userId`. */
  readonly personal: boolean
  /**
   * Whether the answer depends on more than rows and `principal.userId`: on the time, on claims, on the caller's app, or on
   * whether an address is confirmed; or is read once. Such an answer is never cached or shared with other requests.
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
  readonly event: LoggedRow | undefined
  readonly rows: Condition
  readonly select: readonly GuardedSelected[]
  /** See `ItemShape`. */
  readonly isOutput?: true
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

/** The groups and their measures. The condition over the rows is stored next to it. */
export interface GuardedAggregation {
  readonly groups: readonly GuardedGroupKey[]
  readonly measures: readonly GuardedMeasure[]
  /** A total order over the groups. */
  readonly sort: readonly GroupSort[]
  readonly offset: Param
  readonly limit: Param
  readonly select: readonly SelectedAggregate[]
}

export interface GuardedGroupKey {
  readonly field: VisibleField
  readonly part: DateGroup | undefined
  /** The time zone of a part of a time; undefined: UTC. */
  readonly zone: Param | undefined
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
  /** See `ItemShape`. */
  readonly isOutput?: true
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
  readonly window: Window
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
  /** Updates only: the value is an `Increment` of the stored one. */
  readonly increments?: true
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
  /** The caller's own user or app, which may be referenced, readable or not. */
  readonly self: 'userId' | 'appId' | undefined
}

/** What must hold for the items after the write; otherwise CONFLICT. */
export type GuardedLimit = GuardedCount | GuardedOverlap | GuardedBound

interface LimitedItems {
  /** The limit applies to each value of this field; items without a value do not count. Undefined: to all items. */
  readonly per: Field | undefined
  /** The items that count. Depends only on their own fields. */
  readonly where: Condition
  readonly refusal: string
}

/** The maximum number of items. */
export interface GuardedCount extends LimitedItems {
  readonly kind: 'count'
  /** A field: of the item that `per` refers to. Null is no limit. */
  readonly count: number | { readonly collection: Collection; readonly field: Field }
}

/** No two intervals overlap. Null is open. An interval that does not end after its start is a VALIDATION_FAILED. */
export interface GuardedOverlap extends LimitedItems {
  readonly kind: 'overlap'
  readonly start: Field
  readonly end: Field
  /** The rows that the refusal may name to the caller. Undefined: none, and the caller did not write the fields. */
  readonly named?: Condition
  /** The rows in which the caller may read both ends. Given if `named` is. */
  readonly shown?: Condition
}

/** The field holds the limit of items of another collection, which refer to this item by `by`: no change exceeds it. */
export interface GuardedBound extends LimitedItems {
  readonly kind: 'bound'
  readonly field: Field
  readonly limited: Collection
  readonly by: Field
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
  readonly maxItems: number | undefined
  readonly rows: Condition
  /** The fields that a refusal may name, and the rows whose reference the caller may know of: see `blockersOf`. */
  readonly blockers: ReadonlyMap<Field, Condition>
  readonly before: readonly Check[]
  readonly representation: readonly GuardedSelected[]
}
