/** The interface of every database. Every store passes the same contract suite. */
import type { Awaitable } from '../../base/awaitable.ts'
import type { Records } from '../../base/records.ts'
import type { CompositeAnswer, ReadAnswer, WriteAnswer } from '../plan/answer.ts'
import type { ChangeFeed } from '../plan/change-feed.ts'
import type { AnyGuardedRead, GuardedCompositeRead, GuardedRead, GuardedWrite } from '../plan/guarded.ts'
import type { GuardedProgram } from '../plan/transaction.ts'
import type { SlowRuns } from './advice/slow-lists.ts'

export interface StoreCounts {
  /** Commits, and the writes in them: writes that arrive together share a commit. */
  readonly commits: number
  readonly writes: number
  /** Reads answered from the cache, and reads that queried the database. */
  readonly answerHits: number
  readonly answerMisses: number
  /** Items that the deletion of another item deleted, or cleared a reference of. */
  readonly cascaded: number
  /** Checkpoints of SQLite's log that have failed. PostgreSQL makes its own. */
  readonly failedCheckpoints: number
}

/** The state of the read replicas, and the reads that they answered. */
export interface ReplicaCounts {
  readonly known: number
  /** How many answer and follow the primary. */
  readonly up: number
  /** How far the slowest of these lags behind the primary, in bytes of the write-ahead log. */
  readonly lag: number
  /** Reads that a replica answered. */
  readonly answers: number
  /** Reads that a replica could not answer and the primary did. */
  readonly unfit: number
}

/** The state of the event log when this process last checked for events to prune. */
export interface LogCounts {
  /** The numbers of the oldest and the newest event; 0 where the log is empty. */
  readonly oldest: number
  readonly newest: number
  /** The estimated size of all events. */
  readonly bytes: number
  /** How many events this process has pruned. */
  readonly pruned: number
}

/** The cost of reads, by the database's query plans. */
export interface QueryInsight {
  /** The slow lists that ran since the last call. */
  takeSlow(): readonly SlowRuns[]
  /** The rows that the slowest list of a read scans, and the index that it lacks; undefined if the read has no list. */
  describe(plan: AnyGuardedRead): Awaitable<string | undefined>
}

/** The state of the reader processes, and their work since the store was opened. */
export interface SlowReadCounts {
  readonly processes: number
  /** Reads that run in a process, and reads that wait for a process. */
  readonly running: number
  readonly waiting: number
  /** Reads that were answered. */
  readonly done: number
  /** Reads that exceeded their time limit, which includes waiting. */
  readonly timedOut: number
  /** Reads that were refused because too many were waiting. */
  readonly refused: number
  /** Processes that were killed because their read exceeded its time limit. */
  readonly killed: number
}

export interface Store {
  /** Runs a read, which sees at least every commit that the last `refresh` saw. Throws an `ApiError` for faults of the client. */
  read(plan: GuardedRead): Awaitable<ReadAnswer>
  /** Runs several reads in one statement. */
  composite(plan: GuardedCompositeRead): Awaitable<CompositeAnswer>
  /**
   * Runs a write in one transaction with its row in the event log.
   * Settles only after the commit is durable. Rejects with an `ApiError` when nothing was changed.
   */
  write(plan: GuardedWrite): Promise<WriteAnswer>
  /**
   * Runs several guarded plans and changes of records as one transaction. Settles only after the commit is durable.
   * If the program throws, the transaction is rolled back and the promise rejects with that error.
   */
  transaction<T>(program: GuardedProgram<T>): Promise<T>
  /**
   * Checks for commits of other processes. Afterwards `version`, of items and of records, counts every commit that was
   * acknowledged before the call, and reads see these commits.
   */
  refresh(): Awaitable<void>
  /**
   * Grows with every commit that may have changed the collection, whichever process made it. A result that was
   * computed from the collection is valid as long as the version is the same.
   */
  version(collection: string): number
  /** The work of this process since it opened the store. */
  counts(): StoreCounts
  /** Undefined without replicas. */
  readonly replicas?: (() => ReplicaCounts) | undefined
  /** Undefined unless it was requested when the store was opened. */
  readonly queries?: QueryInsight | undefined
  /** Undefined where all reads run on the event loop, or in a database server. */
  readonly slowReads?: (() => SlowReadCounts) | undefined
  /** The log of committed changes. */
  readonly changes: EventLog
  /** Records that are stored in addition to the model's items, such as sessions and tokens. */
  readonly records: Records
  /** Throws when the database cannot answer. */
  ping(): Awaitable<void>
  /**
   * Rejects with an `ApiError` when an ordinary read or write would fail now: the database cannot be reached or is
   * gone, its tables no longer fit the model, or nothing can be stored. Commits something where no recent commit proves
   * that it can. The message gives the operator the reason.
   */
  check(): Promise<void>
  /** A problem that the operator should know of, although requests still succeed. */
  trouble(): string | undefined
  /** Commits the writes that wait, then closes. */
  close(): Promise<void>
}

/** `from`: whether this store made the commit, or noticed one of another process. */
export type CommitListener = (from: 'here' | 'elsewhere') => void

export interface EventLog extends ChangeFeed {
  /**
   * Holds the changes after a number for a reader that must not miss one: they are pruned by size only, not by age. Null
   * removes the hold. Durable when the promise settles. A name has one hold, whichever process sets it.
   */
  hold(name: string, event: number | null): Promise<void>
  counts(): LogCounts
  onCommit(listener: CommitListener): () => void
}
