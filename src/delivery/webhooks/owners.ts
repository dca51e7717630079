/** The interfaces through which the sender gets principals, secrets and rendered events. */
import type { Awaitable } from '../../base/awaitable.ts'
import type { Principal } from '../../base/principal.ts'
import type { LoggedChange } from '../../engine/plan/change-feed.ts'
import type { Webhook } from './delivery.ts'

/** Why a webhook was paused. */
export type PauseReason = 'gone' | 'failing'

/** All methods fail with UNAVAILABLE during a database outage. */
export interface WebhookOwners {
  /** The users who have granted the webhook's app access, in the order of their ids. */
  usersOf(webhook: Webhook): Awaitable<readonly number[]>
  /**
   * The owner, or user `userId` of an app's webhook, with present rights limited to the webhook's scopes. Undefined if the
   * grant has ended.
   */
  principalOf(webhook: Webhook, userId: number | null): Awaitable<Principal | undefined>
  /** In the format of Standard Webhooks; several during a rotation. */
  secretsOf(webhook: Webhook): Awaitable<readonly string[]>
}

/** Returns the type and the JSON text of an event; null if the principal may not know of it. */
export type ShowEvent = (
  change: LoggedChange,
  principal: Principal,
) => Awaitable<{ readonly type: string; readonly text: string } | null>

/** The types that a change may have for listeners: an update is a deletion for those whose view the item leaves. */
export type PossibleTypes = (change: LoggedChange) => readonly string[]
