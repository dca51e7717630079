/** The store's answers to guarded plans. Texts are JSON, ready to be sent. */
import { createHash, hash } from 'node:crypto'
import type { JsonValue } from '../model/fields/type.ts'
import type { Awaitable } from '../model/types/logic.ts'

/** A value or a promise of it: SQLite answers reads synchronously, other stores do not. */
export type { Awaitable } from '../model/types/logic.ts'

/** Calls `next` with the value: synchronously unless it is a promise, so that the hot path allocates none. */
export function then<T, U>(answer: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return answer instanceof Promise ? answer.then(next) : next(answer)
}

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

/** The first half of a character, which is encoded together with the second. */
function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

/** In characters. A longer text is hashed in parts, so that no copy of the whole is made in UTF-8. */
const maxHashedLength = 65_536

/** The entity tag (RFC 9110, 8.8.3) of a representation: strong, and equal on every node. */
export function entityTag(representation: string): string {
  if (representation.length <= maxHashedLength) return `"${hash('sha1', representation, 'base64url')}"`
  const sha1 = createHash('sha1')
  let start = 0
  while (start < representation.length) {
    const last = start + maxHashedLength - 1
    const end = isHighSurrogate(representation.charCodeAt(last)) ? last : last + 1
    sha1.update(representation.slice(start, end))
    start = end
  }
  return `"${sha1.digest('base64url')}"`
}
