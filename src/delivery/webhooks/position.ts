/** The position in the log up to which deliveries have been created. */
import type { RecordKey } from '../../base/records.ts'

const kind = 'WebhookSender'

export const leaseKey: RecordKey = { kind, id: 'lease' }
export const positionKey: RecordKey = { kind, id: 'position' }

/** An event whose deliveries did not fit into one transaction, and the last delivery that was created. */
export interface PartialEvent {
  readonly event: number
  readonly webhook: number
  /** For an app's webhook: the last user. */
  readonly user: number
}

export interface SenderPosition {
  /** The last event for which all deliveries were created. */
  readonly event: number
  readonly partial: PartialEvent | null
}
