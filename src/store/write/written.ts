/** What writes tell of themselves. */
import type { SqlValue } from '../values.ts'

/** What one write did, for those who remember what they read. */
export interface Written {
  readonly id: number
  readonly text: string | null
  /** The collections with changed rows. */
  readonly changed: ReadonlySet<string>
  /** Those from which rows were taken. */
  readonly removed: ReadonlySet<string>
  /** No item changed, so there is no event to tell of. */
  readonly quiet?: true
}

export const none: ReadonlySet<string> = new Set()

/** The answer's text, where the caller may see the item. */
export function textOf(value: SqlValue | undefined): string | null {
  return typeof value === 'string' ? value : null
}
