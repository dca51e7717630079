/** SQLite: JSON by its functions, booleans as 0 and 1, search by FTS5. */
import type { Field } from '../../model/model.ts'
import { type Dialect, searchTable } from './dialect.ts'
import { join, name, nothing, quoted, type Sql, sql } from './writer.ts'

/** SQLite prints a whole REAL as `1.0`; every other face and database shows `1`. */
export function real(column: Sql): Sql {
  return sql`CASE WHEN ${column} = CAST(${column} AS INTEGER) THEN CAST(${column} AS INTEGER) ELSE ${column} END`
}

function json(column: Sql, { type }: Field): Sql {
  if (type.encoding === 'boolean') {
    return sql`CASE ${column} WHEN 1 THEN json('true') WHEN 0 THEN json('false') END`
  }
  if (type.encoding === 'json') return sql`json(${column})`
  return type.column.sqlite === 'REAL' ? real(column) : column
}

function object(entries: readonly (readonly [string, Sql])[]): Sql {
  const parts = entries.map(([key, value]) => sql`${quoted(key)}, ${value}`)
  return sql`json_object(${join(parts, ', ')})`
}

/** The words are bound as an FTS5 query; the columns in which they may occur stand before it. */
function search(collection: string, fields: readonly Field[], words: Parameters<Dialect['search']>[2]): Sql {
  const table = name(searchTable(collection))
  const columns = fields.map(field => `"${field.name}"`).join(' ')
  return sql`SELECT rowid FROM ${table} WHERE ${table} MATCH ${quoted(`{${columns}} : `)} || ${words}`
}

export const sqlite: Dialect = {
  sign: '?',
  object,
  tuple: items => sql`json_array(${join(items, ', ')})`,
  array: item => sql`json_group_array(${item})`,
  json,
  string: text => text,
  constant: quoted,
  count: sql`count(*)`,
  logged: (event, { name: field, type }) =>
    type.encoding === 'json'
      ? sql`${event} -> ${quoted(`$.${field}`)}`
      : sql`${event} ->> ${quoted(`$.${field}`)}`,
  text: value => value,
  isIn: (column, list) => sql`${column} IN (SELECT value FROM json_each(${list}))`,
  // SQLite plans anew with every value of a parameter that is a limit by itself: it took longer than most lists.
  limit: rows => sql`${rows} + 0`,
  makesSkipped: false,
  limitsParts: false,
  // Of a row, it uses the first value, and text after it: all items that share the first would be looked at.
  comparesRows: false,
  // https://sqlite.org/optoverview.html, 3: a unary plus. It does not know of how many rows a list shows only the first.
  unsought: column => sql`+${column}`,
  contains: (column, part) => sql`instr(${column}, ${part}) > 0`,
  same: (left, right) => sql`${left} IS ${right}`,
  seeksNull: true,
  nulls: () => nothing,
  stored: collection => collection,
  search,
}
