/** Parsed parameters of lists and aggregates, which are cached. */

import type { Cursors } from '../../../engine/plan/cursor.ts'
import type { AggregateShape, ListShape } from '../../../engine/plan/plan.ts'
import type { FilterOperator, JsonValue } from '../../../model/fields/type.ts'
import type { Deprecation, Field } from '../../../model/model.ts'
import type { Presentation } from '../reply/headers.ts'

export interface FilterTemplate {
  /** The relations that lead from the list's items to those that have the field. */
  readonly path: readonly string[]
  readonly field: Field
  readonly operator: FilterOperator
  /** The number of the alternative to which it belongs; undefined: it always has to hold. */
  readonly alternative: number | undefined
  /** Whether the condition, with its whole path, must not hold. */
  readonly isNegated: boolean
  /** The deprecations of the field and of everything on the path to it. */
  readonly deprecations: readonly Deprecation[]
  /** Whether the path leads through a collection whose items must not be stored. */
  readonly secret: boolean
}

export interface ListTemplate {
  readonly shape: ListShape
  readonly presentation: Presentation
  readonly cursors: Cursors
  /** For each filter, and for `q` (without a filter): its index among the parameters, excluding paging parameters. */
  readonly values: readonly { readonly index: number; readonly filter: FilterTemplate | undefined }[]
  readonly includes: boolean
}

/** A list query, ready to run. Its arguments do not yet have the id of the parent, which comes first. */
export interface BoundList {
  readonly template: ListTemplate
  readonly args: readonly JsonValue[]
  /** Undefined for a cursor list. */
  readonly page: number | undefined
  readonly perPage: number
  /** The parameters other than `page`, `per_page` and `cursor`, encoded, each ending in `&`. */
  readonly linkQuery: string
}

export interface AggregateTemplate {
  readonly shape: AggregateShape
  readonly presentation: Presentation
  readonly values: ListTemplate['values']
}

/** An aggregate query, ready to run. Its arguments do not yet have the id of the parent, which comes first. */
export interface BoundAggregate {
  readonly template: AggregateTemplate
  readonly args: readonly JsonValue[]
  readonly page: number
  readonly perPage: number
  /** The parameters other than `page` and `per_page`, encoded, each ending in `&`. */
  readonly linkQuery: string
}
