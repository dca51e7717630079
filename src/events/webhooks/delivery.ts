/** What the sender knows of webhooks and their deliveries. */

export interface Webhook {
  readonly id: number
  /** Whose it is. */
  readonly userId: number
  /** The app whose it is; null: the user's own. */
  readonly appId: number | null
  readonly url: string
  /** E.g. `post.created`, `post.*` or `*`. */
  readonly types: readonly string[]
  /** Null: all. */
  readonly collections: readonly string[] | null
  /** Of the credential that made it; null: all. */
  readonly scopes: readonly string[] | null
  /** With what it ends; null: with nothing. */
  readonly grant: string | null
  readonly isEnabled: boolean
  /** Enabled and not paused. */
  readonly isLive: boolean
  /** Up to which event its deliveries are in the queue; null: as far as the sender has read the log. */
  readonly position: number | null
  /** When its first attempt failed since the last success, in milliseconds since 1970; null: it does not fail. */
  readonly failingSince: number | null
}

/** A delivery that is neither done nor given up. */
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
  /** What keeps its order: deliveries of one item to one user. */
  readonly itemKey: string
  /** How many attempts have been made, since the owner last asked for it. */
  readonly attempts: number
  /** When the next one is due, in milliseconds since 1970. */
  readonly dueAt: number
  /** ISO 8601 UTC. */
  readonly createdAt: string
}
