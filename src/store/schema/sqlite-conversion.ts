/** A column's values as those of another type, on SQLite. What has no such value is refused by the STRICT table. */
import { real } from '../sql/sqlite.ts'
import { ident } from './quoted.ts'
import type { Column } from './tables.ts'

/** As PostgreSQL reads them: https://www.postgresql.org/docs/15/datatype-boolean.html. */
const yes = `'t', 'true', 'y', 'yes', 'on', '1'`
const no = `'f', 'false', 'n', 'no', 'off', '0'`

/** A text with a `?` behind it is none that a column of numbers takes. */
export function converted(was: Column, is: Column): string {
  const column = ident(was.name)
  if (is.encoding === 'json') return jsonOf(was, column)
  if (was.sqlite === 'TEXT' && is.encoding === 'boolean') {
    return `CASE WHEN lower(trim(${column})) IN (${yes}) THEN 1 WHEN lower(trim(${column})) IN (${no}) THEN 0 ELSE ${column} || '?' END`
  }
  if (was.sqlite === 'TEXT' && is.sqlite === 'INTEGER')
    return `CASE WHEN trim(${column}) GLOB '*[^-+0-9]*' THEN ${column} || '?' ELSE ${column} END`
  if (was.sqlite === 'REAL' && is.encoding === 'number' && is.sqlite === 'INTEGER') {
    return `CASE WHEN abs(${column}) < 9223372036854775807 THEN CAST(${column} AS INTEGER) ELSE ${column} END`
  }
  if (was.sqlite === 'REAL' && is.sqlite === 'TEXT') return numberText(column)
  return column
}

function jsonOf(was: Column, column: string): string {
  if (was.encoding === 'boolean') return `CASE ${column} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END`
  if (was.sqlite === 'REAL') return numberText(column)
  if (was.sqlite === 'INTEGER') return column
  // Fails where it is none.
  return `CASE WHEN json_valid(${column}) THEN ${column} ELSE json(${column}) END`
}

/** As the API shows a number. */
function numberText(column: string): string {
  return `CAST(${real([column]).join('')} AS TEXT)`
}
