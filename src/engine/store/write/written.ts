/** The results of writes. */
import type { SqlValue } from '../values.ts'

/** The effects of one write, for the caches of reads. */
export interface WriteResult {
  readonly id: number
  readonly text: string | null
  /** The collections with changed rows. */
  readonly changed: ReadonlySet<string>
  /** The collections with deleted rows. */
  readonly removed: ReadonlySet<string>
  /** How many other items a deletion has deleted or changed. */
  readonly cascaded?: number
  /** No item changed, so no event was logged. */
  readonly hasNoEvent?: true
}

export const none: ReadonlySet<string> = new Set()

/** The answer's text, if the caller may see the item. */
export function answerText(value: SqlValue | undefined): string | null {
  return typeof value === 'string' ? value : null
}
