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

/** The words are bound as an FTS5 query; the columns in which they may occur stand before it, unless it is all of them. */
function matches(alias: Sql | undefined, collection: string, { fields, words, isWhole }: Searched): Sql {
  const columns = fields.map(field => `"${field.name}"`).join(' ')
  const within = isWhole ? nothing : sql`${quoted(`{${columns}} : `)} || `
  return sql`${of(alias)}${name(searchTable(collection))} MATCH ${within}${words}`
}

function search(collection: string, searched: Searched): Sql {
  return sql`SELECT rowid FROM ${name(searchTable(collection))} WHERE ${matches(undefined, collection, searched)}`
}

/** What is found is listed once for the whole statement: to ask for each row takes ten times as long. */
function searchedIn(collection: string, field: Field, words: Bind, { id, lowest }: SearchedRow): Sql {
  return sql`${id} IN (${search(collection, { fields: [field], words, isWhole: false })} AND rowid >= ${lowest})`
}

/** The SQL function that throws once the statement has run for too long: see `sqlite/read/budget.ts`. */
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
  // CROSS JOIN keeps the order of the tables, NOT INDEXED leaves the ids as the only way to the rows.
  sampled: (windows, row, range) => ({
    from: sql`${windows} CROSS JOIN ${row.from()} NOT INDEXED`,
    condition: range,
  }),
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
  searchedIn,
  leading: [' CROSS JOIN '],
  searchIndex: { id: 'rowid', matches },
}

/** As `sqlite`, for statements that may look at many rows on the event loop. */
export const pacedSqlite: Dialect = {
  ...sqlite,
  pace,
  search: (...asked) => sql`${search(...asked)} AND ${pace(['rowid'])}`,
}
