/** The databases that the store tests run on. Each can open stores and run SQL of its own. */

import { DatabaseSync } from 'node:sqlite'
import type { StatisticsOptions } from '../../../src/engine/store/advice/statistics.ts'
import type { Retention } from '../../../src/engine/store/log/pruning.ts'
import { openPostgres } from '../../../src/engine/store/postgres/postgres.ts'
import type { ReadersOptions } from '../../../src/engine/store/sqlite/settings.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import type { CascadeOptions } from '../../../src/engine/store/write/removal/cascades.ts'
import type { Model } from '../../../src/model/model.ts'
import { chosen } from '../../chosen.ts'
import { withOrdinaryDatabase } from '../../setups/databases/ordinary.ts'
import { query, withPostgres } from '../../setups/databases/postgres.ts'
import { withFile } from './blog.ts'

export interface OpenOptions {
  readonly cacheBytes?: number
  readonly retention?: Partial<Retention>
  readonly maxWaiting?: number
  readonly autoMigrate?: boolean
  /** The reader processes of SQLite; the other databases have none. */
  readonly readers?: ReadersOptions
  readonly now?: () => number
  readonly queries?: StatisticsOptions
  readonly cascades?: CascadeOptions
}

/** An empty database, which is removed after the test. */
export interface TestDatabase {
  /** Its file, or its URL. */
  readonly url: string
  open(model: Model, options?: OpenOptions): Promise<Store>
  /** Returns the rows of a query on another connection. */
  rows(text: string): Promise<Record<string, unknown>[]>
  /** Runs statements on another connection. */
  run(text: string): Promise<void>
}

export interface DatabaseKind {
  readonly name: string
  within<T>(use: (database: TestDatabase) => Promise<T>): Promise<T>
}

function sqliteRows(file: string, text: string): Record<string, unknown>[] {
  const database = new DatabaseSync(file)
  try {
    return database.prepare(text).all()
  } finally {
    database.close()
  }
}

function sqliteExec(file: string, text: string): void {
  const database = new DatabaseSync(file)
  try {
    database.exec(text)
  } finally {
    database.close()
  }
}

/** As in a service, reader processes run the slow statements; the limits are too high to stop any. */
const readers: ReadersOptions = { count: 1, timeoutMs: 60_000, budgetMs: 60_000 }

export const sqlite: DatabaseKind = {
  name: 'SQLite',
  within: use =>
    withFile(file =>
      use({
        url: file,
        open: async (model, options) => openSqlite(model, { file, readers, ...options }),
        rows: async text => sqliteRows(file, text),
        run: async text => sqliteExec(file, text),
      }),
    ),
}

export const postgres: DatabaseKind = {
  name: 'PostgreSQL',
  within: use =>
    withPostgres(url =>
      use({
        url,
        open: (model, { readers: _, ...options } = {}) => openPostgres(model, { url, ...options }),
        rows: text => query(url, text),
        run: async text => void (await query(url, text)),
      }),
    ),
}

export const rowSecurityPostgres: DatabaseKind = {
  name: 'PostgreSQL with row security',
  within: use =>
    withOrdinaryDatabase(({ url, admin }) =>
      use({
        url,
        open: (model, { readers: _, ...options } = {}) =>
          openPostgres(model, { url, rowSecurity: true, ...options }),
        rows: text => query(admin, text),
        run: async text => void (await query(admin, text)),
      }),
    ),
}

export const databaseKinds: readonly DatabaseKind[] = chosen([sqlite, postgres, rowSecurityPostgres])
