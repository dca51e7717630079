/** What a copy moves: tables with a key by which their rows are in order, on every database the same. */
import { createHash, type Hash } from 'node:crypto'
import type { Schema, Table } from '../schema/tables.ts'
import { withoutCollation } from '../sql/postgres.ts'

/** As every database gives it back: whole and real numbers, truth as 1 and 0, all else as text. */
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
  /** The first columns, whose values are unlike in any two rows. */
  readonly key: number
  /** Whether a sequence gives out the values of the first column. */
  readonly numbered: boolean
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
  }),
  key: 1,
  numbered: true,
}

/** Everything that is not made from something else. */
export function copyTables({ tables }: Schema): readonly CopyTable[] {
  return [...tables.map(copyTable), records, events]
}

function copyTable(table: Table): CopyTable {
  // Its id comes first, which is the key.
  const [id, others] = [['id'], table.columns.filter(column => column.name !== 'id')]
  const all = [
    ...id.map(name => ({ name, type: 'bigint' })),
    ...others.map(({ name, postgres }) => ({ name, type: withoutCollation(postgres) })),
  ]
  return { name: table.name, columns: all, key: 1, numbered: true }
}

/** How many rows are compared and written at once, and how many characters, about. */
const rowsPerBatch = 500
const charactersPerBatch = 4_000_000

/** Rows gathered until there are enough for a batch. */
export class Batch {
  #rows: CopyRow[] = []
  #characters = 0

  /** A whole batch, if the row makes one. */
  add(row: CopyRow): readonly CopyRow[] | undefined {
    this.#rows.push(row)
    for (const value of row) this.#characters += typeof value === 'string' ? value.length : 8
    return this.#rows.length < rowsPerBatch && this.#characters < charactersPerBatch ? undefined : this.take()
  }

  /** Those that are left. */
  take(): readonly CopyRow[] {
    const rows = this.#rows
    this.#rows = []
    this.#characters = 0
    return rows
  }
}

/** The count and checksum of rows in the order of their keys. */
export class Sum {
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

export interface Total {
  readonly count: number
  readonly checksum: string
}
