/** Stores whose tables are filled by SQL, and access to the stored rows. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import pg from 'pg'
import { indexedTerms } from '../../../src/engine/plan/text-search.ts'
import { openPostgres } from '../../../src/engine/store/postgres/postgres.ts'
import { searchTable } from '../../../src/engine/store/sql/dialect.ts'
import { allTermsColumn } from '../../../src/engine/store/sql/postgres.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import type { StoredValue } from '../../../src/model/fields/encoding.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Collection, Field, Model } from '../../../src/model/model.ts'
import { chosen } from '../../chosen.ts'
import { rowSecurityDatabase } from './ordinary.ts'
import { preparedDatabase } from './prepared.ts'
import { openNodes } from './round-robin.ts'

export type Row = Readonly<Record<string, JsonValue>>
export type Data = Readonly<Record<string, readonly Row[]>>

export interface OpenSeededStore {
  readonly store: Store
  /** The URL of the superuser; the file on SQLite. */
  readonly admin: string
  /** All rows by collection, ordered by id. */
  dump(): Promise<Data>
  events(): Promise<unknown[]>
  /** The highest id ever used. */
  lastId(collection: string): Promise<number>
}

export interface SeededStore {
  readonly name: string
  /** The share of the models to test with: the slower the store, the smaller. */
  readonly share: number
  /** Runs `use` with a store whose tables contain `data`, without checking references. */
  within(
    model: Model,
    data: Data,
    use: (seeded: OpenSeededStore) => Promise<void>,
    now?: () => number,
  ): Promise<void>
}

function columnsOf(row: Row): string {
  return Object.keys(row)
    .map(column => `"${column}"`)
    .join()
}

function parseRow({ fields }: Collection, row: Record<string, unknown>): Row {
  return Object.fromEntries([...fields.values()].map(field => [field.name, decode(field, row[field.name])]))
}

function decode({ type }: Field, value: unknown): JsonValue {
  if (value === null) return null
  // The PostgreSQL client has already parsed booleans and documents.
  if (typeof value === 'boolean' || typeof value === 'object') return value as JsonValue
  return type.encoding.decode(value as StoredValue) ?? null
}

function textOf(field: Field | undefined, value: JsonValue): JsonValue {
  return field?.type.isDocument && value !== null ? JSON.stringify(value) : value
}

// --- SQLite

async function withinSqlite(
  model: Model,
  data: Data,
  use: (seeded: OpenSeededStore) => Promise<void>,
  now = Date.now,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-seeded-'))
  const file = join(folder, 'data.db')
  // Few enough that the small data of tests is read in every way.
  const store = openSqlite(model, { file, now, walkedRows: 2 })
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: false })
  try {
    database.exec('PRAGMA synchronous = OFF; BEGIN')
    for (const collection of model.collections.values()) fillSqlite(database, collection, data)
    database.exec('COMMIT')
    await use({
      store,
      admin: file,
      dump: async () =>
        Object.fromEntries(
          [...model.collections].map(([name, collection]) => {
            const rows = database.prepare(`SELECT * FROM "${name}" ORDER BY id`).all()
            return [name, rows.map(row => parseRow(collection, row))]
          }),
        ),
      events: async () => database.prepare('SELECT * FROM _events ORDER BY id').all(),
      lastId: async name =>
        Number(database.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?').get(name)?.seq ?? 0),
    })
  } finally {
    database.close()
    await store.close()
    rmSync(folder, { recursive: true })
  }
}

function fillSqlite(database: DatabaseSync, { name, fields, searchable }: Collection, data: Data): void {
  const placeholders = (count: number) => Array.from({ length: count }, () => '?').join()
  for (const row of data[name] ?? []) {
    const values = Object.entries(row).map(([column, value]): SQLInputValue => {
      const text = textOf(fields.get(column), value)
      return typeof text === 'boolean' ? Number(text) : (text as SQLInputValue)
    })
    database
      .prepare(`INSERT INTO "${name}" (${columnsOf(row)}) VALUES (${placeholders(values.length)})`)
      .run(...values)
    if (searchable.length === 0) continue
    const columns = searchable.map(field => `"${field.name}"`).join()
    const terms = searchable.map(field => indexedTerms(String(row[field.name] ?? '')).join(' '))
    database
      .prepare(
        `INSERT INTO "${searchTable(name)}" (rowid, ${columns}) VALUES (${placeholders(terms.length + 1)})`,
      )
      .run(Number(row.id), ...terms)
  }
}

// --- PostgreSQL

function withinPostgres(nodes: number): SeededStore['within'] {
  return async (model, data, use, now = Date.now) => {
    const { url, drop } = await preparedDatabase(model)
    await withinDatabase({ model, data, url, admin: url, drop, use, now, rowSecurity: false, nodes })
  }
}

const withinRowSecurity: SeededStore['within'] = async (model, data, use, now = Date.now) => {
  const database = await rowSecurityDatabase(model)
  await withinDatabase({ model, data, ...database, use, now, rowSecurity: true, nodes: 1 })
}

interface SeedOptions {
  readonly model: Model
  readonly data: Data
  readonly url: string
  /** The URL of the superuser. */
  readonly admin: string
  readonly drop: () => Promise<void>
  readonly use: (seeded: OpenSeededStore) => Promise<void>
  readonly now: () => number
  readonly rowSecurity: boolean
  readonly nodes: number
}

async function withinDatabase(options: SeedOptions): Promise<void> {
  const { model, data, url, admin, drop, use, now, rowSecurity, nodes } = options
  const client = new pg.Client({ connectionString: admin })
  // Keeps JSON as text; the driver would parse it.
  client.setTypeParser(pg.types.builtins.JSON, text => text)
  await client.connect()
  await client.query("BEGIN; SET session_replication_role = 'replica'; SET synchronous_commit = off")
  for (const collection of model.collections.values()) await fillPostgres(client, collection, data)
  await client.query('COMMIT')
  const open = () => openPostgres(model, { url, connections: 4, now, rowSecurity })
  const store = nodes === 1 ? await open() : await openNodes(nodes, open)
  const rows = serialized(async (text: string) => (await client.query(text)).rows)
  try {
    await use({
      store,
      admin,
      dump: async () => {
        const data: Record<string, Row[]> = {}
        for (const [name, collection] of model.collections) {
          const stored = await rows(`SELECT * FROM "${name}" ORDER BY id`)
          data[name] = stored.map(row => parseRow(collection, row))
        }
        return data
      },
      events: () => rows('SELECT * FROM _events ORDER BY id'),
      lastId: async name => {
        const [row] = await rows(`SELECT last_value, is_called FROM "${name}_id_seq"`)
        return row.is_called ? Number(row.last_value) : 0
      },
    })
  } finally {
    await store.close()
    await client.end()
    await drop()
  }
}

/** Runs calls one after the other, since a client takes one statement at a time. */
function serialized<A, T>(run: (input: A) => Promise<T>): (input: A) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return input => {
    const result = last.then(() => run(input))
    last = result.catch(() => {})
    return result
  }
}

async function fillPostgres(
  client: pg.Client,
  { name, fields, searchable }: Collection,
  data: Data,
): Promise<void> {
  const all = data[name] ?? []
  const placeholders = (count: number) => Array.from({ length: count }, (_, index) => `$${index + 1}`).join()
  for (const row of all) {
    const values = Object.entries(row).map(([column, value]) => textOf(fields.get(column), value))
    await client.query(
      `INSERT INTO "${name}" (${columnsOf(row)}) VALUES (${placeholders(values.length)})`,
      values,
    )
    if (searchable.length === 0) continue
    const columns = searchable.map(field => `"${field.name}"`).join()
    const terms = searchable.map(field => indexedTerms(String(row[field.name] ?? '')))
    await client.query(
      `INSERT INTO "${searchTable(name)}" ("id", "${allTermsColumn}", ${columns}) VALUES (${placeholders(terms.length + 2)})`,
      [row.id, terms.flat(), ...terms],
    )
  }
  if (all.length === 0) return
  await client.query(`SELECT setval('"${name}_id_seq"', max(id)) FROM "${name}"`)
  await client.query('INSERT INTO "_totals" VALUES ($1, 0, $2)', [name, all.length])
}

export const seededStores: readonly SeededStore[] = chosen([
  { name: 'SQLite', share: 1, within: withinSqlite },
  { name: 'PostgreSQL', share: 0.4, within: withinPostgres(1) },
  { name: 'PostgreSQL with row security', share: 0.3, within: withinRowSecurity },
  { name: 'PostgreSQL and Redis, three nodes', share: 0.2, within: withinPostgres(3) },
])
