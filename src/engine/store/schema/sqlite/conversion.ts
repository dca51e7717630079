/** The values of columns after a migration, on SQLite. */
import { isConverted } from '../changes.ts'
import { ident } from '../quoted.ts'
import type { Column } from '../tables.ts'
import { initialSql } from './ddl.ts'

/** A column's values as those of another type. The STRICT table refuses a value that cannot be converted. */
export function convertedSql(oldColumn: Column, newColumn: Column): string {
  const column = ident(oldColumn.name)
  const oldValues = { type: oldColumn.sqlite, json: oldColumn.encoding.sqlite.json(column) }
  return newColumn.encoding.sqlite.from?.(column, oldValues) ?? column
}

/** The value of a new column in a row of the old table. */
export function newValue(oldColumn: Column | undefined, newColumn: Column): string {
  if (oldColumn === undefined) return initialSql(newColumn)
  const value = isConverted(oldColumn, newColumn) ? convertedSql(oldColumn, newColumn) : ident(oldColumn.name)
  return oldColumn.optional && !newColumn.optional && newColumn.initial !== null
    ? `coalesce(${value}, ${initialSql(newColumn)})`
    : value
}
