/** The log of committed changes, as readers of events see it. The store provides it. */

import type { Awaitable } from '../plan/answer.ts'

export type ChangeKind = 'created' | 'updated' | 'deleted'

/** A committed change of one item. */
export interface ItemChange {
  readonly id: number
  /** The number of the change in the log. Numbers grow in the order of commits. */
  readonly event: number
  /** The item's row in the log, as JSON text. A plan reads it in place of the stored row (`ItemRoot.event`). */
  readonly row: string
}

/** A change as the log has it; nobody has decided yet who may see what of it. */
export interface LoggedChange extends ItemChange {
  readonly collection: string
  readonly kind: ChangeKind
  /** For an update, the row before it, as `row`; null for others, and where an older version of Portico wrote it. */
  readonly before: string | null
  /** For an update, the names of the fields that changed, hidden ones too; null for others. */
  readonly changed: readonly string[] | null
  /** When it was committed: ISO 8601 UTC. */
  readonly at: string
  /** Who made it, and through which app; null: nobody signed in, Portico itself, no app. */
  readonly userId: number | null
  readonly appId: number | null
  /** The event's type where it is not the usual one of its kind, e.g. `webhook.paused`. */
  readonly type: string | null
}

export interface ChangeFeed {
  /** The newest event's number; 0 for an empty log. */
  last(): Awaitable<number>
  /** The changes that follow an event, in commit order. */
  after(event: number, limit: number): Awaitable<readonly LoggedChange[]>
  /** Calls `listener` after commits of this process, and after commits of other processes that `look` has noticed. */
  onCommit(listener: () => void): () => void
  /** Notices what other processes have committed. */
  look(): Awaitable<void>
}
