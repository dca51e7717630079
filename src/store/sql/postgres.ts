/**
 * PostgreSQL 15 and later. JSON is built as text, so that it is the very text that SQLite gives: no function of
 * PostgreSQL 15 writes nested objects without spaces. Text columns are declared COLLATE "C", so they compare by
 * code point.
 */
import type { Field } from '../../model/model.ts'
import { type Dialect, type Searched, type SearchedRow, searchTable, storedTable } from './dialect.ts'
import { type Bind, join, name, of, quoted, type Sql, sql } from './writer.ts'

/** The column of a search table with the words of all its fields; those of one field stand under its name. */
export const allWords = '_all'

/** How many arguments `concat` is given: a function takes no more than 100. */
const MOST = 90

function concat(parts: readonly Sql[]): Sql {
  if (parts.length <= MOST) return sql`concat(${join(parts, ', ')})`
  const chunks = Array.from({ length: Math.ceil(parts.length / MOST) }, (_, index) =>
    concat(parts.slice(index * MOST, (index + 1) * MOST)),
  )
  return concat(chunks)
}

function nullable(json: Sql): Sql {
  return sql`coalesce((${json})::text, 'null')`
}

function object(entries: readonly (readonly [string, Sql])[]): Sql {
  const parts = entries.flatMap(([key, value], index) => [
    quoted(`${index === 0 ? '{' : ','}${JSON.stringify(key)}:`),
    nullable(value),
  ])
  return entries.length === 0 ? quoted('{}') : concat([...parts, quoted('}')])
}

function tuple(items: readonly Sql[]): Sql {
  const parts = items.flatMap((item, index) => [quoted(index === 0 ? '[' : ','), nullable(item)])
  return items.length === 0 ? quoted('[]') : concat([...parts, quoted(']')])
}

/** Whole numbers without exponent, as far as SQLite shows them so; others as SQLite writes exponents. */
export function real(column: Sql): Sql {
  const whole = sql`${column} = trunc(${column}) AND abs(${column}) < 9223372036854775807`
  const exponent = sql`regexp_replace(${column}::text, '^(-?[0-9])e', '\\1.0e')`
  return sql`CASE WHEN ${whole} THEN ${column}::bigint::text ELSE ${exponent} END`
}

function json(column: Sql, { type }: Field): Sql {
  if (type.encoding === 'number') {
    return type.column.sqlite === 'REAL' ? real(column) : column
  }
  return type.encoding === 'json' ? column : sql`to_json(${column})`
}

/** The type alone, without its collation. */
function bare({ type }: Field): Sql {
  return [type.column.postgres.replace(/ COLLATE .*$/, '')]
}

/** The words of all the fields are in an index; those of some are looked at in what it finds. */
function matches(alias: Sql | undefined, _collection: string, { fields, words, isWhole }: Searched): Sql {
  const found = sql`${of(alias)}${name(allWords)} @> ${words}`
  if (isWhole) return found
  const columns = join(
    fields.map(field => sql`${of(alias)}${name(field.name)}`),
    ' || ',
  )
  return sql`${found} AND ${columns} @> ${words}`
}

function search(collection: string, searched: Searched): Sql {
  return sql`SELECT "id" FROM ${name(searchTable(collection))} WHERE ${matches(undefined, collection, searched)}`
}

function searchedIn(collection: string, field: Field, words: Bind, { id, index }: SearchedRow): Sql {
  const column = name(field.name)
  if (index !== undefined) return sql`${index}.${column} @> ${words}`
  return sql`(SELECT ${column} @> ${words} FROM ${name(searchTable(collection))} WHERE "id" = ${id})`
}

export const postgres: Dialect = {
  sign: '$',
  object,
  tuple,
  array: item => sql`concat('[', string_agg(${item}, ','), ']')`,
  json,
  string: text => sql`to_json(${text})`,
  constant: text => quoted(JSON.stringify(text)),
  count: sql`count(*)::text`,
  logged: (event, field) =>
    field.type.encoding === 'json'
      ? sql`${event}::json -> ${quoted(field.name)}`
      : sql`(${event}::json ->> ${quoted(field.name)})::${bare(field)}`,
  text: value => sql`(${value})::text`,
  isIn: (column, list) => sql`${column} = ANY (${list})`,
  limit: rows => [rows],
  // LIMIT keeps the planner from looking for the rows in another way.
  sampled: (windows, row, range) => ({
    from: sql`${windows} CROSS JOIN LATERAL ${row.of(sql`SELECT ${row.columns()} FROM ${row.from()} WHERE ${range} LIMIT 1000000`)}`,
    condition: ['TRUE'],
  }),
  makesSkipped: true,
  limitsParts: true,
  comparesRows: true,
  // Its statistics say how many rows there are of each value.
  unsought: column => column,
  contains: (column, part) => sql`strpos(${column}, ${part}) > 0`,
  same: (left, right, encoding) =>
    encoding === 'json'
      ? sql`${left}::text IS NOT DISTINCT FROM ${right}::text`
      : sql`${left} IS NOT DISTINCT FROM ${right}`,
  seeksNull: false,
  nulls: descending => (descending ? [' NULLS LAST'] : [' NULLS FIRST']),
  stored: collection => collection,
  search,
  searchedIn,
  leading: [' JOIN '],
  searchIndex: { id: 'id', matches },
}

/** For tables whose rows are locked by policies. */
export const lockedPostgres: Dialect = { ...postgres, stored: storedTable, searchIndex: undefined }
