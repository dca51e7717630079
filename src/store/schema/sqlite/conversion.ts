/** A column's values as those of another type, on SQLite. The STRICT table refuses a value that cannot be converted. */
import { ident } from '../quoted.ts'
import type { Column } from '../tables.ts'

export function convertedSql(oldColumn: Column, newColumn: Column): string {
  const column = ident(oldColumn.name)
  const oldValues = { type: oldColumn.sqlite, json: oldColumn.encoding.sqlite.json(column) }
  return newColumn.encoding.sqlite.from?.(column, oldValues) ?? column
}
