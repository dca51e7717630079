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

export interface LoggedChange extends ItemChange {
  readonly collection: string
  readonly kind: ChangeKind
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
