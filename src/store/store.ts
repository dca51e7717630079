/** What a database does for Portico. Every store passes the same contract suite. */
import type { JsonValue } from '../model/fields/type.ts'
import type { Awaitable, CompositeAnswer, ReadAnswer, WriteAnswer } from '../plan/answer.ts'
import type { GuardedCompositeRead, GuardedRead, GuardedWrite } from '../plan/guarded.ts'
import type { GuardedProgram } from '../plan/transaction.ts'
import type { Records } from '../records.ts'
import type { SlowRuns } from './advice/slow-lists.ts'

export interface StoreCounts {
  /** Commits, and the writes that they held: several that arrive together share one. */
  readonly commits: number
  readonly writes: number
  /** Reads that were answered from memory, and reads for which the database was asked. */
  readonly answerHits: number
  readonly answerMisses: number
  /** Items that went, or lost a reference, with another one that was deleted. */
  readonly cascaded: number
}

/** What read replicas did, and how they are. */
export interface ReplicaCounts {
  readonly known: number
  /** Those that answer, and follow the primary. */
  readonly up: number
  /** By how many bytes of its log the slowest of these is behind the primary. */
  readonly lag: number
  /** Reads that a replica answered. */
  readonly answers: number
  /** Reads for which a replica was asked, and then the primary. */
  readonly unfit: number
}

/** What a process knows of the log since it last looked what is to be pruned. */
export interface LogCounts {
  /** The numbers of the oldest and the newest event; 0: there is none. */
  readonly oldest: number
  readonly newest: number
  /** What the events take, estimated. */
  readonly bytes: number
  /** How many events this process has pruned. */
  readonly pruned: number
}

/** What reads cost, by the database's own plans. */
export interface QueryInsight {
  /** The lists that were found slow and ran since the last call; empty while nothing slow runs. */
  takeSlow(): readonly SlowRuns[]
  /** What the slowest list of a read looks at, and what index it lacks; undefined where it has no list. */
  describe(plan: GuardedRead | GuardedCompositeRead): Awaitable<string | undefined>
}

/** What reader processes do, and have done since the store was opened. */
export interface SlowReadCounts {
  readonly processes: number
  /** Reads that run in a process, and reads that wait for one. */
  readonly running: number
  readonly waiting: number
  /** Reads that were answered. */
  readonly done: number
  /** Reads that took longer than they may, waiting included. */
  readonly timedOut: number
  /** Reads that were refused because too many waited. */
  readonly refused: number
  /** Processes that were killed because their read took too long. */
  readonly killed: number
}

export interface Store {
  /** Runs a read: as new as the last `refresh` at least. Throws an `ApiError` for what a client can mend. */
  read(plan: GuardedRead): Awaitable<ReadAnswer>
  /** Runs several reads in one statement. */
  composite(plan: GuardedCompositeRead): Awaitable<CompositeAnswer>
  /**
   * Runs a write in one transaction with its row in the event log.
   * Settles only after the commit is durable. Rejects with an `ApiError` when nothing was changed.
   */
  write(plan: GuardedWrite): Promise<WriteAnswer>
  /**
   * Runs several guarded plans, and changes of records, as one transaction. Settles only after the commit is durable.
   * What the program throws undoes all of it, and rejects.
   */
  transaction<T>(program: GuardedProgram<T>): Promise<T>
  /**
   * Notices what other processes have committed: afterwards `version`, of items and of records, counts every
   * commit that was acknowledged before the call, and reads see them. On SQLite reads do so by themselves.
   */
  refresh(): Awaitable<void>
  /**
   * Grows with every commit that may have changed the collection, whichever process made it.
   * What was computed from the collection stays true while its version stays the same.
   */
  version(collection: string): number
  /** What this process has done with the store since it opened it. */
  counts(): StoreCounts
  /** Undefined where there are none. */
  readonly replicas?: (() => ReplicaCounts) | undefined
  /** Undefined where nobody asked for it when the store was opened. */
  readonly queries?: QueryInsight | undefined
  /** Undefined where all reads run on the event loop, or in a database server. */
  readonly slowReads?: (() => SlowReadCounts) | undefined
  /** The log of committed changes. */
  readonly changes: Changes
  /** What is remembered beside the model's items. */
  readonly records: Records
  /**
   * Writes the file anew, so that nothing is left in it of what was deleted or replaced. Rejects where others
   * hold it, or the disk is full. A server does so by itself, little by little.
   */
  rewrite(): Promise<void>
  /** Throws when the database cannot answer. */
  ping(): Awaitable<void>
  /**
   * Rejects with an `ApiError` when an ordinary read or an ordinary write could not be done now: where the database
   * is away or gone, where its tables do not fit the model any more, where nothing can be stored. Writes something
   * where no commit of late shows that it can. Its message says why, in words for whoever runs the service.
   */
  check(): Promise<void>
  /** What is wrong and keeps nothing from being done yet, in such words. */
  trouble(): string | undefined
  /** Finishes the writes that wait, then closes. */
  close(): Promise<void>
}

/** The numbers between which a reader may resume. */
export interface LogBounds {
  /** The highest number whose event was pruned, or was of a log that a restored backup has replaced; 0: none. */
  readonly pruned: number
  /** Up to which number no change can still come. No reader was ever given a higher one. */
  readonly drawn: number
}

/** A committed change of one item. */
export interface Change {
  /** Its number in the log; it grows in the order of commits. */
  readonly event: number
  readonly collection: string
  readonly kind: 'created' | 'updated' | 'deleted'
  readonly id: number
  /** The row after the change, before it for a deletion, as JSON text; without internal and write-only fields. */
  readonly row: string
  /** For an update, the row before it, as `row`; null for others, and where an older version of Portico wrote it. */
  readonly before: string | null
  /** For an update, the names of the fields that changed, internal ones too; null for others. */
  readonly changed: readonly string[] | null
  /** Of an event that an action has emitted, which changes nothing: its values; null for others. */
  readonly values: Readonly<Record<string, JsonValue>> | null
  /** When it was committed: ISO 8601 UTC. */
  readonly at: string
  /** Who made it, and through which app (`oauth_apps`); null: nobody signed in, Portico itself, no app. */
  readonly userId: number | null
  readonly appId: number | null
  /** The event's type where it is not the usual one of its kind, e.g. `webhook.paused`. */
  readonly type: string | null
  /** By how many reactions and jobs, each caused by the one before, it came to this. */
  readonly depth: number
}

/** `from`: whether this store has committed, or something has come from elsewhere that it can now read. */
export type CommitListener = (from: 'here' | 'elsewhere') => void

export interface Changes {
  /** The number after which changes are new: no smaller one can still come. */
  last(): Awaitable<number>
  /**
   * Ask it after `after`: a reader that resumed at a number below `pruned`, or above `drawn`, may have missed changes.
   * One at `pruned` or above was given all of them.
   */
  bounds(): Awaitable<LogBounds>
  /**
   * Keeps the changes after a number, for whoever must not miss one: they are pruned by size only. Null: keeps none any
   * more. Durable when it settles; a name has one hold, whichever process sets it.
   */
  hold(name: string, event: number | null): Promise<void>
  counts(): LogCounts
  /**
   * What came after a change, in the order of commits: at most `limit`, and with `maxBytes` no more rows once these have
   * so many bytes. So fewer than `limit` need not be all that there are.
   */
  after(event: number, limit: number, maxBytes?: number): Awaitable<readonly Change[]>
  /** Calls `listener` after commits of this store, and those of others once `look` or a read notices them. */
  onCommit(listener: CommitListener): () => void
  /** Notices what other processes have committed. */
  look(): Awaitable<void>
}
