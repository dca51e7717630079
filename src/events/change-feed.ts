/** The log of committed changes, as readers of events see it. The store provides it. */

import type { JsonValue } from '../model/fields/type.ts'
import type { Awaitable } from '../plan/answer.ts'

export type ChangeKind = 'created' | 'updated' | 'deleted'

/** A committed change of one item. */
export interface LoggedChange {
  /** The number of the change in the log. Numbers grow in the order of commits. */
  readonly event: number
  readonly collection: string
  readonly kind: ChangeKind
  readonly id: number
  /** The row after the change, before it for a deletion, as JSON text. A plan reads it in place of the stored row (`ItemRoot.event`). */
  readonly row: string
  /** For an update, the row before it; null for others, and where an older version of Portico logged it. */
  readonly before: string | null
  /** For an update, the names of the fields that changed, internal ones too; null for others. */
  readonly changed: readonly string[] | null
  /** Of an event that an action has emitted, which changes nothing: its values; null for others. */
  readonly values: Readonly<Record<string, JsonValue>> | null
  /** When it was committed: ISO 8601 UTC. */
  readonly at: string
  /** Who made it, and through which app; null: nobody signed in, Portico itself, no app. */
  readonly userId: number | null
  readonly appId: number | null
  /** The event's type where it is not the usual one of its kind, e.g. `webhook.paused`. */
  readonly type: string | null
  /** By how many reactions and jobs, each caused by the one before, it came to this. */
  readonly depth: number
}

/** The numbers between which a reader may resume. */
export interface FeedBounds {
  /** The highest number whose event is no longer kept; 0: none. */
  readonly pruned: number
  /** The highest number that was drawn. */
  readonly drawn: number
}

/** Readers of the log hold no more rows at once than have so many bytes, and one more. */
export const maxBatchBytes = 2 * 1024 * 1024

/**
 * Whether nothing follows what `after` gave for this limit and `maxBatchBytes`: neither of them can have cut it. False where
 * that cannot be told.
 */
export function isLogEnd(changes: readonly LoggedChange[], limit: number): boolean {
  const characters = changes.reduce((sum, { row, before }) => sum + row.length + (before?.length ?? 0), 0)
  return changes.length === 0 || (changes.length < limit && characters < smallBatchCharacters)
}

/** A character takes up to three bytes; names of fields and what a row takes besides fit in the rest. */
const smallBatchCharacters = maxBatchBytes / 8

export interface ChangeFeed {
  /** The newest event's number; 0 for an empty log. */
  last(): Awaitable<number>
  bounds(): Awaitable<FeedBounds>
  /**
   * The changes that follow an event, in commit order: at most `limit`, and with `maxBytes` no more once their rows have
   * so many bytes. So fewer than `limit` need not be all that there are.
   */
  after(event: number, limit: number, maxBytes?: number): Awaitable<readonly LoggedChange[]>
  /** Calls `listener` after commits of this process, and after commits of other processes that `look` has noticed. */
  onCommit(listener: () => void): () => void
  /** Notices what other processes have committed. */
  look(): Awaitable<void>
}
