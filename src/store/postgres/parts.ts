/** The parts of a store on PostgreSQL, each made of those before it. */
import { EventEmitter } from 'node:events'
import type { Model } from '../../model/model.ts'
import type { Records } from '../../records.ts'
import { observed } from '../advice/observed.ts'
import { QueryStatistics } from '../advice/statistics.ts'
import { Answers } from '../answers.ts'
import { PostgresFit } from '../schema/postgres-fit.ts'
import { Versions } from '../versions.ts'
import { WriteHealth } from '../write-health.ts'
import { ChangeLog } from './change-log.ts'
import { Checks } from './checks.ts'
import { Cleaning } from './cleaning.ts'
import { Connections, lockWaitOf } from './connections.ts'
import { postgresExplainer } from './explain.ts'
import { Lease } from './lease.ts'
import { Lineage } from './lineage.ts'
import { Pool } from './pool.ts'
import { Positions } from './positions.ts'
import { Reader } from './reader.ts'
import { PostgresRecords } from './records.ts'
import { Replica } from './replica.ts'
import { Replicas } from './replicas.ts'
import { locked, type Security, unlocked } from './security.ts'
import type { Settings } from './settings.ts'
import { Writer } from './writer.ts'

export interface StoreParts {
  readonly pool: Pool
  readonly watch: Pool
  readonly replicas: Replicas | undefined
  readonly reader: Pick<Reader, 'read' | 'counts'>
  readonly writer: Writer
  readonly versions: Versions
  readonly checks: Checks
  readonly changes: ChangeLog
  readonly records: Records
  readonly health: WriteHealth
  readonly fit: PostgresFit
  readonly statistics: QueryStatistics | undefined
}

/** What connections tell those parts that are made after them. */
interface Signals {
  /** The one that watches opens: another server may answer it. */
  readonly opening: []
  /** It was lost. */
  readonly lost: []
  /** The database neither answers nor refuses it. */
  readonly silent: []
  /** An answer takes long. */
  readonly slow: []
  /** Something was committed that this node had not noticed. */
  readonly change: []
}

export function partsOf(model: Model, settings: Settings): StoreParts {
  const { url, rowSecurity, timeout, lanes, maxWaiting, now } = settings
  const signals = new EventEmitter<Signals>()
  const security = rowSecurity ? locked : unlocked
  const connect = new Connections({ timeout, isLocked: rowSecurity, onSlow: () => signals.emit('slow') })
  const versions = new Versions()
  const positions = settings.replicas.length > 0 ? new Positions() : undefined
  const watch = watchOf(settings, connect, signals)
  const onChange = () => signals.emit('change')
  const lease = new Lease()
  const checks = new Checks({ pool: watch, versions, lease, positions, onChange })
  const changes = new ChangeLog(watch, checks)
  const size = Math.max(1, settings.connections - lanes - 1)
  const pool = new Pool({ open: () => connect.reading(url), size, maxWaiting, lockWaitMs: timeout })
  const health = new WriteHealth()
  const writer = writerOf(model, settings, { connect, security, lease, checks, changes, health })
  const lineage = new Lineage(watch, writer)
  listen(signals, { checks, changes, pool, writer, lineage, health })
  const replicas = positions && replicasOf(settings, { connect, positions, pool, lineage, checks })
  const answers = new Answers(settings.cacheBytes)
  const statistics =
    settings.queries && new QueryStatistics(model, postgresExplainer(pool, security), settings.queries)
  const reader = observed(new Reader({ pool, replicas, answers, versions, checks, security }), statistics)
  const records = new PostgresRecords({ pool, writer, versions, now })
  const fit = new PostgresFit(url, model, watch)
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
  }
}

/** The connection that tells what was committed, and whether the database is there. */
function watchOf({ url, maxWaiting }: Settings, connect: Connections, signals: EventEmitter<Signals>): Pool {
  return new Pool({
    open: async () => {
      signals.emit('opening')
      const wire = await connect.watching(url)
      wire.onClose(() => signals.emit('lost'))
      return wire
    },
    onSilence: () => signals.emit('silent'),
    size: 1,
    maxWaiting,
  })
}

interface WriterParts {
  readonly connect: Connections
  readonly security: Security
  readonly lease: Lease
  readonly checks: Checks
  readonly changes: ChangeLog
  readonly health: WriteHealth
}

function writerOf(
  model: Model,
  settings: Settings,
  { connect, security, lease, checks, changes, health }: WriterParts,
): Writer {
  const { url, lanes, timeout, maxWaiting, now, onCascade } = settings
  const cleaning = new Cleaning(settings)
  return new Writer(model, {
    open: () => connect.writing(url),
    lease,
    lanes,
    patience: timeout,
    lockWaitMs: lockWaitOf(timeout),
    security,
    maxWaiting,
    health,
    now,
    onCascade,
    atRest: wire => cleaning.clean(wire),
    atCommit: ({ xid, names, quiet }) => {
      checks.committed(xid, names)
      if (!quiet) changes.tell('here')
    },
  })
}

type Listening = Pick<StoreParts, 'checks' | 'changes' | 'pool' | 'writer' | 'health'> & {
  readonly lineage: Lineage
}

function listen(signals: EventEmitter<Signals>, parts: Listening): void {
  const { checks, changes, pool, writer, lineage, health } = parts
  const ask = (): void => void checks.look().catch(() => {})
  signals.on('opening', () => {
    checks.forget()
    lineage.forget()
  })
  signals.on('lost', () => {
    health.suspect()
    pool.dropIdle()
    writer.dropIdle()
    ask()
  })
  signals.on('silent', () => {
    pool.lose()
    writer.lose()
  })
  signals.on('slow', ask)
  signals.on('change', () => changes.tell('elsewhere'))
}

interface ReplicaParts {
  readonly connect: Connections
  readonly positions: Positions
  readonly pool: Pool
  readonly lineage: Lineage
  readonly checks: Checks
}

function replicasOf(
  settings: Settings,
  { connect, positions, pool, lineage, checks }: ReplicaParts,
): Replicas {
  const { connections, maxWaiting } = settings
  const replicas = settings.replicas.map(
    ({ url, onChange = () => {} }) =>
      new Replica({
        open: () => connect.replica(url),
        openWatch: () => connect.watching(url),
        size: Math.max(1, connections - 1),
        maxWaiting,
        lineage,
        news: () => checks.query,
        onChange,
      }),
  )
  return new Replicas({ primary: pool, positions, replicas })
}
