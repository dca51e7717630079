/** The log of committed changes, as subscriptions read it. */
import type { Awaitable } from '../plan/answer.ts'
import type { ChangeKind, ItemChange } from './engine.ts'

/** A change as the log tells it. */
export interface LoggedChange extends ItemChange {
  readonly collection: string
  readonly kind: ChangeKind
}

export interface Feed {
  /** The newest event's number; 0 when there is none. */
  last(): Awaitable<number>
  /** What came after an event, in commit order. */
  after(event: number, limit: number): Awaitable<readonly LoggedChange[]>
  /** Calls `listener` after commits of this process, and those of others that `look` has noticed. */
  onCommit(listener: () => void): () => void
  /** Notices what other processes have committed. */
  look(): Awaitable<void>
}
