/** The steps of a migration as SQLite's statements, run within one transaction and without foreign keys. */
import {
  type ColumnChange,
  columnsByName,
  different,
  type Maker,
  predecessor,
  type TableChange,
} from './diff.ts'
import { ident, literal } from './quoted.ts'
import { converted } from './sqlite-conversion.ts'
import {
  columnDefinition,
  createIndex,
  createTable,
  createUpkeep,
  createWhole,
  dropUpkeep,
} from './sqlite-ddl.ts'
import type { Column, Table } from './tables.ts'

export const sqliteSteps: Maker<readonly string[]> = {
  fillsDefaults: false,
  make: createWhole,
  drop: table => [...dropUpkeep(table), `DROP TABLE ${ident(table.name)}`],
  change: changeTable,
}

function changeTable({ from, to, columns, searchChanged }: TableChange): string[] {
  const renamed = from.name !== to.name
  const rebuilds = columns.some(needsRebuild)
  const structural = rebuilds ? rebuild(from, to) : alter(from, to, columns)
  const all = rebuilds || renamed
  const remakes = rebuilds || searchChanged
  return [
    ...(all ? from.indexes : different(from.indexes, to.indexes)).map(dropIndex),
    ...(remakes ? dropUpkeep(from) : []),
    ...structural,
    ...(all ? to.indexes : different(to.indexes, from.indexes)).map(index => createIndex(to, index)),
    ...(remakes ? createUpkeep(to) : []),
  ]
}

function dropIndex({ name }: { readonly name: string }): string {
  return `DROP INDEX IF EXISTS ${ident(name)}`
}

function needsRebuild(change: ColumnChange): boolean {
  if (change.kind === 'add') return !change.is.optional || change.is.initial !== null
  return change.kind !== 'rename' && change.kind !== 'values'
}

function alter(from: Table, to: Table, changes: readonly ColumnChange[]): string[] {
  const table = ident(to.name)
  const rename = from.name === to.name ? [] : [`ALTER TABLE ${ident(from.name)} RENAME TO ${table}`]
  const columns = changes.flatMap(change => {
    if (change.kind === 'add') return [`ALTER TABLE ${table} ADD COLUMN ${columnDefinition(change.is)}`]
    if (change.kind !== 'rename') return []
    return [`ALTER TABLE ${table} RENAME COLUMN ${ident(change.was.name)} TO ${ident(change.is.name)}`]
  })
  return [...rename, ...columns]
}

/** https://sqlite.org/lang_altertable.html, 7: make anew, copy, drop, rename. Foreign keys are off meanwhile. */
function rebuild(from: Table, to: Table): string[] {
  const made = `_new_${to.name}`
  const old = columnsByName(from)
  const columns = to.columns.map(column => ident(column.name)).join(', ')
  const values = to.columns.map(column => copied(predecessor(column, old), column)).join(', ')
  const sequence = `(SELECT "seq" FROM "sqlite_sequence" WHERE "name" = ${literal(to.name)})`
  return [
    // First, so that other tables' references follow the name.
    ...alter(from, to, []),
    createTable(to, made),
    `INSERT INTO ${ident(made)} (${columns}) SELECT ${values} FROM ${ident(to.name)}`,
    `DELETE FROM "sqlite_sequence" WHERE "name" = ${literal(made)}`,
    // Ids of deleted items are never given out again.
    `INSERT INTO "sqlite_sequence" ("name", "seq") SELECT ${literal(made)}, ${sequence} WHERE ${sequence} IS NOT NULL`,
    `DROP TABLE ${ident(to.name)}`,
    `ALTER TABLE ${ident(made)} RENAME TO ${ident(to.name)}`,
  ]
}

function copied(was: Column | undefined, is: Column): string {
  if (was === undefined) return initialSql(is)
  const isSame = was.sqlite === is.sqlite && was.encoding === is.encoding
  const value = isSame ? ident(was.name) : converted(was, is)
  if (was.optional && !is.optional && is.initial !== null) return `coalesce(${value}, ${initialSql(is)})`
  return value
}

const now = `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`
const hex = (bytes: number) => `lower(hex(randomblob(${bytes})))`
/** RFC 9562, 5.4. */
const uuid = `${hex(4)} || '-' || ${hex(2)} || '-4' || substr(${hex(2)}, 2) || '-' || substr('89ab', 1 + (abs(random()) % 4), 1) || substr(${hex(2)}, 2) || '-' || ${hex(6)}`

function initialSql({ initial, encoding }: Column): string {
  if (initial === null) return 'NULL'
  if (initial.kind === 'now') return encoding === 'date' ? `date('now')` : now
  if (initial.kind === 'uuid') return uuid
  const { value } = initial
  if (value === null) return 'NULL'
  if (encoding === 'json') return literal(JSON.stringify(value))
  if (typeof value === 'boolean') return value ? '1' : '0'
  return typeof value === 'number' ? String(value) : literal(String(value))
}
