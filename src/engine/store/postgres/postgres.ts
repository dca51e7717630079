/** The store on PostgreSQL 15 and later: any number of nodes on one database. */

import type { Awaitable } from '../../../base/awaitable.ts'
import { ApiError, databaseFault, stoppingRefusal } from '../../../base/errors.ts'
import type { Records } from '../../../base/records.ts'
import type { Model } from '../../../model/model.ts'
import type { CompositeAnswer, ReadAnswer, WriteAnswer } from '../../plan/answer.ts'
import type { GuardedCompositeRead, GuardedRead, GuardedWrite } from '../../plan/guarded.ts'
import type { GuardedProgram } from '../../plan/transaction.ts'
import { insightOf } from '../advice/insight.ts'
import { schemaMismatchError } from '../refusals.ts'
import { preparePostgres } from '../schema/postgres/migrate.ts'
import { currentSchema, withConnection } from '../schema/postgres/session.ts'
import type { Store, StoreCounts } from '../store.ts'
import { storageTrouble } from './connections/failure.ts'
import { type PostgresOptions, postgresSettings } from './connections/settings.ts'
import type { ChangeLog } from './log/change-log.ts'
import { openLog, raiseLog } from './log/opening.ts'
import { partsOf, type StoreParts } from './parts.ts'

/**
 * Opens the database. Rejects with a `MigrationError` if its tables do not fit the model and a start may not change them,
 * and with an `ApiError` if the database cannot be reached.
 */
export async function openPostgres(model: Model, options: PostgresOptions): Promise<Store> {
  const settings = postgresSettings(options)
  const { url, autoMigrate, rowSecurity } = settings
  await preparePostgres(url, model, { autoMigrate, rowSecurity, onSurplus: options.onSurplus })
  const schema = await withConnection(url, async client => {
    await openLog(client, settings.now)
    return currentSchema(client)
  })
  const parts = partsOf(model, settings, schema)
  const store = new OpenStore(parts)
  try {
    await store.ping()
    await parts.fit.remember()
  } catch (error) {
    await store.close()
    throw error
  }
  return store
}

/**
 * Raises the event numbers of a restored database, as a start does. For a restored database that a start cannot tell from
 * the one that it replaces.
 */
export function raisePostgresLog(url: string): Promise<void> {
  return withConnection(url, client => raiseLog(client, Date.now))
}

class OpenStore implements Store {
  readonly changes: ChangeLog
  readonly records: Records
  readonly replicas: Store['replicas']
  readonly queries: Store['queries']
  readonly #parts: StoreParts
  #closed = false

  constructor(parts: StoreParts) {
    this.#parts = parts
    this.changes = parts.changes
    this.records = parts.records
    this.queries = insightOf(parts.statistics)
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
    if (this.#closed) return Promise.reject(stoppingRefusal())
    return this.#parts.writer.write(plan)
  }

  transaction<T>(program: GuardedProgram<T>): Promise<T> {
    if (this.#closed) return Promise.reject(stoppingRefusal())
    return this.#parts.writer.transaction(program, this.#parts.records)
  }

  refresh(): Awaitable<void> {
    this.#requireOpen()
    return this.#parts.checks.refresh()
  }

  version(collection: string): number {
    this.#requireOpen()
    return this.#parts.versions.cell(collection).value
  }

  counts(): StoreCounts {
    const { hits, misses } = this.#parts.reader.counts
    return { ...this.#parts.writer.counts, answerHits: hits, answerMisses: misses, failedCheckpoints: 0 }
  }

  ping(): Promise<void> {
    this.#requireOpen()
    return this.#parts.checks.poll()
  }

  async check(): Promise<void> {
    await this.ping().catch(withReason)
    const { fit, health, writer } = this.#parts
    if (!(await fit.isFit().catch(withReason))) throw schemaMismatchError()
    if (!health.isProven) await writer.confirm().catch(withReason)
  }

  trouble(): undefined {}

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#parts.statistics?.close()
    const { pool, watch, replicas, writer, changes, idlePruning } = this.#parts
    changes.close()
    await idlePruning.close()
    await writer.close()
    await Promise.all([pool.close(), watch.close(), replicas?.close()])
  }

  #requireOpen(): void {
    if (this.#closed) throw stoppingRefusal()
  }
}

/** Errors in normal operation, such as those of a stopping service, already say why. */
function withReason(cause: unknown): never {
  if (cause instanceof ApiError && cause.isExpected) throw cause
  throw databaseFault(cause, storageTrouble(cause))
}
