/** Webhooks and deliveries in the memory of the sender. */

import type { EpochMs } from '../../base/epoch-ms.ts'

export interface Webhook {
  readonly id: number
  /** The owner. */
  readonly userId: number
  /** The app to which it belongs; null: only to the user. */
  readonly appId: number | null
  readonly url: string
  /** E.g. `post.created`, `post.*` or `*`. */
  readonly types: readonly string[]
  /** Null: all. */
  readonly collections: readonly string[] | null
  /** The scopes of the credential that created it; null: all. */
  readonly scopes: readonly string[] | null
  /** The grant or API key whose end also ends the webhook; null: none. */
  readonly grant: string | null
  readonly isEnabled: boolean
  /** Enabled and not paused. */
  readonly isLive: boolean
  /** The last event for which deliveries were created; null: it has caught up with the sender. */
  readonly position: number | null
  /** The first failure since the last success; null if the last attempt succeeded. */
  readonly failingSince: EpochMs | null
}

/** A pending delivery. */
export interface Delivery {
  readonly id: number
  readonly webhookId: number
  /** For an app's webhook, the user who has granted it access. */
  readonly userId: number | null
  /** The header `webhook-id`. */
  readonly messageId: string
  /** Its number in the log; null for a test delivery. */
  readonly event: number | null
  readonly type: string
  /** Deliveries with the same key keep their order: those of one item to one user. */
  readonly itemKey: string
  /** How many attempts were made since the owner last requested it. */
  readonly attempts: number
  /** When the next one is due. */
  readonly dueAt: EpochMs
  /** ISO 8601 UTC. */
  readonly createdAt: string
}
