/** Migrations of SQLite and PostgreSQL behind one interface, for tests that both must pass. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { openPostgres } from '../../../src/engine/store/postgres/postgres.ts'
import type { MigrationStep } from '../../../src/engine/store/schema/diff.ts'
import {
  applyPostgres,
  planPostgres,
  postgresSchemaSql,
} from '../../../src/engine/store/schema/postgres/migrate.ts'
import {
  applyMigration,
  openSqlite,
  planMigration,
  schemaSql,
} from '../../../src/engine/store/sqlite/sqlite.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import type { Model } from '../../../src/model/model.ts'
import { chosen } from '../../chosen.ts'
import { withFile } from '../../engine/store/blog.ts'
import { query, withPostgres } from './postgres.ts'

type OnSurplus = (sentences: readonly string[]) => void

interface ApplyOptions {
  readonly allowDestructive: boolean
}

export interface MigrationDatabase {
  readonly name: 'SQLite' | 'PostgreSQL'
  /** Runs `use` with the file or URL of a missing or empty database. */
  withEmpty(use: (location: string) => Promise<void>): Promise<void>
  /** Opens a store, as a start does. */
  open(location: string, model: Model, autoMigrate?: boolean, onSurplus?: OnSurplus): Promise<Store>
  plan(location: string, model: Model): Promise<readonly MigrationStep[]>
  apply(location: string, model: Model, options: ApplyOptions): Promise<readonly MigrationStep[]>
  run(location: string, text: string): Promise<void>
  rows(location: string, text: string): Promise<unknown[][]>
  /** Throws if the database's own checks find an error. */
  assertConsistent(location: string): Promise<void>
  /** The tables that these tables reference. */
  targets(location: string, tables: readonly string[]): Promise<readonly string[]>
  /** The definitions of all tables, without those that a migration has only prepared. */
  schemaText(location: string): Promise<string>
  /** When to kill a migration of 30,000 rows, in milliseconds after its start. */
  readonly killAfterMs: readonly number[]
  /** The schema and all rows, as text. */
  dump(location: string): Promise<string>
  /** The statements that create the database. */
  print(model: Model): string
}

const sqlite: MigrationDatabase = {
  name: 'SQLite',
  withEmpty: withFile,
  open: async (file, model, autoMigrate = true, onSurplus) =>
    openSqlite(model, { file, autoMigrate, onSurplus }),
  plan: async (file, model) => planMigration(file, model),
  apply: async (file, model, options) => applyMigration(file, model, options),
  run: async (file, text) => onSqlite(file, database => database.exec(text)),
  rows: async (file, text) => sqliteRows(file, text),
  assertConsistent: async file => {
    assert.deepEqual(sqliteRows(file, 'PRAGMA integrity_check'), [['ok']])
    assert.deepEqual(sqliteRows(file, 'PRAGMA foreign_key_check'), [])
  },
  schemaText: async file =>
    JSON.stringify(sqliteRows(file, 'SELECT type, name, sql FROM sqlite_schema ORDER BY name')),
  killAfterMs: [1, 5, 15, 30, 50, 80],
  targets: async (file, tables) =>
    tables.flatMap(table =>
      sqliteRows(file, `SELECT "table" FROM pragma_foreign_key_list('${table}')`).map(([name]) =>
        String(name),
      ),
    ),
  dump: async file => {
    if (!existsSync(file)) return ''
    const schema = sqliteRows(file, 'SELECT name, sql FROM sqlite_schema ORDER BY name')
    const tables = sqliteRows(file, `SELECT name FROM pragma_table_list WHERE type = 'table' ORDER BY name`)
    const rows = tables.map(([name]) => [name, sqliteRows(file, `SELECT * FROM "${name}"`)])
    return JSON.stringify([schema, rows])
  },
  print: schemaSql,
}

function onSqlite<T>(file: string, use: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(file)
  try {
    return use(database)
  } finally {
    database.close()
  }
}

function sqliteRows(file: string, text: string): unknown[][] {
  return onSqlite(file, database =>
    database
      .prepare(text)
      .all()
      .map(row => Object.values(row)),
  )
}

/** The definitions of columns, constraints, indexes and triggers. */
const definitions = `
  SELECT c.relname AS "on", a.attname AS "name", format_type(a.atttypid, a.atttypmod) || a.attnotnull || coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '') AS "is"
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
  UNION ALL SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) || convalidated FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'p'
  UNION ALL SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND indexname NOT LIKE '%pkey'
  UNION ALL SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
  ORDER BY 1, 2, 3`

/** Invalid indexes, unvalidated constraints, and leftovers of migrations. */
const inconsistencies = `
  SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid
  UNION ALL SELECT conname FROM pg_constraint WHERE NOT convalidated
  UNION ALL SELECT relname FROM pg_class WHERE relname LIKE '\\_new\\_%'
  UNION ALL SELECT conname FROM pg_constraint WHERE conname LIKE '\\_new\\_%'`

async function postgresRows(url: string, text: string): Promise<unknown[][]> {
  return (await query(url, text)).map(row => Object.values(row))
}

export const postgres: MigrationDatabase = {
  name: 'PostgreSQL',
  withEmpty: withPostgres,
  open: (url, model, autoMigrate = true, onSurplus) =>
    openPostgres(model, { url, autoMigrate, onSurplus, connections: 4 }),
  plan: planPostgres,
  apply: applyPostgres,
  run: async (url, text) => void (await query(url, text)),
  rows: postgresRows,
  assertConsistent: async url => {
    assert.deepEqual(await postgresRows(url, inconsistencies), [])
  },
  schemaText: async url => (await definitionsOf(url)).filter(line => !line.includes('_new_')).join('\n'),
  killAfterMs: [50, 150, 300, 600, 1000, 1400],
  targets: async (url, tables) => {
    const text = `SELECT confrelid::regclass::text FROM pg_constraint WHERE contype = 'f' AND conrelid::regclass::text = ANY ($1)`
    return (await query(url, text, [tables])).flatMap(row => Object.values(row).map(String))
  },
  dump: async url => {
    const schema = await definitionsOf(url)
    const tables = await query(
      url,
      `SELECT tablename AS n FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
    )
    const rows: unknown[] = []
    for (const { n } of tables)
      rows.push([n, await query(url, `SELECT t::text AS row FROM "${n}" t ORDER BY 1`)])
    return JSON.stringify([schema, rows])
  },
  print: postgresSchemaSql,
}

/** The definitions of everything in a PostgreSQL database. */
export async function definitionsOf(url: string): Promise<string[]> {
  return (await query(url, definitions)).map(row => Object.values(row).join(' '))
}

export const migrationDatabases: readonly MigrationDatabase[] = chosen([sqlite, postgres])
