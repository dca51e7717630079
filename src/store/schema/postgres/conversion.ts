/** A column's values as those of another type, on PostgreSQL. A value that cannot be converted is an error. */
import { withoutCollation } from '../../sql/postgres.ts'
import { ident } from '../quoted.ts'
import type { Column } from '../tables.ts'

export function converted(was: Column, is: Column): string {
  const column = ident(is.name)
  const before = { type: withoutCollation(was.postgres), json: was.encoding.postgres.json(column) }
  const value = is.encoding.postgres.from?.(column, before) ?? `${column}::text`
  return `${value}::${withoutCollation(is.postgres)}`
}
