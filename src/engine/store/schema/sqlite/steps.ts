/** The steps of a migration as SQLite's statements, run within one transaction and without foreign keys. */
import { datetimeEncoding } from '../../../../model/fields/datetime.ts'
import { type ColumnChange, columnsByName, predecessor } from '../changes.ts'
import type { MigrationDialect, TableChange } from '../diff.ts'
import { ident, literal } from '../quoted.ts'
import type { Column, Table, TableIndex } from '../tables.ts'
import { newValue } from './conversion.ts'
import {
  columnDefinition,
  createIndex,
  createTable,
  createTableWithIndexes,
  createTotalsAndSearch,
  dropSums,
  dropTotalsAndSearch,
  indexedColumns,
  keepSums,
} from './ddl.ts'

/** `fillsDefault`: SQLite cannot add a default to a column that exists. */
export function sqliteSteps(
  fillsDefault: MigrationDialect<readonly string[]>['fillsDefault'],
): MigrationDialect<readonly string[]> {
  return {
    fillsDefault,
    definition: indexedColumns,
    createTable: createTableWithIndexes,
    dropTable: table => [...dropTotalsAndSearch(table), `DROP TABLE ${ident(table.name)}`],
    alterTable,
    statements: all => all,
    now: datetimeEncoding.sqlite.now ?? '',
    dropSums,
    keepSums,
  }
}

function alterTable({ from, to, columns, searchChanged }: TableChange): string[] {
  const isRenamed = from.name !== to.name
  const rebuilds = columns.some(needsRebuild)
  const structural = rebuilds ? rebuild(from, to) : alter(from, to, columns)
  const recreatesIndexes = rebuilds || isRenamed
  const recreatesSearch = rebuilds || searchChanged
  return [
    ...(recreatesIndexes ? from.indexes : missingIn(to, from.indexes)).map(dropIndex),
    ...(recreatesSearch ? dropTotalsAndSearch(from) : []),
    ...structural,
    ...(recreatesIndexes ? to.indexes : missingIn(from, to.indexes)).map(index => createIndex(to, index)),
    ...(recreatesSearch ? createTotalsAndSearch(to) : []),
  ]
}

/** Those of `indexes` that the table does not have under the same name. */
function missingIn({ indexes: others }: Table, indexes: readonly TableIndex[]): readonly TableIndex[] {
  const keyOf = (index: TableIndex) => `${index.name} ${index.unique} ${indexedColumns(index)}`
  const otherKeys = new Set(others.map(keyOf))
  return indexes.filter(index => !otherKeys.has(keyOf(index)))
}

function dropIndex({ name }: { readonly name: string }): string {
  return `DROP INDEX IF EXISTS ${ident(name)}`
}

function needsRebuild(change: ColumnChange): boolean {
  if (change.kind === 'add') return !isAddable(change.newColumn)
  return change.kind !== 'rename' && change.kind !== 'values'
}

/** Whether `ADD COLUMN` can set the initial value in every row, which must be a constant (https://sqlite.org/lang_altertable.html, 4). */
function isAddable({ initial, optional }: Column): boolean {
  return initial === null ? optional : initial.kind === 'value'
}

function alter(from: Table, to: Table, changes: readonly ColumnChange[]): string[] {
  const table = ident(to.name)
  const rename = from.name === to.name ? [] : renameTable(from, to)
  const columns = changes.flatMap(change => {
    if (change.kind === 'add')
      return [`ALTER TABLE ${table} ADD COLUMN ${columnDefinition(change.newColumn)}`]
    if (change.kind !== 'rename') return []
    return [
      `ALTER TABLE ${table} RENAME COLUMN ${ident(change.oldColumn.name)} TO ${ident(change.newColumn.name)}`,
    ]
  })
  return [...rename, ...columns]
}

/** The events that are in the log take the new name, so that listeners that resume from them get them. */
function renameTable(from: Table, to: Table): string[] {
  return [
    `ALTER TABLE ${ident(from.name)} RENAME TO ${ident(to.name)}`,
    `UPDATE "_events" SET "collection" = ${literal(to.name)} WHERE "collection" = ${literal(from.name)}`,
  ]
}

/** https://sqlite.org/lang_altertable.html, 7: create a new table, copy the rows, drop the old table, rename the new one. Foreign keys are off. */
function rebuild(from: Table, to: Table): string[] {
  const rebuilt = `_new_${to.name}`
  const oldColumns = columnsByName(from)
  const columns = to.columns.map(column => ident(column.name)).join(', ')
  const values = to.columns.map(column => newValue(predecessor(column, oldColumns), column)).join(', ')
  const sequence = `(SELECT "seq" FROM "sqlite_sequence" WHERE "name" = ${literal(to.name)})`
  return [
    // The rename is first, so that other tables' references follow it.
    ...alter(from, to, []),
    createTable(to, rebuilt),
    `INSERT INTO ${ident(rebuilt)} (${columns}) SELECT ${values} FROM ${ident(to.name)}`,
    `DELETE FROM "sqlite_sequence" WHERE "name" = ${literal(rebuilt)}`,
    // Ids of deleted items are never reused.
    `INSERT INTO "sqlite_sequence" ("name", "seq") SELECT ${literal(rebuilt)}, ${sequence} WHERE ${sequence} IS NOT NULL`,
    `DROP TABLE ${ident(to.name)}`,
    `ALTER TABLE ${ident(rebuilt)} RENAME TO ${ident(to.name)}`,
  ]
}
