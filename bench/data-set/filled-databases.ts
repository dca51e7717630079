/** An SQLite file and a PostgreSQL database, filled by SQL, for measurements of the store alone. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openPostgres } from '../../src/engine/store/postgres/postgres.ts'
import { openSqlite } from '../../src/engine/store/sqlite/sqlite.ts'
import type { Store } from '../../src/engine/store/store.ts'
import type { Model } from '../../src/model/model.ts'
import { query } from '../../test/setups/databases/postgres.ts'
import { PostgresServer } from '../../test/setups/databases/postgres-server.ts'

export interface FilledDatabase {
  readonly name: 'SQLite' | 'PostgreSQL'
  /** Opens the store without caches, and creates missing tables. */
  open(model: Model): Promise<Store>
  /** Runs statements, separated by semicolons, and updates the planner's statistics. */
  fill(statements: string): Promise<void>
  /** The source of a SELECT: the numbers 1 to `rows` as `n`. */
  numbers(rows: number): string
}

/** Returns the results of `use` for each of the two, which are then removed. */
export async function onBothDatabases<T>(
  use: (database: FilledDatabase) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-bench-'))
  const server = new PostgresServer()
  try {
    await server.start()
    const file = join(folder, 'data.db')
    return [...(await use(onSqlite(file))), ...(await use(onPostgres(server.url)))]
  } finally {
    await server.remove()
    rmSync(folder, { recursive: true })
  }
}

function onSqlite(file: string): FilledDatabase {
  return {
    name: 'SQLite',
    open: async model => openSqlite(model, { file, cacheBytes: 0, autoMigrate: true }),
    async fill(statements) {
      const database = new DatabaseSync(file)
      database.exec(`${statements}; ANALYZE`)
      database.close()
    },
    numbers: rows =>
      `(WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < ${rows}) SELECT n FROM g)`,
  }
}

function onPostgres(url: string): FilledDatabase {
  return {
    name: 'PostgreSQL',
    open: model => openPostgres(model, { url, cacheBytes: 0, autoMigrate: true }),
    async fill(statements) {
      await query(url, statements)
      await query(url, 'VACUUM ANALYZE')
    },
    numbers: rows => `generate_series(1, ${rows}) n`,
  }
}
