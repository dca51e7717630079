/** The parts of a store on PostgreSQL, each created from those before it. */
import { EventEmitter } from 'node:events'
import type { Model } from '../../../model/model.ts'
import { withStatistics } from '../advice/observed.ts'
import { QueryStatistics } from '../advice/statistics.ts'
import { createHold } from '../log/holds.ts'
import { IdlePruning } from '../log/idle-pruning.ts'
import { Answers } from '../read/answers.ts'
import { listCacheOptions } from '../read/list-cache.ts'
import { Reader } from '../read/reader.ts'
import { PostgresFit } from '../schema/postgres/fit.ts'
import { withConnection } from '../schema/postgres/session.ts'
import { Versions } from '../versions.ts'
import { WriteHealth } from '../write-health.ts'
import type { Connection } from './connections/connection.ts'
import { Connector, lockWaitOf } from './connections/connector.ts'
import { Pool } from './connections/pool.ts'
import type { PostgresSettings } from './connections/settings.ts'
import { statementOf } from './connections/statement.ts'
import { ChangeLog } from './log/change-log.ts'
import { Cleaning } from './log/cleaning.ts'
import { isOpenFor, openLog } from './log/opening.ts'
import { LogPruning } from './log/pruning.ts'
import { postgresPlanReader } from './read/explain.ts'
import { PostgresReads, type ReadSource } from './read/reads.ts'
import { PostgresRecords } from './records.ts'
import { Replicas } from './replicas/replicas.ts'
import { createSecurity, noSecurity, type Security } from './row-security/security.ts'
import { SecuredWrites } from './row-security/writes.ts'
import { Checks } from './versions/checks.ts'
import { CacheLease } from './versions/lease.ts'
import { PostgresWrites } from './write/database.ts'
import { TransactionReads } from './write/transaction.ts'
import { Writer } from './write/writer.ts'

export interface StoreParts {
  readonly pool: Pool
  readonly watch: Pool
  readonly replicas: Replicas | undefined
  readonly reader: Pick<Reader, 'read' | 'counts'>
  readonly writer: Writer
  readonly versions: Versions
  readonly checks: Checks
  readonly changes: ChangeLog
  readonly records: PostgresRecords
  readonly health: WriteHealth
  readonly fit: PostgresFit
  readonly statistics: QueryStatistics | undefined
  readonly idlePruning: IdlePruning
}

/** Signals from connections to the parts that are created after them. */
interface Signals {
  /** The watching connection opens: another server may answer. */
  readonly opening: []
  /** The watching connection was lost. */
  readonly lost: []
  /** The database neither answers nor refuses the connection. */
  readonly silent: []
  /** An answer takes long. */
  readonly slow: []
  /** A commit of another node was noticed. */
  readonly change: []
}

/** `schema`: that of all tables. */
export function partsOf(model: Model, settings: PostgresSettings, schema: string | undefined): StoreParts {
  const { url, rowSecurity, timeoutMs, lanes, maxWaiting, now, clock } = settings
  const signals = new EventEmitter<Signals>()
  const security = rowSecurity ? createSecurity(clock) : noSecurity
  const connector = new Connector({ timeoutMs, schema, rowSecurity, onSlow: () => signals.emit('slow') })
  const versions = new Versions()
  const replicas = settings.replicas.length > 0 ? new Replicas() : undefined
  const watch = watchOf(settings, connector, signals)
  const onChange = () => signals.emit('change')
  const lease = new CacheLease()
  const checks = new Checks({ pool: watch, versions, lease, observer: replicas, onChange })
  const pruning = new LogPruning(settings)
  const changes: ChangeLog = new ChangeLog({
    pool: watch,
    checks,
    hold: createHold(statementOf, (steps, key) => writer.work(steps, key)),
    metrics: pruning.metrics,
  })
  const size = Math.max(1, settings.connections - lanes - 1)
  const pool = new Pool({ open: () => connector.openReader(url), size, maxWaiting, waitMs: timeoutMs })
  const health = new WriteHealth()
  const lists = listCacheOptions({
    versions,
    keepsTotals: settings.cacheBytes > 0,
    isPersonal: security.isOn,
  })
  const statistics =
    settings.queries && new QueryStatistics(model, postgresPlanReader(pool, security), settings.queries)
  const transactionReads = new TransactionReads(security, lists, statistics)
  const writer = writerOf(model, settings, {
    ...{ connector, security, lease, checks, changes, health, pruning, reads: transactionReads },
  })
  const idlePruning = idlePruningOf(settings, { connector, watch, pruning })
  listen(signals, { checks, changes, pool, writer, health })
  replicas?.open({ settings, connector, primary: pool, watch, writer, checks })
  const answers = new Answers(settings.cacheBytes)
  const primary: ReadSource = { ask: (queries, { waitingCallers }) => pool.ask(queries, { waitingCallers }) }
  const reads = new PostgresReads({
    ...{ answers, answerLimits: settings.answerLimits, lists, checks, security, primary, clock },
    source: replicas ?? primary,
  })
  const reader = withStatistics(new Reader(reads), statistics)
  const records = new PostgresRecords({ pool, writer, versions, now })
  const fit = new PostgresFit({ url, schema, model, pool: watch })
  return {
    pool,
    watch,
    replicas,
    reader,
    writer,
    versions,
    checks,
    changes,
    records,
    health,
    fit,
    statistics,
    idlePruning,
  }
}

/** The connection that checks for commits, and whether the database can be reached. */
function watchOf(
  { url, maxWaiting }: PostgresSettings,
  connector: Connector,
  signals: EventEmitter<Signals>,
): Pool {
  return new Pool({
    open: async () => {
      signals.emit('opening')
      const connection = await connector.openWatcher(url)
      connection.onClose(() => signals.emit('lost'))
      return connection
    },
    onSilence: () => signals.emit('silent'),
    size: 1,
    maxWaiting,
  })
}

interface WriterParts {
  readonly connector: Connector
  readonly security: Security
  readonly lease: CacheLease
  readonly checks: Checks
  readonly changes: ChangeLog
  readonly health: WriteHealth
  readonly reads: TransactionReads
  readonly pruning: LogPruning
}

function writerOf(
  model: Model,
  settings: PostgresSettings,
  { connector, security, lease, checks, changes, health, pruning, reads }: WriterParts,
): Writer {
  const { url, lanes, timeoutMs, maxWaiting, now, clock, cascades, code, answerLimits } = settings
  const cleaning = new Cleaning({ log: pruning, now })
  return new Writer(security.isOn ? new SecuredWrites(model, code) : new PostgresWrites(model, code), {
    open: () => openForLog(url, connector, now),
    lease,
    lanes,
    timeoutMs,
    lockWaitMs: lockWaitOf(timeoutMs),
    security,
    reads,
    maxWaiting,
    health,
    now,
    clock,
    cascades,
    answerLimits,
    betweenGroups: connection => cleaning.clean(connection),
    onCommit: ({ xid, names, hasNoEvent }) => {
      checks.committed(xid, names)
      if (!hasNoEvent) changes.notify('here')
    },
  })
}

interface IdleParts {
  readonly connector: Connector
  readonly watch: Pool
  readonly pruning: LogPruning
}

/** Without a lease: no item and no record changes. */
function idlePruningOf(
  { url, retention }: PostgresSettings,
  { connector, watch, pruning }: IdleParts,
): IdlePruning {
  const step = async () => {
    const prunable = await pruning.inspect(queries => watch.ask(queries))
    if (prunable === undefined) return false
    const connection = await connector.openWriter(url)
    try {
      return (await pruning.prune(connection, prunable)) > 0
    } finally {
      await connection.close()
    }
  }
  return new IdlePruning({ intervalMs: retention.idleMs, step })
}

/** Opens a connection that writes: after a failover, the log of the new server may have lost events. */
async function openForLog(url: string, connector: Connector, now: () => number): Promise<Connection> {
  const connection = await connector.openWriter(url)
  try {
    if (!(await isOpenFor(connection)))
      await withConnection(url, client => openLog(client, now), connector.schema)
    return connection
  } catch (cause) {
    connection.destroy()
    throw cause
  }
}

type ListeningParts = Pick<StoreParts, 'checks' | 'changes' | 'pool' | 'writer' | 'health'>

function listen(signals: EventEmitter<Signals>, parts: ListeningParts): void {
  const { checks, changes, pool, writer, health } = parts
  const check = (): void => void checks.poll().catch(() => {})
  signals.on('opening', () => checks.forget())
  signals.on('lost', () => {
    health.recordFailure()
    pool.dropIdle()
    writer.dropIdle()
    check()
  })
  signals.on('silent', () => {
    pool.disconnect()
    writer.lose()
  })
  signals.on('slow', check)
  signals.on('change', () => changes.notify('elsewhere'))
}
