/**
 * A plan: what a request reads or writes, in terms of collections, fields and relations. Transports create plans,
 * `guard.ts` decides them, and the store runs what the guard returns.
 *
 * A plan is a shape and its arguments. The shape contains no value from a client, so it is created once, shared between
 * requests and compiled once. `Param`s are indexes into the arguments.
 */
import type { Predicate } from '../../base/predicate.ts'
import type { DateGroup } from '../../model/fields/date-parts.ts'
import type { FilterOperator, JsonValue } from '../../model/fields/type.ts'
import type { Rule } from '../../model/rule/rule.ts'
import type { TotalOrder } from './order.ts'

export type { Sort } from './order.ts'

/** An index into `Plan.args`. */
export type Param = number

export interface Plan<S extends Shape = Shape> {
  readonly shape: S
  /** Canonical values (see `FieldType.canonical`), by `Param`. */
  readonly args: readonly JsonValue[]
}

export type Shape = ReadShape | CompositeShape | WriteShape
export type ReadShape = ItemShape | ListShape | AggregateShape
export type WriteShape = CreateShape | UpdateShape | DeleteShape

export function isWrite(plan: Plan): plan is Plan<WriteShape> {
  const { kind } = plan.shape
  return kind === 'create' || kind === 'update' || kind === 'delete'
}

/** One item by id. */
export interface ItemShape {
  readonly kind: 'item'
  readonly collection: string
  readonly id: Param
  readonly select: readonly Selected[]
  /** A checked rule that must hold besides the collection's own. */
  readonly rule?: Rule
  /** It is the output of an operation that the caller may run: only what is selected in addition to its own fields needs scopes. */
  readonly isOutput?: true
}

/** The items of a collection; with `within`, those that a parent item reaches by a to-many relation. */
export interface ListShape {
  readonly kind: 'list'
  readonly collection: string
  readonly within: { readonly collection: string; readonly relation: string; readonly id: Param } | undefined
  readonly filter: Filter | undefined
  /** The text to search for in the collection's searchable fields. */
  readonly search: Param | undefined
  readonly sort: TotalOrder
  readonly window: Window
  readonly select: readonly Selected[]
  /** Its answers are read once: to cache them would displace others. */
  readonly isReadOnce?: true
}

/** Aggregates of the items of a collection, for each group of items that share the values of `groups`. The answer is a list. */
export interface AggregateShape extends Aggregation {
  readonly kind: 'aggregate'
  readonly collection: string
  readonly within: ListShape['within']
  readonly search: Param | undefined
}

export interface Aggregation {
  readonly filter: Filter | undefined
  /** Empty: all items are one group, which exists even without any item. */
  readonly groups: readonly GroupKey[]
  /** The time zone of the parts of times (see `timeZoneOf`). Omitted: UTC. */
  readonly zone?: Param | undefined
  readonly measures: readonly Measure[]
  /** Groups with equal sort values are ordered by their keys. */
  readonly sort: readonly GroupSort[]
  readonly offset: Param
  readonly limit: Param
  /** The keys of each group's object. */
  readonly select: readonly SelectedAggregate[]
}

/** A field of the items, or of the one item to which to-one relations lead. Null where the caller may not read all of the way. */
export interface FieldAlong {
  /** The relations. Omitted: none. */
  readonly path?: readonly string[]
  readonly field: string
}

/** A field, or a part of a date or time. */
export interface GroupKey extends FieldAlong {
  readonly part?: DateGroup | undefined
}

/** An aggregate function over the items of a group. All but `count` ignore items without a value that the caller may read. */
export type Measure =
  | { readonly kind: 'count' }
  /** Null where no item has a value. Sums and averages have double precision. */
  | (FieldAlong & { readonly kind: FieldMeasure })

export type FieldMeasure = (typeof fieldMeasures)[number]
export const fieldMeasures = ['sum', 'avg', 'min', 'max'] as const

/** `index`: in `groups` or `measures`. */
export interface GroupSort {
  readonly by: 'group' | 'measure'
  readonly index: number
  readonly descending: boolean
}

/** One key of a group's object. `index`: in `groups` or `measures`. */
export type SelectedAggregate =
  | {
      readonly kind: 'group' | 'measure'
      readonly key: string
      readonly index: number
      readonly as?: FieldForm
    }
  | { readonly kind: 'constant'; readonly key: string; readonly value: string }
  | { readonly kind: 'object'; readonly key: string; readonly select: readonly SelectedAggregate[] }

export type Window =
  | PageWindow
  /**
   * Keyset paging: the `limit` items after the position `after`, one value per sort key
   * (id included, last); without `after` from the start.
   */
  | { readonly kind: 'cursor'; readonly after: readonly Param[] | undefined; readonly limit: Param }

export interface PageWindow {
  readonly kind: 'page'
  readonly offset: Param
  readonly limit: Param
  readonly total: TotalMode
}

/**
 * The total of a list. `exact`: the number of matching items. `estimate`: their number up to `maxCounted`, an estimate
 * beyond. `none`: nothing is counted.
 */
export type TotalMode = (typeof totalModes)[number]
export const totalModes = ['exact', 'estimate', 'none'] as const

/** The maximum number of values in the list of one condition. */
export const maxListedValues = 100
/** The maximum number of relations that one field of a filter or an aggregate follows. */
export const maxRelationsDeep = 3
/** The maximum number of relations that the fields of one aggregate follow: each is a look-up for each row. */
export const maxAggregatedRelations = 10
/** The maximum number of keys by which one aggregate groups. */
export const maxGroupKeys = 3
/** The highest page number. It keeps the offset well within 2^53. */
export const lastPage = 1_000_000_000
/** The maximum number of items of an included to-many relation, in the order of their ids. */
export const includedLimit = 100
/** The maximum number of relations that one included path follows. */
export const maxIncludeDepth = 3

/** For `estimate`: matches are counted up to this number. */
export const maxCounted = 10_000

/** Several reads in one: its answer is a JSON object with one key per root, in order. */
export interface CompositeShape {
  readonly kind: 'composite'
  readonly roots: readonly Root[]
}

/**
 * A root or a selected field that the caller may not read is omitted from the answer and listed in `Refusal`s.
 */
export type Root = ItemRoot | ListRoot | AggregateRoot

/** One item by id, or null. */
export interface ItemRoot {
  readonly kind: 'item'
  readonly key: string
  readonly collection: string
  readonly id: Param
  /** In place of the stored row, the row as an event logged it. */
  readonly event?: LoggedRow
  /** Null where the row does not fulfil it. */
  readonly filter?: Filter | undefined
  /** A checked rule that must hold besides the collection's own. */
  readonly rule?: Rule
  /** See `ItemShape`. */
  readonly isOutput?: true
  readonly select: readonly Selected[]
}

/** The parameters of a row as an event logged it. */
export interface LoggedRow {
  /** The row as JSON text. */
  readonly row: Param
  /** The facts about it: see `LoggedChange`. */
  readonly facts: Param
  /** When the event was committed, ISO 8601 UTC. */
  readonly at: Param
}

/** The items of a collection. */
export interface ListRoot {
  readonly kind: 'list'
  readonly key: string
  readonly collection: string
  readonly list: SelectedList
  readonly select: readonly Selected[]
}

/** Aggregates of the items of a collection, as a list of groups. */
export interface AggregateRoot {
  readonly kind: 'aggregate'
  readonly key: string
  readonly collection: string
  readonly search: Param | undefined
  readonly aggregation: Aggregation
}

type FilterLeaf =
  | {
      readonly kind: 'compare'
      readonly field: string
      readonly operator: FilterOperator
      readonly param: Param
    }
  /** At least one related item that the caller may read fulfils the filter. */
  | { readonly kind: 'related'; readonly relation: string; readonly filter: Filter }

/** Two-valued, like `Rule`: a comparison with a missing value is false. */
export type Filter = Predicate<FilterLeaf>

/** The filter that all of these fulfil together. */
export function allOf(parts: readonly Filter[]): Filter {
  const [only] = parts
  return parts.length === 1 && only ? only : { kind: 'and', parts }
}

/** One key of the answer's objects, in order. */
export type Selected =
  | { readonly kind: 'field'; readonly key: string; readonly field: string; readonly as?: FieldForm }
  | { readonly kind: 'constant'; readonly key: string; readonly value: string }
  | SelectedRelation

/**
 * `string`: an id as a JSON string; `prefix`: such a string after this prefix. `name`: a choice as its GraphQL enum value,
 * e.g. `IN_PROGRESS`.
 */
export type FieldForm = 'string' | 'name' | { readonly prefix: string }

export interface SelectedRelation {
  readonly kind: 'relation'
  readonly key: string
  readonly relation: string
  readonly select: readonly Selected[]
  /** For to-many relations; ignored by to-one. */
  readonly list: SelectedList | undefined
}

export interface SelectedList extends SelectedWindow {
  readonly filter: Filter | undefined
  readonly search?: Param
  readonly sort: TotalOrder
}

/** The size and form of a selected list. It names nothing, so the guard passes it on, like a `Window`. */
export interface SelectedWindow {
  /** As in a cursor window. */
  readonly after?: readonly Param[]
  readonly limit: Param
  /**
   * The answer is `{"rows":[{"node":…,"keys":[…]}],"total":…}` instead of an array: `keys` are the sort keys
   * of the row, for a cursor; `total` is present if requested.
   */
  readonly connection?: { readonly total: boolean }
}

/** The maximum number of items that refer to one item. Counted in the write's transaction, so it holds for concurrent writes. */
export interface CardinalityLimit {
  /** A relation of the new item. */
  readonly field: string
  readonly count: number
  /** The message of the CONFLICT. */
  readonly refusal: string
}

export interface CreateShape {
  readonly kind: 'create'
  readonly collection: string
  readonly set: readonly Assignment[]
  /** Values that Portico itself computed (see `CreateHook`), including those of internal and read-only fields. */
  readonly computed: readonly Assignment[]
  readonly limit?: CardinalityLimit | undefined
  readonly select: readonly Selected[]
  /** Omits what the caller may not read from the answer, instead of refusing the write. */
  readonly lenient?: boolean
}

export interface UpdateShape {
  readonly kind: 'update'
  /** For a writable field that is not set: `replace` resets it to its default or null, `merge` keeps it. */
  readonly mode: 'replace' | 'merge'
  readonly collection: string
  readonly id: Param
  readonly set: readonly Assignment[]
  /** `merge`: an object that is set on a JSON field is merged into the stored one (RFC 7396). */
  readonly documents?: 'replace' | 'merge'
  /** Fields whose assignments are checked, but not made: their change awaits a confirmation. */
  readonly withheld?: readonly string[]
  readonly ifMatch: Param | undefined
  /** The type of the event, if it is not `{singular}.updated`; for Portico's own updates. */
  readonly eventType?: string
  readonly select: readonly Selected[]
  /** As for a create. */
  readonly lenient?: boolean
}

export interface DeleteShape {
  readonly kind: 'delete'
  readonly collection: string
  readonly id: Param
  /** A list of entity tags (see `entityTag`), `'*'`, or fields of an item that was read, with their values. */
  readonly ifMatch: Param | undefined
  /** Narrows `quotas.cascade` for this deletion. */
  readonly maxItems?: number
}

export interface Assignment {
  readonly field: string
  readonly param: Param
  /** Updates only: the parameter is an `Increment` of the stored number. */
  readonly increments?: true
}

/** A change of a stored number. `min`, `max`: what the result must not go beyond. */
export interface Increment {
  readonly increment: number
  readonly min?: number
  readonly max?: number
}
