/**
 * The steps of a migration on PostgreSQL, in three parts: slow work is prepared under other names while the service runs; one
 * short transaction changes the tables; then the work that could not be prepared is finished.
 */
import { datetimeEncoding } from '../../../../model/fields/datetime.ts'
import { searchTable } from '../../sql/dialect.ts'
import { predecessor } from '../changes.ts'
import type { MigrationDialect, TableChange } from '../diff.ts'
import { ident, literal } from '../quoted.ts'
import type { Column, Schema, Table } from '../tables.ts'
import { addReference, changeColumn, dropConstraint, type OldName } from './column-steps.ts'
import { createTableWithIndexes, dropSums, indexedColumns, keepSums, referenceName } from './ddl.ts'
import { changeIndexes } from './index-steps.ts'
import { changeSearch } from './search-steps.ts'
import { noStatements, type PartialSql, type PostgresSql } from './sql.ts'

/** `before`: the existing tables, to which references can be prepared. `defaults`: as in the catalog. */
export function postgresSteps(
  before: Schema,
  after: Schema,
  defaults: ReadonlySet<string>,
): MigrationDialect<PostgresSql> {
  const oldName = (target: string): string | undefined => {
    const table = after.tables.find(table => table.name === target)
    const old = new Map(before.tables.map(table => [table.name, table]))
    return table && predecessor(table, old)?.name
  }
  const fillsDefault = (table: string, { name }: Column) => defaults.has(`${table}.${name}`)
  return {
    fillsDefault,
    definition: indexedColumns,
    createTable,
    dropTable,
    alterTable: change => alterTable(change, oldName),
    statements: all => ({ ...noStatements, alter: all }),
    now: datetimeEncoding.postgres.now ?? '',
    dropSums: sums => ({ ...noStatements, before: dropSums(sums) }),
    keepSums: sums => ({ ...noStatements, after: keepSums(sums) }),
  }
}

function createTable(table: Table): PostgresSql {
  const references = table.columns.flatMap(column => addReference(table, column, ''))
  return { ...noStatements, alter: createTableWithIndexes(table), after: references }
}

function dropTable({ name }: Table, before: Schema): PostgresSql {
  const references = before.tables.flatMap(table =>
    table.columns
      .filter(({ reference }) => reference?.table === name)
      .map(column => dropConstraint(table.name, referenceName(column.name))),
  )
  return {
    ...noStatements,
    before: references,
    alter: [
      `DROP TABLE IF EXISTS ${ident(searchTable(name))}`,
      `DROP TABLE ${ident(name)}`,
      `DELETE FROM "_totals" WHERE "collection" = ${literal(name)}`,
    ],
  }
}

function alterTable(change: TableChange, oldName: OldName): PostgresSql {
  const { from, to, columns, searchChanged } = change
  const parts = [
    ...(from.name === to.name ? [] : [renameTable(from, to)]),
    ...columns.map(column => changeColumn(column, change, oldName)),
    changeIndexes(change),
    ...(searchChanged ? [changeSearch(change)] : []),
  ]
  return {
    prepare: parts.flatMap(part => part.prepare ?? []),
    before: parts.flatMap(part => part.before ?? []),
    alter: parts.flatMap(part => part.alter ?? []),
    after: parts.flatMap(part => part.after ?? []),
    finish: parts.flatMap(part => part.finish ?? []),
  }
}

function renameTable(from: Table, to: Table): PartialSql {
  return {
    alter: [
      `ALTER TABLE ${ident(from.name)} RENAME TO ${ident(to.name)}`,
      ...['_totals', '_events'].map(
        table =>
          `UPDATE "${table}" SET "collection" = ${literal(to.name)} WHERE "collection" = ${literal(from.name)}`,
      ),
    ],
  }
}
