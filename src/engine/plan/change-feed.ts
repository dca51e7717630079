/** The log of committed changes, which the store implements, as readers of events see it. */

import type { Awaitable } from '../../base/awaitable.ts'
import type { JsonObject } from '../../model/fields/type.ts'
import type { ChangeKind } from '../../model/types/logic.ts'

export type { ChangeKind } from '../../model/types/logic.ts'

/** A committed change of one item. */
export interface LoggedChange {
  /** The number of the event in the log. Numbers grow in the order of commits. */
  readonly event: number
  readonly collection: string
  readonly kind: ChangeKind
  readonly id: number
  /**
   * The row after the change, or before a deletion, as JSON text without internal and write-only fields. A plan reads it in
   * place of the stored row (`ItemRoot.event`).
   */
  readonly row: string
  /** The row before an update, in the form of `row`. Null for other changes. */
  readonly before: string | null
  /**
   * What the read rules of the collection asked of other rows when the change was committed, about `row` and about `before`:
   * see `guard/facts.ts`. Null if they asked nothing.
   */
  readonly facts: string | null
  readonly factsBefore: string | null
  /** The names of the fields that an update changed, internal fields included; null for other changes. */
  readonly changed: readonly string[] | null
  /** The values of an event that an action emitted, which changes nothing; null for other events. */
  readonly values: JsonObject | null
  /** When it was committed: ISO 8601 UTC. */
  readonly at: string
  /** The user who made the change, and the app (`oauth_apps`) that it was made through; null where there was none. */
  readonly userId: number | null
  readonly appId: number | null
  /** The action that made the change on their behalf, as the service. */
  readonly via: string | null
  /** The event's type where it differs from the usual one of its kind, e.g. `webhook.paused`. */
  readonly type: string | null
  /** The length of the chain of reactions and jobs, each caused by the one before, that led to this event. */
  readonly depth: number
}

/** The event numbers between which a reader may resume. */
export interface LogBounds {
  /** The highest number of an event that was pruned, or that a restored backup has replaced; 0 where there is none. */
  readonly pruned: number
  /** No change with this number or a lower one can still appear. No reader has received a higher number. */
  readonly drawn: number
}

export interface ChangeFeed {
  /** The number after which changes are new: no event with a smaller number can still appear. 0 for an empty log. */
  last(): Awaitable<number>
  /**
   * To be called after `after`: a reader that resumed below `pruned` or above `drawn` may have missed changes. One that
   * resumed at `pruned` or between the two has received all changes.
   */
  bounds(): Awaitable<LogBounds>
  /**
   * The changes after an event, in the order of commits: at most `limit`, and with `maxBytes` none after the changes that reach
   * that size. So fewer than `limit` may be returned although more exist.
   */
  after(event: number, limit: number, maxBytes?: number): Awaitable<readonly LoggedChange[]>
  /** Calls `listener` after each commit of this process, and once `poll` or a read notices the commits of others. */
  onCommit(listener: () => void): () => void
  /** Checks for commits of other processes. */
  poll(): Awaitable<void>
}
