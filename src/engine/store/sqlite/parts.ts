/** The parts of a store on SQLite, each created from those before it. */
import type { DatabaseSync } from 'node:sqlite'
import type { Model } from '../../../model/model.ts'
import { withStatistics } from '../advice/observed.ts'
import { QueryStatistics } from '../advice/statistics.ts'
import { createHold } from '../log/holds.ts'
import { IdlePruning } from '../log/idle-pruning.ts'
import { Answers } from '../read/answers.ts'
import { listCacheOptions } from '../read/list-cache.ts'
import { Reader } from '../read/reader.ts'
import { SqliteFit } from '../schema/sqlite/fit.ts'
import { Versions } from '../versions.ts'
import { noWork } from '../write/work.ts'
import { WriteHealth } from '../write-health.ts'
import { Connection } from './connection.ts'
import { Checkpoints } from './file/checkpoints.ts'
import { FileIdentity } from './file/identity.ts'
import { ChangeLog } from './log/change-log.ts'
import { EventLog } from './log/event-log.ts'
import { AnswerSize } from './read/answer-size.ts'
import { ReadBudget } from './read/budget.ts'
import { sqlitePlanReader } from './read/explain.ts'
import { SqliteReads } from './read/reads.ts'
import { Totals } from './read/totals.ts'
import { ReaderPool } from './reader-processes/pool.ts'
import { SqliteRecords } from './records.ts'
import type { SqliteSettings } from './settings.ts'
import { TransactionReads } from './write/transaction.ts'
import { Writer } from './write/writer.ts'

export interface StoreParts {
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
  readonly idlePruning: IdlePruning
}

/** `database`: open, and with the model's tables. */
export function partsOf(model: Model, database: DatabaseSync, settings: SqliteSettings): StoreParts {
  const { file, cacheBytes, walkedRows, answerLimits, otherThreads, busyTimeoutMs, now } = settings
  const versions = new Versions()
  const orders = new Versions()
  let log: ChangeLog | undefined
  const connection = new Connection(database, { file, otherThreads, busyTimeoutMs }, () => {
    versions.bumpAll()
    orders.bumpAll()
    log?.notify('elsewhere')
  })
  const totals = new Totals(connection)
  const statistics =
    settings.queries && new QueryStatistics(model, sqlitePlanReader(connection, totals), settings.queries)
  const identity = new FileIdentity(file)
  const answerSize = new AnswerSize(database)
  const pool = poolOf(identity, settings)
  const slowReads = pool && { pool, budget: new ReadBudget(database, settings.readers?.budgetMs ?? 2) }
  const answers = new Answers(cacheBytes)
  const lists = listCacheOptions({ versions, orders, keepsTotals: cacheBytes > 0 })
  const reads = new SqliteReads({
    ...{ connection, answers, answerLimits, answerSize, lists, totals, walkedRows, now },
    slow: slowReads,
  })
  const reader = withStatistics(new Reader(reads), statistics)
  const events = new EventLog(connection, settings.retention)
  const changes: ChangeLog = new ChangeLog(connection, {
    hold: createHold(
      fragment => connection.prepare(fragment),
      steps => writer.work(steps),
    ),
    metrics: events.metrics,
  })
  log = changes
  const health = new WriteHealth(otherThreads)
  const checkpoints = checkpointsOf(connection, pool, settings)
  const writer = writerOf(model, settings, {
    ...{ connection, versions, orders, events, changes, health, identity, checkpoints },
    reads: new TransactionReads({
      ...{ connection, lists, totals, walkedRows, statistics, answerSize },
      budget: slowReads?.budget,
    }),
  })
  const idlePruning = new IdlePruning({
    intervalMs: settings.retention.idleMs,
    step: async () => {
      if (!events.isPrunable(now())) return false
      await writer.work(noWork)
      return true
    },
  })
  const records = new SqliteRecords({ connection, writer, versions, now })
  const fit = new SqliteFit(database, model)
  return {
    ...{ connection, reader, writer, versions, changes, records },
    ...{ health, identity, checkpoints, fit, pool, statistics, idlePruning },
  }
}

/** Undefined if reader processes are turned off, and for a database in memory, which no other process can read. */
function poolOf(
  identity: FileIdentity,
  { file, readers, busyTimeoutMs }: SqliteSettings,
): ReaderPool | undefined {
  if (readers === undefined || readers.count === 0 || file === ':memory:') return undefined
  const processOptions = { file, identities: identity.expected, busyTimeoutMs }
  const { count: size, timeoutMs, idleMs, onLost } = readers
  return new ReaderPool({ processOptions, size, timeoutMs, onLost, ...(idleMs !== undefined && { idleMs }) })
}

function checkpointsOf(
  connection: Connection,
  pool: ReaderPool | undefined,
  { onUnsafe, checkpointListener: listener }: SqliteSettings,
): Checkpoints {
  return new Checkpoints(connection, {
    listener,
    onUnsafe(cause) {
      // SQLite copies the log again only once no process has the file open, so the reader processes must end.
      void pool?.close()
      onUnsafe?.(cause)
    },
  })
}

type WriterParts = Pick<
  StoreParts,
  'connection' | 'versions' | 'changes' | 'health' | 'identity' | 'checkpoints'
> & { readonly orders: Versions; readonly events: EventLog; readonly reads: TransactionReads }

function writerOf(model: Model, settings: SqliteSettings, parts: WriterParts): Writer {
  const { connection, versions, orders, events, changes, health, identity, checkpoints, reads } = parts
  const {
    maxWaiting,
    busyTimeoutMs: lockWaitMs,
    otherThreads,
    now,
    cascades,
    watchdog,
    checks,
    answerLimits,
  } = settings
  const runsCheckpoints = connection.takeOverCheckpoints()
  return new Writer(
    { model, connection, events },
    {
      ...{
        maxWaiting,
        lockWaitMs,
        lock: otherThreads.lock,
        now,
        health,
        identity,
        cascades,
        reads,
        answerLimits,
        watchdog,
        checks,
      },
      onCommit: ({ changed, removed, hasNoEvent }) => {
        versions.bump(changed)
        orders.bump(removed)
        if (hasNoEvent === undefined) changes.notify('here')
      },
      afterCommit: () => {
        if (runsCheckpoints) checkpoints.run()
      },
    },
  )
}
