/** The databases that the store tests run on. Each can open stores and run SQL of its own. */

import { DatabaseSync } from 'node:sqlite'
import type { StatisticsOptions } from '../../../src/engine/store/advice/statistics.ts'
import type { Retention } from '../../../src/engine/store/log/pruning.ts'
import { openPostgres } from '../../../src/engine/store/postgres/postgres.ts'
import type { ReadersOptions } from '../../../src/engine/store/sqlite/settings.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import type { ReadingChecks } from '../../../src/engine/store/write/model-code.ts'
import type { CascadeOptions } from '../../../src/engine/store/write/removal/cascades.ts'
import type { Model } from '../../../src/model/model.ts'
import { chosen, inWhole } from '../../chosen.ts'
import {
  type PlannedDatabase,
  plannedDatabase,
  plannedOrdinaryDatabase,
} from '../../setups/databases/copied.ts'
import { query } from '../../setups/databases/postgres.ts'
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
  readonly checks?: ReadingChecks
}

/** An empty database, which is removed after the test. */
export interface TestDatabase {
  /** Its file, or its URL. */
  readonly url: string
  /** Creates it without tables, for stores that a test opens by its URL. `open`, `rows` and `run` create it themselves. */
  create(): Promise<void>
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
        create: async () => undefined,
        open: async (model, options) => openSqlite(model, { file, readers, ...options }),
        rows: async text => sqliteRows(file, text),
        run: async text => sqliteExec(file, text),
      }),
    ),
}

function postgresKind(
  name: string,
  plan: () => Promise<PlannedDatabase>,
  rowSecurity: boolean,
): DatabaseKind {
  return {
    name,
    async within(use) {
      const { url, admin, create, drop } = await plan()
      const existing = async () => {
        await create()
        return admin
      }
      try {
        return await use({
          url,
          create: () => create(),
          async open(model, { readers: _, ...options } = {}) {
            await create(options.autoMigrate === false ? undefined : model)
            return openPostgres(model, { url, rowSecurity, ...options })
          },
          rows: async text => query(await existing(), text),
          run: async text => void (await query(await existing(), text)),
        })
      } finally {
        await drop()
      }
    },
  }
}

export const postgres = postgresKind('PostgreSQL', plannedDatabase, false)

export const rowSecurityPostgres = postgresKind('PostgreSQL with row security', plannedOrdinaryDatabase, true)

/** For tests whose processes open the database themselves, without row security. */
export const plainDatabaseKinds: readonly DatabaseKind[] = chosen([sqlite, postgres])

/** Row security adds policies to what PostgreSQL does without. Rules are tested on both (`test/api/contract`, `test/system/matrix`). */
export const databaseKinds: readonly DatabaseKind[] = chosen([
  sqlite,
  ...inWhole(postgres),
  rowSecurityPostgres,
])
