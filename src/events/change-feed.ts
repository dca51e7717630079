/** The log of committed changes, as readers of events see it. The store implements it. */
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
  /** The row after the change, or before a deletion, as JSON text. A plan reads it in place of the stored row (`ItemRoot.event`). */
  readonly row: string
  /** For an update, the row before it; null for others, and for updates that an older version of Portico logged. */
  readonly before: string | null
  /** For an update, the names of the fields that changed, internal ones too; null for others. */
  readonly changed: readonly string[] | null
  /** The values of an event that an action has emitted, which changes nothing; null for others. */
  readonly values: Readonly<Record<string, JsonValue>> | null
  /** When it was committed, as ISO 8601 UTC. */
  readonly at: string
  /** The user and the app that made it; null: nobody was signed in, or Portico itself; no app. */
  readonly userId: number | null
  readonly appId: number | null
  /** The event's type if it is not the usual one of its kind, e.g. `webhook.paused`; else null. */
  readonly type: string | null
  /** The number of reactions and jobs, each caused by the one before, that led to this change. */
  readonly depth: number
}

/** The events between which a reader may resume. */
export interface FeedBounds {
  /** The highest number whose event is no longer kept; 0: none. */
  readonly pruned: number
  /** The highest number that was assigned. */
  readonly drawn: number
}

/** A reader of the log ends a batch after the row that makes it reach this size. */
export const maxBatchBytes = 2 * 1024 * 1024

/**
 * Whether `changes`, read by `after` with this limit and `maxBatchBytes`, reach the end of the log: neither bound can have
 * cut them. False if this is unknown.
 */
export function isLogEnd(changes: readonly LoggedChange[], limit: number): boolean {
  const characters = changes.reduce((sum, { row, before }) => sum + row.length + (before?.length ?? 0), 0)
  return changes.length === 0 || (changes.length < limit && characters < smallBatchCharacters)
}

/** A character takes up to three bytes; field names and the overhead of a row fit in the rest. */
const smallBatchCharacters = maxBatchBytes / 8

export interface ChangeFeed {
  /** The newest event's number; 0 for an empty log. */
  last(): Awaitable<number>
  bounds(): Awaitable<FeedBounds>
  /**
   * The changes after an event, in commit order: at most `limit`. With `maxBytes`, the result ends once its rows have that
   * many bytes, so fewer than `limit` changes do not mean the end of the log.
   */
  after(event: number, limit: number, maxBytes?: number): Awaitable<readonly LoggedChange[]>
  /** Calls `listener` after commits of this process, and of other processes once `poll` has noticed them. */
  onCommit(listener: () => void): () => void
  /** Notices what other processes have committed. */
  poll(): Awaitable<void>
}
