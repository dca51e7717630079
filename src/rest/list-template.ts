/** What is kept of a list's parameters once they are understood. */
import type { FilterOperator, JsonValue } from '../model/fields/type.ts'
import type { Deprecation, Field } from '../model/model.ts'
import type { Cursors } from '../plan/cursor.ts'
import type { ListShape } from '../plan/plan.ts'
import type { Presentation } from './presentation.ts'

export interface FilterTemplate {
  /** The relations that lead from the list's items to those that have the field. */
  readonly path: readonly string[]
  readonly field: Field
  readonly operator: FilterOperator
  /** What of the field and the way to it is going away. */
  readonly deprecations: readonly Deprecation[]
  /** Whether the way leads through a collection whose answers nobody may keep. */
  readonly secret: boolean
}

export interface ListTemplate {
  readonly shape: ListShape
  readonly presentation: Presentation
  readonly cursors: Cursors
  /** Where each filter, and `q` (without one), stands among the parameters that are not about paging. */
  readonly values: readonly { readonly at: number; readonly filter: FilterTemplate | undefined }[]
  readonly includes: boolean
}

/** A list's query, ready to run (but for the parent's id, which goes first where there is a parent). */
export interface BoundList {
  readonly template: ListTemplate
  readonly args: readonly JsonValue[]
  /** Undefined for a cursor list. */
  readonly page: number | undefined
  readonly perPage: number
  /** The parameters beside `page`, `per_page` and `cursor`, still encoded, each ending in `&`. */
  readonly rest: string
}
