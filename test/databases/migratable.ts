/** Databases that are brought from one model to another, each by its own code, for tests that both must pass. */
import { DatabaseSync } from 'node:sqlite'
import type { Model } from '../../src/model/model.ts'
import type { Step } from '../../src/store/schema/diff.ts'
import {
  applyPostgres,
  planPostgres,
  postgresSchemaSql,
  preparePostgres,
} from '../../src/store/schema/postgres-migrate.ts'
import { applyMigration, openSqlite, planMigration, schemaSql } from '../../src/store/sqlite.ts'
import { withFile } from '../store/blog.ts'
import { query, withPostgres } from './postgres.ts'

type Target = { readonly allowDestructive: boolean }

export interface Migratable {
  readonly name: 'SQLite' | 'PostgreSQL'
  /** Runs `use` with the place of a database that is not there, or empty. */
  withEmpty(use: (at: string) => Promise<void>): Promise<void>
  /** What a start does. */
  start(at: string, model: Model, autoMigrate?: boolean): Promise<void>
  plan(at: string, model: Model): Promise<readonly Step[]>
  apply(at: string, model: Model, target: Target): Promise<readonly Step[]>
  /** Runs statements; the rows of the last. */
  rows(at: string, text: string): Promise<unknown[][]>
  /** Everything in it, as text. */
  dump(at: string): Promise<string>
  /** The statements that make it. */
  print(model: Model): string
}

export const sqlite: Migratable = {
  name: 'SQLite',
  withEmpty: withFile,
  start: async (file, model, autoMigrate = true) => {
    await openSqlite(model, { file, autoMigrate }).close()
  },
  plan: async (file, model) => planMigration(file, model),
  apply: async (file, model, target) => applyMigration(file, model, target),
  rows: async (file, text) => sqliteRows(file, text),
  dump: async file => {
    const schema = sqliteRows(file, 'SELECT name, sql FROM sqlite_schema ORDER BY name')
    const tables = sqliteRows(file, `SELECT name FROM pragma_table_list WHERE type = 'table' ORDER BY name`)
    const rows = tables.map(([name]) => [name, sqliteRows(file, `SELECT * FROM "${name}"`)])
    return JSON.stringify([schema, rows])
  },
  print: schemaSql,
}

function sqliteRows(file: string, text: string): unknown[][] {
  const database = new DatabaseSync(file)
  try {
    const all = text.split(/;\s*(?=\S)/)
    for (const each of all.slice(0, -1)) database.exec(each)
    return database
      .prepare(all.at(-1) ?? '')
      .all()
      .map(row => Object.values(row))
  } finally {
    database.close()
  }
}

const definitions = `
  SELECT c.relname AS "on", a.attname AS "name", format_type(a.atttypid, a.atttypmod) || a.attnotnull || coalesce(pg_get_expr(d.adbin, d.adrelid), '') AS "is"
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'public'::regnamespace
  UNION ALL SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) || convalidated FROM pg_constraint WHERE connamespace = 'public'::regnamespace
  UNION ALL SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
  UNION ALL SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
  ORDER BY 1, 2, 3`

async function postgresRows(url: string, text: string): Promise<unknown[][]> {
  return (await query(url, text)).map(row => Object.values(row))
}

export const postgres: Migratable = {
  name: 'PostgreSQL',
  withEmpty: withPostgres,
  start: (url, model, autoMigrate = true) => preparePostgres(url, model, autoMigrate),
  plan: planPostgres,
  apply: applyPostgres,
  rows: postgresRows,
  dump: async url => {
    const schema = await query(url, definitions)
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
