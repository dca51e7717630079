/** SQLite: JSON by its functions, booleans as 0 and 1, search by FTS5. */
import type { Field } from '../../model/model.ts'
import { type Dialect, type Searched, type SearchedRow, searchTable } from './dialect.ts'
import { type Bind, join, name, nothing, of, quoted, type Sql, sql } from './writer.ts'

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
function matches(alias: Sql | undefined, collection: string, { fields, words }: Searched): Sql {
  const columns = fields.map(field => `"${field.name}"`).join(' ')
  return sql`${of(alias)}${name(searchTable(collection))} MATCH ${quoted(`{${columns}} : `)} || ${words}`
}

function search(collection: string, searched: Searched): Sql {
  return sql`SELECT rowid FROM ${name(searchTable(collection))} WHERE ${matches(undefined, collection, searched)}`
}

/** What is found is listed once for the whole statement: to ask for each row takes ten times as long. */
function searchedIn(collection: string, field: Field, words: Bind, { id, lowest }: SearchedRow): Sql {
  return sql`${id} IN (${search(collection, { fields: [field], words, isWhole: false })} AND rowid >= ${lowest})`
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
  contains: (column, part) => sql`instr(${column}, ${part}) > 0`,
  same: (left, right) => sql`${left} IS ${right}`,
  nulls: () => nothing,
  stored: collection => collection,
  search,
  searchedIn,
  leading: [' CROSS JOIN '],
  searchIndex: { id: 'rowid', matches },
}
