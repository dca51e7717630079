/** A column's values as those of another type, on PostgreSQL. What has no such value is an error. */
import { real } from '../sql/postgres.ts'
import { ident } from './quoted.ts'
import type { Column } from './tables.ts'

export function converted(was: Column, is: Column): string {
  const column = ident(is.name)
  const type = is.postgres.replace(/ COLLATE .*$/, '')
  if (was.encoding === 'boolean' && is.encoding !== 'json') return `${column}::int::${type}`
  if (was.sqlite === 'REAL' && type === 'bigint') return `trunc(${column})::${type}`
  // As the API shows a number.
  if (was.sqlite === 'REAL') return `(${real([column]).join('')})::${type}`
  // Neither NaN nor Infinity, which are no JSON.
  if (is.sqlite === 'REAL') return `translate(${column}::text, 'nN', '??')::${type}`
  return `${column}::text::${type}`
}
