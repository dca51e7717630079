/** What the sender asks of others: who may see what, and by which secrets. */
import type { Awaitable } from '../../plan/answer.ts'
import type { Principal } from '../../principal.ts'
import type { LoggedChange } from '../change-feed.ts'
import type { Webhook } from './delivery.ts'

/** Why a webhook was paused. */
export type PauseReason = 'gone' | 'failing'

/** All of them fail with UNAVAILABLE while the database is away. */
export interface WebhookOwners {
  /** The users who have granted the app of an app's webhook access, in the order of their ids. */
  usersOf(webhook: Webhook): Awaitable<readonly number[]>
  /**
   * The owner, or `userId` of an app's webhook, with its present rights within the webhook's scopes. Undefined: the
   * grant has ended.
   */
  principalOf(webhook: Webhook, userId: number | null): Awaitable<Principal | undefined>
  /** As Standard Webhooks writes them; two while a secret rotates. */
  secretsOf(webhook: Webhook): Awaitable<readonly string[]>
}

/** An event as it is sent: its type and its JSON text; null where the principal may not know of it. */
export type Show = (
  change: LoggedChange,
  principal: Principal,
) => Awaitable<{ readonly type: string; readonly text: string } | null>

/** The types that a change may have for listeners: an update is a deletion for those whose view the item leaves. */
export type PossibleTypes = (change: LoggedChange) => readonly string[]
