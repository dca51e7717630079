/** A column's values as those of another type, on SQLite. The STRICT table refuses a value that cannot be converted. */
import { ident } from '../quoted.ts'
import type { Column } from '../tables.ts'

export function converted(was: Column, is: Column): string {
  const column = ident(was.name)
  const before = { type: was.sqlite, json: was.encoding.sqlite.json(column) }
  return is.encoding.sqlite.from?.(column, before) ?? column
}
