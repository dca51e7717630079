/** How far the log has become deliveries. */
import type { RecordKey } from '../../records.ts'

const kind = 'WebhookSender'

export const leaseKey: RecordKey = { kind, id: 'lease' }
export const positionKey: RecordKey = { kind, id: 'position' }

/** Up to where an event has become deliveries that did not fit into one transaction. */
export interface PartialEvent {
  readonly event: number
  readonly webhook: number
  /** The last user, of an app's webhook. */
  readonly user: number
}

export interface Place {
  /** The last event that is done. */
  readonly event: number
  readonly partial: PartialEvent | null
}
