/** A change as the event log keeps it. */
import type { SqlValue } from '../values.ts'

export type EventKind = 'created' | 'updated' | 'deleted'

export interface ChangeEvent {
  readonly at: string
  readonly collection: string
  readonly itemId: number
  readonly kind: EventKind
  /** The item after the change; before it, for a deletion. JSON. */
  readonly data: SqlValue
  /** The names of the fields that changed; for an update only. */
  readonly changed: readonly string[] | undefined
}
