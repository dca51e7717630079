/** The store's answers to guarded plans. Texts are JSON, ready to be sent. */
import type { JsonValue } from '../../model/fields/type.ts'

/** The replies that REST made of an answer. */
export interface RenderedAnswer {
  /** Approximate memory use, in addition to the text of the answer. */
  readonly bytes: number
}

/** `text` null: the item does not exist, or the caller may not see it. */
export interface ItemAnswer {
  readonly kind: 'item'
  readonly text: string | null
  /** The replies that REST made of this answer, cached for as long as the answer is valid. */
  rendered?: RenderedAnswer
}

/** `text`: a JSON array; null when the parent (`within`) is missing or not visible. */
export interface ListAnswer {
  readonly kind: 'list'
  readonly text: string | null
  /** Undefined unless the plan asked for it. */
  readonly total: number | undefined
  /** The total is an estimate. */
  readonly isEstimate?: true
  /** Whether items follow the page: for pages without an exact total. */
  readonly hasMore?: boolean
  /** For a cursor window: the sort keys of the last item, or null when no item follows it. */
  readonly next: readonly JsonValue[] | null | undefined
  rendered?: RenderedAnswer
}

export type ReadAnswer = ItemAnswer | ListAnswer

/** `text`: a JSON object with one key per root. */
export interface CompositeAnswer {
  readonly kind: 'composite'
  readonly text: string
  rendered?: RenderedAnswer
}

export interface WriteAnswer {
  /** The id of the item that was written. */
  readonly id: number
  /** The item as the caller may see it; null for a delete, or when the caller may not see it. */
  readonly text: string | null
}
