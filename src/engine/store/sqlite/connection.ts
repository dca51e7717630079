/** One SQLite connection: its transactions, the snapshot that reads share, and the detection of other connections' commits. */
import { performance } from 'node:perf_hooks'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { sqlite } from '../sql/sqlite.ts'
import { compile, type Sql } from '../sql/writer.ts'
import type { ResultRow } from '../values.ts'
import { commitEmpty } from './file/empty-commit.ts'
import type { ConnectionOptions } from './file/open.ts'
import type { OtherThreads } from './file/other-threads.ts'
import { type ChangeCounter, Statement } from './statement.ts'

/** How long one attempt to take the write lock may block. `CommitQueue` retries, and the event loop runs in between. */
const lockAttemptMs = 2

/** The connections of this process by file: a commit on one ends the snapshots of the others. */
const connectionsByFile = new Map<string, Set<Connection>>()

export class Connection {
  readonly #database: DatabaseSync
  readonly #siblings: Set<Connection>
  readonly #onForeignCommit: () => void
  readonly #begin: StatementSync
  readonly #beginImmediate: StatementSync
  readonly #setShortTimeout: StatementSync
  readonly #setFullTimeout: StatementSync
  readonly #endTransaction: StatementSync
  readonly #dataVersion: StatementSync
  readonly #logState: StatementSync
  readonly #savepoint: StatementSync
  readonly #releaseSavepoint: StatementSync
  readonly #changes: ChangeCounter = { count: 0 }
  readonly #otherThreads: OtherThreads
  #lastDataVersion: unknown
  #isReading = false
  /** The turn of the event loop in which a request began the snapshot; undefined if no request began it. */
  #requestTurn: number | undefined
  /** `OtherThreads.commits` when the snapshot began. */
  #commits = 0
  readonly #release = (): void => this.release()

  /** Calls `onForeignCommit` before the first read or write that may see a commit of another connection. */
  constructor(
    database: DatabaseSync,
    { file, otherThreads, busyTimeoutMs }: ConnectionOptions & { readonly otherThreads: OtherThreads },
    onForeignCommit: () => void,
  ) {
    this.#database = database
    this.#otherThreads = otherThreads
    this.#onForeignCommit = onForeignCommit
    this.#begin = this.#database.prepare('BEGIN')
    this.#beginImmediate = this.#database.prepare('BEGIN IMMEDIATE')
    this.#setShortTimeout = this.#database.prepare(`PRAGMA busy_timeout = ${lockAttemptMs}`)
    this.#setFullTimeout = this.#database.prepare(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    this.#endTransaction = this.#database.prepare('COMMIT')
    this.#savepoint = this.#database.prepare('SAVEPOINT one_write')
    this.#releaseSavepoint = this.#database.prepare('RELEASE one_write')
    this.#dataVersion = this.#database.prepare('PRAGMA data_version')
    this.#dataVersion.setReturnArrays(true)
    this.#logState = this.#database.prepare('PRAGMA wal_checkpoint(NOOP)')
    this.#lastDataVersion = this.#readDataVersion()
    this.#siblings = connectionsByFile.get(file) ?? new Set()
    this.#siblings.add(this)
    if (file !== ':memory:') connectionsByFile.set(file, this.#siblings)
  }

  prepare(fragment: Sql): Statement {
    const { text, binds } = compile(fragment, sqlite.sign)
    return new Statement(
      this.#database.prepare(text),
      binds,
      text.startsWith('SELECT ') ? undefined : this.#changes,
    )
  }

  /** The text of a statement, and the rows of its query plan. */
  explain(fragment: Sql): { readonly text: string; readonly rows: readonly ResultRow[] } {
    const { text } = compile(fragment, sqlite.sign)
    const prepared = this.#database.prepare(`EXPLAIN QUERY PLAN ${text}`)
    prepared.setReturnArrays(true)
    const rows: unknown = prepared.all()
    return { text, rows: rows as readonly ResultRow[] }
  }

  exec(text: string): void {
    this.#database.exec(text)
  }

  /** Increases with every statement, other than a SELECT, that may have changed something. */
  get changes(): number {
    return this.#changes.count
  }

  get isTransaction(): boolean {
    return this.#database.isTransaction
  }

  /**
   * Begins the snapshot that all reads share until the turn of the event loop ends: a transaction for each read would cost
   * more than a read by key. A commit of another thread ends the snapshot.
   */
  hold(): void {
    const commits = this.#otherThreads.commits()
    if (this.#isReading) {
      if (commits === this.#commits) return
      this.release()
    }
    this.#commits = commits
    this.#begin.get()
    this.#isReading = true
    setImmediate(this.#release)
    this.#noticeCommits()
  }

  /**
   * Like `hold`, for a request. A snapshot that begins in the check phase (`setImmediate`) lasts into the next turn of the
   * event loop, where a request may arrive that was sent after a later commit of another process. So only requests of the
   * same turn share a snapshot.
   */
  refresh(): void {
    const turn = performance.nodeTiming.uvMetricsInfo.loopCount
    if (this.#requestTurn !== turn) this.release()
    this.hold()
    this.#requestTurn = turn
  }

  /** Begins a new snapshot, which includes every commit of other processes so far. */
  renewSnapshot(): void {
    this.release()
    this.hold()
  }

  /** Ends the snapshot that reads share. */
  release(): void {
    if (!this.#isReading) return
    this.#isReading = false
    this.#requestTurn = undefined
    if (this.#database.isTransaction) this.#endTransaction.get()
  }

  /** Like `release`, but never throws: it runs after a successful commit. */
  #endSnapshot(): void {
    try {
      this.release()
    } catch {
      this.#isReading = false
    }
  }

  /** Fails with SQLITE_BUSY after a few milliseconds if another process has the write lock. */
  beginWrite(): void {
    this.release()
    this.#setShortTimeout.get()
    try {
      this.#beginImmediate.get()
    } finally {
      this.#setFullTimeout.get()
    }
    this.#noticeCommits()
  }

  commit(): void {
    this.#endTransaction.get()
    this.#otherThreads.committed()
    for (const sibling of this.#siblings) sibling.#endSnapshot()
  }

  /**
   * Commits an unchanged page. Throws if that cannot be made durable. `waits`: whether to wait for the write lock of another
   * process, for as long as other writes do.
   */
  commitEmpty(waits: boolean): void {
    this.release()
    if (!waits) this.#setShortTimeout.get()
    try {
      commitEmpty(this.#database)
      this.#otherThreads.committed()
    } finally {
      this.#setFullTimeout.get()
    }
  }

  /** The number of pages in the write-ahead log, and how many of them a checkpoint has copied. Only outside a transaction. */
  logState(): { readonly pages: number; readonly copied: number } {
    this.release()
    const [, pages, copied] = Object.values(this.#logState.get() ?? {})
    return { pages: Number(pages), copied: Number(copied) }
  }

  /** Copies the log into the file, up to the pages that a reader still needs. */
  checkpoint(): void {
    this.release()
    this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)')
  }

  /**
   * Turns automatic checkpoints off: the caller runs `checkpoint`. Returns false, and leaves them on, if this version of
   * SQLite cannot report the length of its log.
   */
  takeOverCheckpoints(): boolean {
    const version: unknown = this.#database.prepare('SELECT sqlite_version() AS "v"').get()?.v
    const [major = 0, minor = 0] = String(version).split('.').map(Number)
    if (major === 3 && minor < 51) return false
    this.#database.exec('PRAGMA wal_autocheckpoint = 0')
    return true
  }

  savepoint(): void {
    this.#savepoint.get()
  }

  /** Runs work in a savepoint within that of a write, and rolls it back if it throws. */
  step<T>(work: () => T): T {
    this.#database.exec('SAVEPOINT one_step')
    try {
      const value = work()
      this.#database.exec('RELEASE one_step')
      return value
    } catch (cause) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK TO one_step; RELEASE one_step')
      throw cause
    }
  }

  releaseSavepoint(): void {
    this.#releaseSavepoint.get()
  }

  rollbackSavepoint(): void {
    this.#database.exec('ROLLBACK TO one_write; RELEASE one_write')
  }

  /** Within a transaction: whether foreign keys are checked at its end rather than after each statement. */
  deferReferences(isDeferred: boolean): void {
    this.#database.exec(`PRAGMA defer_foreign_keys = ${isDeferred ? 'ON' : 'OFF'}`)
  }

  rollback(): void {
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
  }

  close(): void {
    this.release()
    this.#siblings.delete(this)
    // The last connection that closes checkpoints the log. Forcing a checkpoint here would wait for other readers.
    this.#database.close()
  }

  #readDataVersion(): unknown {
    const row: unknown = this.#dataVersion.get()
    return Array.isArray(row) ? row[0] : undefined
  }

  #noticeCommits(): void {
    const version = this.#readDataVersion()
    if (version === this.#lastDataVersion) return
    this.#lastDataVersion = version
    this.#onForeignCommit()
  }
}
