/** Changes as the event log keeps them. */
import type { SqlValue } from '../values.ts'

export type EventKind = 'created' | 'updated' | 'deleted'

/** A change of one item. */
export interface ItemChange {
  readonly collection: string
  readonly itemId: number
  readonly kind: EventKind
  /** The item after the change; before it, for a deletion. JSON. */
  readonly data: SqlValue
  /** The names of the fields that changed; for an update only. */
  readonly changed: readonly string[] | undefined
}

export interface ChangeEvent extends ItemChange {
  /** ISO 8601 UTC. */
  readonly at: string
}
