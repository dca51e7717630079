/** The results of writes. */
import type { SqlValue } from '../values.ts'

/** What one write did, for the caches of reads. */
export interface Written {
  readonly id: number
  readonly text: string | null
  /** The collections with changed rows. */
  readonly changed: ReadonlySet<string>
  /** The collections with deleted rows. */
  readonly removed: ReadonlySet<string>
  /** No item changed, so there is no event. */
  readonly quiet?: true
}

export const none: ReadonlySet<string> = new Set()

/** The answer's text, if the caller may see the item. */
export function textOf(value: SqlValue | undefined): string | null {
  return typeof value === 'string' ? value : null
}
