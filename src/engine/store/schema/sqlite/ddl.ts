/** Tables as SQLite statements. */
import type { JsonValue } from '../../../../model/fields/type.ts'
import { searchTable } from '../../sql/dialect.ts'
import { ident, literal } from '../quoted.ts'
import { recordIndexes } from '../record-indexes.ts'
import { amountSql, countsSql, decidingColumns, fillSql, type KeptSum, sumName, sumsOf } from '../sums.ts'
import type { Column, Schema, Table, TableIndex } from '../tables.ts'

/** Portico's own tables: the stored schema, totals, the event log and the records. */
export const ownTables: readonly string[] = [
  'CREATE TABLE IF NOT EXISTS "_portico" ("key" TEXT PRIMARY KEY NOT NULL, "value" TEXT NOT NULL) STRICT, WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS "_totals" ("collection" TEXT PRIMARY KEY NOT NULL, "n" INTEGER NOT NULL) STRICT, WITHOUT ROWID',
  `CREATE TABLE IF NOT EXISTS "_events" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "at" TEXT NOT NULL,
  "collection" TEXT NOT NULL,
  "item_id" INTEGER NOT NULL,
  "kind" TEXT NOT NULL CHECK ("kind" IN ('created', 'updated', 'deleted')),
  "data" TEXT NOT NULL,
  "changed" TEXT,
  "before" TEXT,
  "user_id" INTEGER,
  "app_id" INTEGER,
  "type" TEXT,
  "depth" INTEGER,
  "facts" TEXT,
  "facts_before" TEXT,
  "via" TEXT
) STRICT`,
  `CREATE TABLE IF NOT EXISTS "_records" (
  "kind" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "payload" TEXT NOT NULL,
  "expires_at" INTEGER,
  "consumed_at" INTEGER,
  "grant_id" TEXT,
  "alias" TEXT,
  "owner" TEXT,
  PRIMARY KEY ("kind", "id")
) STRICT`,
  ...Object.values(recordIndexes),
]

/**
 * The types of columns that later versions add to Portico's own tables, by table and name: databases of earlier versions lack
 * them. None so far.
 */
export const addedColumns: Record<string, Readonly<Record<string, string>>> = {}

/** Everything that an empty database needs for a schema. */
export function createSchema(schema: Schema): string[] {
  return [...ownTables, ...schema.tables.flatMap(createTableWithIndexes), ...keepSums(sumsOf(schema))]
}

/** A table with its indexes, triggers and search table. */
export function createTableWithIndexes(table: Table): string[] {
  return [
    createTable(table),
    ...table.indexes.map(index => createIndex(table, index)),
    ...createTotalsAndSearch(table),
  ]
}

/** `name`: another name for the table itself, while it is being rebuilt. */
export function createTable(table: Table, name = table.name): string {
  const columns = table.columns.map(column => `  ${columnDefinition(column)}`)
  return `CREATE TABLE ${ident(name)} (\n${columns.join(',\n')}\n) STRICT`
}

export function columnDefinition(column: Column): string {
  if (column.name === 'id') return '"id" INTEGER PRIMARY KEY AUTOINCREMENT'
  const parts = [ident(column.name), column.sqlite]
  // The default is for nodes of an older model, which do not know the column: Portico itself always sets it.
  if (column.initial !== null) parts.push(`DEFAULT ${defaultSql(column)}`)
  if (!column.optional) parts.push('NOT NULL')
  const check = column.encoding.sqlite.check?.(ident(column.name))
  if (check !== undefined) parts.push(`CHECK (${check})`)
  if (column.reference) parts.push(referenceClause(column.reference))
  return parts.join(' ')
}

const hex = (bytes: number) => `lower(hex(randomblob(${bytes})))`
/** RFC 9562, 5.4. */
const uuid = `${hex(4)} || '-' || ${hex(2)} || '-4' || substr(${hex(2)}, 2) || '-' || substr('89ab', 1 + (abs(random()) % 4), 1) || substr(${hex(2)}, 2) || '-' || ${hex(6)}`

/** The value of a column that an INSERT omits. */
export function initialSql({ initial, encoding: { sqlite } }: Column): string {
  if (initial === null) return 'NULL'
  if (initial.kind === 'now') return sqlite.now ?? 'NULL'
  if (initial.kind === 'uuid') return uuid
  return initial.value === null ? 'NULL' : sqlite.constant(initial.value)
}

/** `ADD COLUMN` takes no parentheses. */
function defaultSql(column: Column): string {
  const text = initialSql(column)
  return column.initial?.kind === 'value' ? text : `(${text})`
}

/** The store itself cascades and clears, for the events; the clause is the safety net. */
function referenceClause({ table, onDelete }: NonNullable<Column['reference']>): string {
  const action = { restrict: 'NO ACTION', cascade: 'CASCADE', clear: 'SET NULL' }[onDelete]
  return `REFERENCES ${ident(table)} ("id") ON DELETE ${action}`
}

export function createIndex(table: Table, index: TableIndex): string {
  const kind = index.unique ? 'CREATE UNIQUE INDEX' : 'CREATE INDEX'
  return `${kind} ${ident(index.name)} ON ${ident(table.name)} (${indexedColumns(index)})`
}

/** SQLite appends the id, ascending. An index can be read backwards, so one whose id descends is created in reverse. */
export function indexedColumns({ columns, order }: TableIndex): string {
  if (order === undefined) return columns.map(ident).join(', ')
  const isReverse = order.at(-1)?.descending === true
  return order
    .slice(0, -1)
    .map(({ column, descending }) => `${ident(column)}${descending === isReverse ? '' : ' DESC'}`)
    .join(', ')
}

/** The triggers that keep the total, and the search table with its own. */
export function createTotalsAndSearch(table: Table): string[] {
  return [...createTotals(table), ...createSearch(table)]
}

function createTotals({ name }: Table): string[] {
  const updateTotal = (change: string) =>
    `UPDATE "_totals" SET "n" = "n" ${change} 1 WHERE "collection" = ${literal(name)}`
  return [
    `INSERT OR REPLACE INTO "_totals" ("collection", "n") SELECT ${literal(name)}, count(*) FROM ${ident(name)}`,
    `CREATE TRIGGER ${ident(`_${name}_added`)} AFTER INSERT ON ${ident(name)} BEGIN ${updateTotal('+')}; END`,
    `CREATE TRIGGER ${ident(`_${name}_removed`)} AFTER DELETE ON ${ident(name)} BEGIN ${updateTotal('-')}; END`,
  ]
}

/** Texts are split into terms before (see `text-search.ts`): `ascii` splits only at the spaces between them. */
export function createSearch({ name, search }: Table): string[] {
  if (search.length === 0) return []
  const table = ident(searchTable(name))
  const columns = search.map(ident).join(', ')
  const removed = `DELETE FROM ${table} WHERE rowid = old."id"`
  return [
    `CREATE VIRTUAL TABLE ${table} USING fts5(${columns}, content='', contentless_delete=1, tokenize='ascii')`,
    `CREATE TRIGGER ${ident(`_${name}_unsearched`)} AFTER DELETE ON ${ident(name)} BEGIN ${removed}; END`,
  ]
}

/** Undoes `createTotalsAndSearch`. */
export function dropTotalsAndSearch({ name }: { readonly name: string }): string[] {
  return [
    `DROP TRIGGER IF EXISTS ${ident(`_${name}_added`)}`,
    `DROP TRIGGER IF EXISTS ${ident(`_${name}_removed`)}`,
    `DROP TRIGGER IF EXISTS ${ident(`_${name}_unsearched`)}`,
    `DROP TABLE IF EXISTS ${ident(searchTable(name))}`,
    `DELETE FROM "_totals" WHERE "collection" = ${literal(name)}`,
  ]
}

const sumEvents = ['added', 'removed', 'changed'] as const

/** The triggers that keep stored values, and the statements that compute them. */
export function keepSums(sums: readonly KeptSum[]): string[] {
  return sums.flatMap(sum => {
    const [table, column, by] = [sum.table, sum.column, sum.by].map(ident)
    const change = (row: 'new' | 'old', operator: '+' | '-') =>
      `UPDATE ${table} SET ${column} = ${column} ${operator} ${amountSql(sum, row)} WHERE "id" = ${row}.${by} AND ${countsSql(sum, row, constantOf)};`
    const columns = decidingColumns(sum).map(ident).join(', ')
    const events = { added: 'INSERT', removed: 'DELETE', changed: `UPDATE OF ${columns}` }
    const changes = {
      added: change('new', '+'),
      removed: change('old', '-'),
      changed: `${change('old', '-')} ${change('new', '+')}`,
    }
    const triggers = sumEvents.map(
      event =>
        `CREATE TRIGGER ${ident(`${sumName(sum)}_${event}`)} AFTER ${events[event]} ON ${ident(sum.from)} BEGIN ${changes[event]} END`,
    )
    return [...triggers, fillSql(sum, constantOf)]
  })
}

export function dropSums(sums: readonly KeptSum[]): string[] {
  return sums.flatMap(sum =>
    sumEvents.map(event => `DROP TRIGGER IF EXISTS ${ident(`${sumName(sum)}_${event}`)}`),
  )
}

function constantOf({ encoding }: Column, value: JsonValue): string {
  return encoding.sqlite.constant(value)
}
