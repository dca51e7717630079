/** The store on SQLite. One connection: its calls are synchronous, and one connection has one page cache. */
import { existsSync } from 'node:fs'
import type { Awaitable } from '../../../base/awaitable.ts'
import { ApiError, stoppingRefusal } from '../../../base/errors.ts'
import type { Model } from '../../../model/model.ts'
import type { CompositeAnswer, ReadAnswer, WriteAnswer } from '../../plan/answer.ts'
import type { GuardedCompositeRead, GuardedRead, GuardedWrite } from '../../plan/guarded.ts'
import type { GuardedProgram } from '../../plan/transaction.ts'
import { insightOf } from '../advice/insight.ts'
import { schemaMismatchError } from '../refusals.ts'
import { createFolders, prepareDatabase, storedValue } from '../schema/sqlite/migrate.ts'
import type { SlowReadCounts, Store, StoreCounts } from '../store.ts'
import type { Versions } from '../versions.ts'
import type { Connection } from './connection.ts'
import { failureOf } from './failure.ts'
import { openDatabase } from './file/open.ts'
import { openWritable } from './file/writable.ts'
import type { ChangeLog } from './log/change-log.ts'
import { openLog, raiseLog } from './log/opening.ts'
import { partsOf, type StoreParts } from './parts.ts'
import type { SqliteRecords } from './records.ts'
import { type SqliteOptions, sqliteSettings } from './settings.ts'
import { movedFileError, type Writer } from './write/writer.ts'

export { applyMigration, MigrationError, planMigration, schemaSql } from '../schema/sqlite/migrate.ts'

/** Reads answer synchronously, except for slow ones where there are reader processes. */
export interface SqliteStore extends Store {
  readonly records: SqliteRecords
  refresh(): void
}

/**
 * Opens or creates the database. Throws a `MigrationError` when its tables do not fit the model and a start may not
 * change them.
 */
export function openSqlite(model: Model, options: SqliteOptions): SqliteStore {
  const settings = sqliteSettings(options)
  const { file, busyTimeoutMs, autoMigrate, onSurplus } = settings
  createFolders(file)
  const database = openWritable({ file, busyTimeoutMs })
  try {
    prepareDatabase(database, model, { autoMigrate, onSurplus })
    openLog(database, settings.now)
    return new OpenStore(partsOf(model, database, settings))
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Raises the event numbers of a file that was restored by hand, as a start does after `portico restore`. A service may
 * be running on the file. Returns false where the file is no database of Portico's.
 */
export function raiseSqliteLog(file: string): boolean {
  if (!existsSync(file)) return false
  const database = openDatabase({ file, busyTimeoutMs: 5000 })
  try {
    const isOurs = storedValue(database, 'schema') !== undefined
    if (isOurs) raiseLog(database, Date.now)
    return isOurs
  } finally {
    database.close()
  }
}

class OpenStore implements SqliteStore {
  readonly changes: ChangeLog
  readonly records: SqliteRecords
  readonly slowReads: (() => SlowReadCounts) | undefined
  readonly queries: Store['queries']
  readonly #connection: Connection
  readonly #reader: StoreParts['reader']
  readonly #writer: Writer
  readonly #versions: Versions
  readonly #parts: StoreParts
  #closed = false

  constructor(parts: StoreParts) {
    const { connection, reader, writer, versions, changes, records } = parts
    this.#parts = parts
    this.#connection = connection
    this.#reader = reader
    this.#writer = writer
    this.#versions = versions
    this.changes = changes
    this.records = records
    const { pool } = parts
    this.slowReads = pool && (() => pool.counts)
    this.queries = insightOf(parts.statistics)
  }

  read(plan: GuardedRead): Awaitable<ReadAnswer> {
    this.#requireOpen()
    this.#requireCommitted()
    try {
      return this.#reader.read(plan)
    } catch (cause) {
      throw failureOf(cause)
    }
  }

  composite(plan: GuardedCompositeRead): Awaitable<CompositeAnswer> {
    this.#requireOpen()
    this.#requireCommitted()
    try {
      return this.#reader.read(plan)
    } catch (cause) {
      throw failureOf(cause)
    }
  }

  write(plan: GuardedWrite): Promise<WriteAnswer> {
    if (this.#closed) return Promise.reject(stoppingRefusal())
    return this.#writer.write(plan)
  }

  transaction<T>(program: GuardedProgram<T>): Promise<T> {
    if (this.#closed) return Promise.reject(stoppingRefusal())
    return this.#writer.transaction(program, this.records)
  }

  refresh(): void {
    this.#requireOpen()
    this.#connection.refresh()
  }

  version(collection: string): number {
    this.#requireOpen()
    this.#connection.hold()
    return this.#versions.cell(collection).value
  }

  counts(): StoreCounts {
    const { hits, misses } = this.#reader.counts
    const { counts } = this.#parts.checkpoints
    return { ...this.#writer.counts, ...counts, answerHits: hits, answerMisses: misses }
  }

  ping(): void {
    this.#requireOpen()
    this.#connection.renewSnapshot()
  }

  async check(): Promise<void> {
    const { health, identity, fit } = this.#parts
    if (!identity.isSame()) throw movedFileError()
    this.ping()
    if (!fit.isFit()) throw schemaMismatchError()
    if (!health.isProven) await this.#writer.confirm()
  }

  trouble(): string | undefined {
    return this.#parts.checkpoints.trouble
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#parts.statistics?.close()
    const pruningEnd = this.#parts.idlePruning.close()
    this.#writer.close()
    await pruningEnd
    // The last connection that closes the file checkpoints the log into it.
    await this.#parts.pool?.close()
    this.#connection.close()
  }

  /** Reads run on the connection that writes, so within an action they would see uncommitted changes. */
  #requireCommitted(): void {
    if (!this.#writer.isInAsyncStep) return
    const cause = new Error('An action reads by something other than its own `data`.')
    throw new ApiError('INTERNAL_ERROR', undefined, { cause })
  }

  #requireOpen(): void {
    if (this.#closed) throw stoppingRefusal()
  }
}
