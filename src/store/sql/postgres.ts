/** PostgreSQL 16 and later. Text columns are declared COLLATE "C", so they compare by code point. */
import type { Encoding } from '../../model/fields/type.ts'
import { type Dialect, searchTable } from './dialect.ts'
import { join, name, quoted, type Sql, sql } from './writer.ts'

/** Instants and days as ISO 8601, as every database shows them. */
function shown(column: Sql, encoding: Encoding): Sql {
  if (encoding === 'datetime') {
    return sql`to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
  }
  return encoding === 'date' ? sql`to_char(${column}, 'YYYY-MM-DD')` : column
}

function object(entries: readonly (readonly [string, Sql])[]): Sql {
  const parts = entries.map(([key, value]) => sql`${quoted(key)} VALUE ${value}`)
  return sql`JSON_OBJECT(${join(parts, ', ')})`
}

export const postgres: Dialect = {
  sign: '$',
  object,
  tuple: items => sql`json_build_array(${join(items, ', ')})`,
  array: item => sql`coalesce(json_agg(${item}), '[]'::json)`,
  json: (column, field) => shown(column, field.type.encoding),
  logged: (event, { name: field, type }) =>
    type.encoding === 'json'
      ? sql`${event}::jsonb -> ${quoted(field)}`
      : sql`(${event}::jsonb ->> ${quoted(field)})::${[type.column.postgres.split(' ')[0] ?? 'text']}`,
  text: value => sql`(${value})::text`,
  key: shown,
  isIn: (column, list) => sql`${column} = ANY (${list})`,
  contains: (column, part) => sql`strpos(${column}, ${part}) > 0`,
  same: (left, right) => sql`${left} IS NOT DISTINCT FROM ${right}`,
  nulls: descending => (descending ? [' NULLS LAST'] : [' NULLS FIRST']),
  search: (collection, fields, words) => {
    const columns = join(
      fields.map(field => name(field.name)),
      ' || ',
    )
    return sql`SELECT "id" FROM ${name(searchTable(collection))} WHERE ${columns} @> ${words}`
  },
}
