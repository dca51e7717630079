/** The store on PostgreSQL 15 and later: as many nodes on one database as are wanted. */
import { ApiError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { Awaitable, CompositeAnswer, ReadAnswer, WriteAnswer } from '../plan/answer.ts'
import type { GuardedCompositeRead, GuardedRead, GuardedWrite } from '../plan/guarded.ts'
import type { Records } from '../records.ts'
import { Answers } from './answers.ts'
import { ChangeLog } from './postgres/change-log.ts'
import { Checks } from './postgres/checks.ts'
import { Cleaning } from './postgres/cleaning.ts'
import { Lineage } from './postgres/lineage.ts'
import { Pool } from './postgres/pool.ts'
import { Positions } from './postgres/positions.ts'
import { Reader } from './postgres/reader.ts'
import { PostgresRecords } from './postgres/records.ts'
import { Replica } from './postgres/replica.ts'
import { Replicas } from './postgres/replicas.ts'
import { locked, unlocked } from './postgres/security.ts'
import { Wire } from './postgres/wire.ts'
import { Writer } from './postgres/writer.ts'
import { preparePostgres } from './schema/postgres-migrate.ts'
import type { Store, StoreCounts } from './store.ts'
import { Versions } from './versions.ts'

export interface ReplicaSettings {
  readonly url: string
  /** It is left out for this reason; undefined: it is used again. */
  readonly onChange?: (trouble: string | undefined) => void
}

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database?sslmode=…` */
  readonly url: string
  /** How many connections this node may hold, to each server. 8 by default; no fewer than 4. */
  readonly connections?: number
  /** Hot standbys that answer reads. */
  readonly replicas?: readonly ReplicaSettings[] | undefined
  /** How long a statement may take, in milliseconds. 10,000 by default. */
  readonly timeout?: number
  /** How much memory remembered answers may take; 0: none is remembered. 64 MiB by default. */
  readonly cacheBytes?: number
  /** Whether what the model only adds is added to the tables at once. True by default. */
  readonly autoMigrate?: boolean
  /** Whether policies made of the model's rules lock the rows. False by default. */
  readonly rowSecurity?: boolean
  /** How long events are kept, in milliseconds. 7 days by default. */
  readonly eventsKept?: number
  /** How many reads, and how many writes, may wait. 10,000 by default. */
  readonly maxWaiting?: number
  /** The time, in milliseconds since 1970. */
  readonly now?: () => number
}

const MIB = 1024 * 1024
const DAY = 24 * 60 * 60 * 1000
/** In milliseconds: how long to wait for a connection, and for the answer to a statement that does nearly nothing. */
const CONNECT = 2000
const QUICK = 1500

/** For what only Portico asks; and for all where no policies lock the rows: a migration beside this node may make some. */
const everything = `; SET portico.service = 'on'`

/** What each kind of connection begins with. */
function settingsOf(timeout: number) {
  const common = `SET timezone = 'UTC'; SET jit = off; SET statement_timeout = ${timeout}; SET idle_in_transaction_session_timeout = ${2 * timeout}`
  return {
    /** All that is asked together sees one snapshot. */
    reading: `${common}; SET default_transaction_isolation = 'repeatable read'; SET default_transaction_read_only = on`,
    /** Each statement sees what was committed before it. Portico reads the log for itself, which policies lock for others. */
    watching: `${common}; SET default_transaction_read_only = on${everything}`,
    writing: `${common}; SET lock_timeout = ${Math.ceil(timeout / 2)}`,
  }
}

/**
 * Opens the database. Rejects with a `MigrationError` when its tables do not fit the model and may not be changed
 * by a start, and with an `ApiError` when it cannot be reached.
 */
export async function openPostgres(model: Model, options: PostgresOptions): Promise<Store> {
  const { url, connections = 8, cacheBytes = 64 * MIB, autoMigrate = true } = options
  const { eventsKept = 7 * DAY, maxWaiting = 10_000, now = Date.now, timeout = 10_000 } = options
  const { replicas: standbys = [], rowSecurity: isLocked = false } = options
  const security = isLocked ? locked : unlocked
  const { reading, watching, writing } = settingsOf(timeout)
  const ask = (): void => void checks.refresh().catch(() => {})
  // Several statements may be sent together, each of which may take its time.
  const answerTimeout = 1.5 * timeout
  const wireTo = (at: string, own: string, onSlow?: () => void) =>
    Wire.open({
      url: at,
      connectTimeout: CONNECT,
      answerTimeout,
      settings: isLocked ? own : `${own}${everything}`,
      isLocked,
      ...(onSlow && { onSlow }),
    })
  const open = (own: string) => () => wireTo(url, own, ask)
  await preparePostgres(url, model, autoMigrate, isLocked)
  const lanes = Math.max(1, Math.floor(connections / 4))
  const pool = new Pool({
    open: open(reading),
    size: Math.max(1, connections - lanes - 1),
    maxWaiting,
  })
  const openWatch = (at: string) =>
    Wire.open({ url: at, connectTimeout: CONNECT, answerTimeout: QUICK, settings: watching })
  const watch = new Pool({
    open: async () => {
      checks.forget()
      lineage.forget()
      const wire = await openWatch(url)
      wire.onClose(() => {
        pool.dropIdle()
        writer.dropIdle()
        ask()
      })
      return wire
    },
    onSilence: () => {
      pool.lose()
      writer.lose()
    },
    size: 1,
    maxWaiting,
  })
  const versions = new Versions()
  const positions = standbys.length > 0 ? new Positions() : undefined
  const checks: Checks = new Checks({
    pool: watch,
    versions,
    positions,
    onChange: () => changes.tell('elsewhere'),
  })
  const changes = new ChangeLog(watch, checks)
  const cleaning = new Cleaning({ eventsKept, now })
  const writer: Writer = new Writer(model, {
    open: open(writing),
    lanes,
    security,
    maxWaiting,
    now,
    atRest: wire => cleaning.clean(wire),
    atCommit: ({ xid, names, quiet }) => {
      checks.committed(xid, names)
      if (!quiet) changes.tell('here')
    },
  })
  const lineage: Lineage = new Lineage(watch, writer)
  const replicaOf = ({ url: at, onChange = () => {} }: ReplicaSettings) =>
    new Replica({
      open: () => wireTo(at, reading),
      openWatch: () => openWatch(at),
      size: Math.max(1, connections - 1),
      maxWaiting,
      lineage,
      news: () => checks.query,
      onChange,
    })
  const replicas = positions && new Replicas({ primary: pool, positions, replicas: standbys.map(replicaOf) })
  const answers = new Answers(cacheBytes)
  const reader = new Reader({ pool, replicas, answers, versions, checks, security })
  const records = new PostgresRecords({ pool, writer, versions, now })
  const store = new OpenStore({ pool, watch, replicas, reader, writer, versions, checks, changes, records })
  try {
    await store.refresh()
  } catch (error) {
    await store.close()
    throw error
  }
  return store
}

interface StoreParts {
  readonly pool: Pool
  readonly watch: Pool
  readonly replicas: Replicas | undefined
  readonly reader: Reader
  readonly writer: Writer
  readonly versions: Versions
  readonly checks: Checks
  readonly changes: ChangeLog
  readonly records: Records
}

class OpenStore implements Store {
  readonly changes: ChangeLog
  readonly records: Records
  readonly replicas: Store['replicas']
  readonly #parts: StoreParts
  #closed = false

  constructor(parts: StoreParts) {
    this.#parts = parts
    this.changes = parts.changes
    this.records = parts.records
    const { replicas } = parts
    this.replicas = replicas && (() => replicas.counts())
  }

  read(plan: GuardedRead): Awaitable<ReadAnswer> {
    this.#requireOpen()
    return this.#parts.reader.read(plan)
  }

  composite(plan: GuardedCompositeRead): Awaitable<CompositeAnswer> {
    this.#requireOpen()
    return this.#parts.reader.read(plan)
  }

  write(plan: GuardedWrite): Promise<WriteAnswer> {
    if (this.#closed) return Promise.reject(stopping())
    return this.#parts.writer.write(plan)
  }

  refresh(): Promise<void> {
    this.#requireOpen()
    return this.#parts.checks.refresh()
  }

  version(collection: string): number {
    this.#requireOpen()
    return this.#parts.versions.cell(collection).value
  }

  counts(): StoreCounts {
    const { hits, misses } = this.#parts.reader.counts
    return { ...this.#parts.writer.counts, answerHits: hits, answerMisses: misses }
  }

  async rewrite(): Promise<void> {}

  ping(): Promise<void> {
    return this.refresh()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const { pool, watch, replicas, writer, changes } = this.#parts
    changes.close()
    await writer.close()
    await Promise.all([pool.close(), watch.close(), replicas?.close()])
  }

  #requireOpen(): void {
    if (this.#closed) throw stopping()
  }
}

function stopping(): ApiError {
  return new ApiError('UNAVAILABLE', 'The service is stopping.')
}
