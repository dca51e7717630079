/** What a database does for Portico. `sqlite.ts` is the first; every store passes the same contract suite. */
import type { Awaitable, ReadAnswer, WriteAnswer } from '../plan/answer.ts'
import type { GuardedRead, GuardedWrite } from '../plan/guarded.ts'

export interface StoreCounts {
  /** Commits, and the writes that they held: several that arrive together share one. */
  readonly commits: number
  readonly writes: number
  /** Reads that were answered from memory, and reads for which the database was asked. */
  readonly answerHits: number
  readonly answerMisses: number
}

export interface Store {
  /** Runs a read. Throws an `ApiError` for what a client can mend. */
  read(plan: GuardedRead): Awaitable<ReadAnswer>
  /**
   * Runs a write in one transaction with its row in the event log.
   * Settles only after the commit is durable. Rejects with an `ApiError` when nothing was changed.
   */
  write(plan: GuardedWrite): Promise<WriteAnswer>
  /**
   * Grows with every commit that may have changed the collection, whichever process made it.
   * What was computed from the collection stays true while its version stays the same.
   */
  version(collection: string): number
  /** What this process has done with the store since it opened it. */
  counts(): StoreCounts
  /** Throws when the database cannot answer. */
  ping(): Awaitable<void>
  /** Finishes the writes that wait, then closes. */
  close(): Promise<void>
}
