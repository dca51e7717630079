/** The store on SQLite: one connection, since its calls answer at once and its page cache is then one. */
import { resolve } from 'node:path'
import { ApiError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { Awaitable, CompositeAnswer, ReadAnswer, WriteAnswer } from '../plan/answer.ts'
import type { GuardedCompositeRead, GuardedRead, GuardedWrite } from '../plan/guarded.ts'
import { insightOf } from './advice/insight.ts'
import { observed } from './advice/observed.ts'
import { QueryStatistics, type StatisticsOptions } from './advice/statistics.ts'
import { Answers } from './answers.ts'
import { unfit } from './refusals.ts'
import { SqliteFit } from './schema/sqlite-fit.ts'
import { makeFolder, prepareDatabase } from './schema/sqlite-migrate.ts'
import { ChangeLog } from './sqlite/change-log.ts'
import { Checkpoints } from './sqlite/checkpoints.ts'
import { Connection } from './sqlite/connection.ts'
import { EventLog } from './sqlite/event-log.ts'
import { failureOf } from './sqlite/failure.ts'
import { FileIdentity } from './sqlite/identity.ts'
import { type Neighbours, noNeighbours } from './sqlite/neighbours.ts'
import { sqliteExplainer } from './sqlite/plans/explain.ts'
import { ReadBudget } from './sqlite/read/budget.ts'
import { Reader } from './sqlite/read/reader.ts'
import { Totals } from './sqlite/read/totals.ts'
import { ReaderPool } from './sqlite/readers/pool.ts'
import { SqliteRecords } from './sqlite/records.ts'
import { SearchIndex } from './sqlite/search-index.ts'
import { openWritable } from './sqlite/writable.ts'
import { moved, Writer } from './sqlite/writer.ts'
import type { SlowReadCounts, Store, StoreCounts } from './store.ts'
import { Versions } from './versions.ts'
import type { OnCascade } from './write/cascades.ts'
import { WriteHealth } from './write-health.ts'

export { applyMigration, MigrationError, planMigration, schemaSql } from './schema/sqlite-migrate.ts'

export interface SqliteOptions {
  /** The database file, or `:memory:`. Its folder is made when missing. */
  readonly file: string
  /** How much memory remembered answers may take; 0: none is remembered. 64 MiB by default. */
  readonly cacheBytes?: number
  /** Whether what the model only adds is added to the tables at once. True by default. */
  readonly autoMigrate?: boolean
  /** Without `autoMigrate`: see `Start`. */
  readonly onSurplus?: ((sentences: readonly string[]) => void) | undefined
  /** How long events are kept, in milliseconds. 7 days by default. */
  readonly eventsKept?: number
  /** How many writes may wait for a commit. 10,000 by default. */
  readonly maxWaiting?: number
  /** How long to wait for another process's write, in milliseconds. 5,000 by default. */
  readonly busyTimeout?: number
  /** Processes for reads that take long; left out: every read is answered on the event loop. See `ReaderPool`. */
  readonly readers?: ReadersOptions | undefined
  /**
   * How many rows of a list are looked at one by one for conditions on related rows, before the ids that match are
   * gathered. 500 by default, which take under half a millisecond.
   */
  readonly walkedRows?: number
  /** Other threads of this process with the same file. */
  readonly neighbours?: Neighbours | undefined
  /** Called when only a new start of the process can make the file whole again: see `sqlite/checkpoints.ts`. */
  readonly onUnsafe?: (cause: unknown) => void
  /** Called for each deletion that takes many items with it, before its commit. */
  readonly onCascade?: OnCascade | undefined
  /** The time, in milliseconds since 1970. */
  readonly now?: () => number
  /** What is to be known of what reads cost; left out: nothing. */
  readonly queries?: StatisticsOptions | undefined
}

export interface ReadersOptions {
  /** How many processes there are at most; 0: none. */
  readonly count: number
  /** How long a slow read may take from when it was asked for, in milliseconds. */
  readonly timeoutMs: number
  /** How long a read may hold the event loop before it is moved to a process, in milliseconds; 0: it begins there. 2 by default. */
  readonly budgetMs?: number
  /** See `ReaderPoolOptions`. */
  readonly idleMs?: number
  readonly onLost?: (cause: unknown) => void
}

/** Reads answer at once, unless there are reader processes and it is a slow one. */
export interface SqliteStore extends Store {
  readonly records: SqliteRecords
  refresh(): void
}

const MIB = 1024 * 1024
const DAY = 24 * 60 * 60 * 1000

/**
 * Opens or makes the database. Throws a `MigrationError` when its tables do not fit the model and
 * may not be changed by a start.
 */
export function openSqlite(model: Model, options: SqliteOptions): SqliteStore {
  const { cacheBytes = 64 * MIB, autoMigrate = true, eventsKept = 7 * DAY } = options
  const {
    maxWaiting = 10_000,
    busyTimeout = 5000,
    now = Date.now,
    neighbours = noNeighbours,
    walkedRows = 500,
  } = options
  const file = options.file === ':memory:' ? options.file : resolve(options.file)
  makeFolder(file)
  const database = openWritable({ file, busyTimeout })
  try {
    prepareDatabase(database, model, { autoMigrate, onSurplus: options.onSurplus })
  } catch (error) {
    database.close()
    throw error
  }
  const versions = new Versions()
  const orders = new Versions()
  let changes: ChangeLog | undefined
  const connection = new Connection(database, { file, neighbours, busyTimeout }, () => {
    versions.bumpAll()
    orders.bumpAll()
    changes?.tell('elsewhere')
  })
  const totals = new Totals(connection, versions)
  const statistics =
    options.queries && new QueryStatistics(model, sqliteExplainer(connection, totals), options.queries)
  const identity = new FileIdentity(file)
  const pool = openPool(file, identity, options)
  const slow = pool && { pool, budget: new ReadBudget(database, options.readers?.budgetMs ?? 2) }
  const answers = new Answers(cacheBytes)
  const parts = { connection, answers, versions, orders, totals, walkedRows, slow }
  const reader = observed(new Reader(parts), statistics)
  const events = new EventLog(connection, eventsKept)
  const log = new ChangeLog(connection)
  changes = log
  const health = new WriteHealth(neighbours)
  const checkpoints = new Checkpoints(connection, {
    onUnsafe(cause) {
      // A reader that still had the file open when the next start opens it would keep the log from being copied again.
      void pool?.close()
      options.onUnsafe?.(cause)
    },
  })
  const isOurs = connection.takeOverCheckpoints()
  const writer = new Writer(
    { model, connection, events, search: new SearchIndex(connection) },
    {
      maxWaiting,
      lockWaitMs: busyTimeout,
      lock: neighbours.lock,
      now,
      atCommit: ({ changed, removed, quiet }) => {
        versions.bump(changed)
        orders.bump(removed)
        if (quiet === undefined) log.tell('here')
      },
      afterCommit: () => {
        if (isOurs) checkpoints.run()
      },
      health,
      identity,
      onCascade: options.onCascade,
    },
  )
  const records = new SqliteRecords({ connection, writer, versions, now })
  const fit = new SqliteFit(database, model)
  return new OpenStore({
    connection,
    reader,
    writer,
    versions,
    changes: log,
    records,
    health,
    identity,
    checkpoints,
    fit,
    pool,
    statistics,
  })
}

/** Undefined for a database in memory, which no other process can read. */
function openPool(
  file: string,
  identity: FileIdentity,
  { readers, busyTimeout = 5000 }: SqliteOptions,
): ReaderPool | undefined {
  if (readers === undefined || readers.count === 0 || file === ':memory:') return undefined
  const orders = { file, identities: identity.expected, busyTimeoutMs: busyTimeout }
  const { count: size, timeoutMs, idleMs, onLost } = readers
  return new ReaderPool({ orders, size, timeoutMs, onLost, ...(idleMs !== undefined && { idleMs }) })
}

interface StoreParts {
  readonly connection: Connection
  readonly reader: Pick<Reader, 'read' | 'counts'>
  readonly writer: Writer
  readonly versions: Versions
  readonly changes: ChangeLog
  readonly records: SqliteRecords
  readonly health: WriteHealth
  readonly identity: FileIdentity
  readonly checkpoints: Checkpoints
  readonly fit: SqliteFit
  readonly pool: ReaderPool | undefined
  readonly statistics: QueryStatistics | undefined
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
    try {
      return this.#reader.read(plan)
    } catch (cause) {
      throw failureOf(cause)
    }
  }

  composite(plan: GuardedCompositeRead): Awaitable<CompositeAnswer> {
    this.#requireOpen()
    try {
      return this.#reader.read(plan)
    } catch (cause) {
      throw failureOf(cause)
    }
  }

  write(plan: GuardedWrite): Promise<WriteAnswer> {
    if (this.#closed) return Promise.reject(stopping())
    return this.#writer.write(plan)
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
    return { ...this.#writer.counts, answerHits: hits, answerMisses: misses }
  }

  async rewrite(): Promise<void> {
    this.#requireOpen()
    this.#connection.rewrite()
  }

  ping(): void {
    this.#requireOpen()
    this.#connection.look()
  }

  async check(): Promise<void> {
    const { health, identity, fit } = this.#parts
    if (!identity.isSame()) throw moved()
    this.ping()
    if (!fit.isFit()) throw unfit()
    if (!health.isProven) await this.#writer.confirm()
  }

  trouble(): string | undefined {
    return this.#parts.checkpoints.trouble
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#parts.statistics?.close()
    this.#writer.close()
    // Whoever closes the file last moves the log into it.
    await this.#parts.pool?.close()
    this.#connection.close()
  }

  #requireOpen(): void {
    if (this.#closed) throw stopping()
  }
}

function stopping(): ApiError {
  return new ApiError('UNAVAILABLE', 'The service is stopping.')
}
