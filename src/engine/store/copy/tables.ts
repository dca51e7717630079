/** The tables that are copied, each with a key whose order is the same on every database. */
import { createHash, type Hash } from 'node:crypto'
import { ident } from '../schema/quoted.ts'
import type { Schema, Table } from '../schema/tables.ts'
import { withoutCollation } from '../sql/postgres.ts'

/** A value in the same form for every database: integers and reals as numbers, booleans as 1 and 0, all others as text. */
export type CopyValue = string | number | null
export type CopyRow = readonly CopyValue[]

export interface CopyColumn {
  readonly name: string
  /** PostgreSQL's type, without a collation. */
  readonly type: string
}

export interface CopyTable {
  readonly name: string
  readonly columns: readonly CopyColumn[]
  /** How many of the first columns form the key. */
  readonly key: number
  /** Whether a sequence generates the values of the first column. */
  readonly numbered: boolean
}

/** The statement that reads all rows of a table, without an order. */
export function selectSql({ name, columns }: CopyTable): string {
  return `SELECT ${namesOf(columns)} FROM ${ident(name)}`
}

export function keyColumns({ columns, key }: CopyTable): string {
  return namesOf(columns.slice(0, key))
}

function namesOf(columns: readonly CopyColumn[]): string {
  return columns.map(({ name }) => ident(name)).join(', ')
}

function columns(types: Readonly<Record<string, string>>): CopyColumn[] {
  return Object.entries(types).map(([name, type]) => ({ name, type }))
}

const records: CopyTable = {
  name: '_records',
  columns: columns({
    kind: 'text',
    id: 'text',
    payload: 'text',
    expires_at: 'bigint',
    consumed_at: 'bigint',
    grant_id: 'text',
    alias: 'text',
    owner: 'text',
  }),
  key: 2,
  numbered: false,
}

const events: CopyTable = {
  name: '_events',
  columns: columns({
    id: 'bigint',
    at: 'text',
    collection: 'text',
    item_id: 'bigint',
    kind: 'text',
    data: 'text',
    changed: 'text',
    before: 'text',
    user_id: 'bigint',
    app_id: 'bigint',
    type: 'text',
    depth: 'integer',
    facts: 'text',
    facts_before: 'text',
    via: 'text',
  }),
  key: 1,
  numbered: true,
}

/** All tables, except those that are derived from others. */
export function copyTables({ tables }: Schema): readonly CopyTable[] {
  return [...tables.map(copyTable), records, events]
}

function copyTable(table: Table): CopyTable {
  // The id is the key, so it comes first.
  const [id, others] = [['id'], table.columns.filter(column => column.name !== 'id')]
  const columns = [
    ...id.map(name => ({ name, type: 'bigint' })),
    ...others.map(({ name, postgres }) => ({ name, type: withoutCollation(postgres) })),
  ]
  return { name: table.name, columns, key: 1, numbered: true }
}

/** The size of a batch, in rows and, approximately, in characters. */
const rowsPerBatch = 500
const charactersPerBatch = 4_000_000

/** Collects rows into batches. */
export class RowBatch {
  #rows: CopyRow[] = []
  #characters = 0

  /** Returns a batch when the row completes one. */
  add(row: CopyRow): readonly CopyRow[] | undefined {
    this.#rows.push(row)
    for (const value of row) this.#characters += typeof value === 'string' ? value.length : 8
    return this.#rows.length < rowsPerBatch && this.#characters < charactersPerBatch ? undefined : this.take()
  }

  /** Takes the remaining rows. */
  take(): readonly CopyRow[] {
    const rows = this.#rows
    this.#rows = []
    this.#characters = 0
    return rows
  }
}

/** The count and checksum of rows in the order of their keys. */
export class RowChecksum {
  count = 0
  readonly #hash: Hash = createHash('sha256')

  add(rows: readonly CopyRow[]): void {
    this.count += rows.length
    for (const row of rows) this.#hash.update(`${JSON.stringify(row)}\n`)
  }

  get text(): string {
    return this.#hash.copy().digest('hex')
  }
}

export interface CopyTotal {
  readonly count: number
  readonly checksum: string
}
