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

/** The SQL function that throws once the statement has run for too long: see `sqlite/read-budget.ts`. */
export const budgetFunction = '_within_budget'

/**
 * Calls the function for every 61st id, which costs less than what else is done with a row. A prime number: the ids of
 * imported rows may all be odd, or multiples of ten.
 */
function pace(id: Sql): Sql {
  return sql`(${id} % 61 <> 0 OR ${[`${budgetFunction}()`]})`
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
}

/** As `sqlite`, for statements that may look at many rows on the event loop. */
export const pacedSqlite: Dialect = {
  ...sqlite,
  pace,
  search: (...asked) => sql`${search(...asked)} AND ${pace(['rowid'])}`,
}
