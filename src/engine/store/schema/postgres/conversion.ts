/** A column's values as those of another type, on PostgreSQL. A value that cannot be converted is an error. */
import { withoutCollation } from '../../sql/postgres.ts'
import { ident } from '../quoted.ts'
import type { Column } from '../tables.ts'

export function convertedSql(oldColumn: Column, newColumn: Column): string {
  const column = ident(newColumn.name)
  const oldValues = {
    type: withoutCollation(oldColumn.postgres),
    json: oldColumn.encoding.postgres.json(column),
  }
  const value = newColumn.encoding.postgres.from?.(column, oldValues) ?? `${column}::text`
  return `${value}::${withoutCollation(newColumn.postgres)}`
}
