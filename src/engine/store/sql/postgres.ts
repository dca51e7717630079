/**
 * PostgreSQL 15 and later. JSON is built as text, so that it equals SQLite's: no function of PostgreSQL 15
 * writes nested objects without spaces. Text columns are declared COLLATE "C", so they compare by
 * code point.
 */
import type { Encoding, StoredValue } from '../../../model/fields/encoding.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Field } from '../../../model/model.ts'
import { caselessPattern } from '../../plan/text-match.ts'
import { searchTerms } from '../../plan/text-search.ts'
import { type Dialect, type SearchQuery, type SearchRow, searchTable, storedTable } from './dialect.ts'
import { dateGroup } from './postgres-dates.ts'
import { sumFunction } from './sum-function.ts'
import {
  aliasPrefix,
  answerBytes,
  applyToFragments,
  type Bind,
  join,
  name,
  type Sql,
  sql,
  textLiteral,
} from './writer.ts'

/** The column of a search table with the terms of all fields. Each field also has a column of its own, under its name. */
export const allTermsColumn = '_all'

/** PostgreSQL functions take at most 100 arguments. */
const maxArguments = 90

function concat(parts: readonly Sql[]): Sql {
  if (parts.length <= maxArguments) return sql`concat(${join(parts, ', ')})`
  const chunks = Array.from({ length: Math.ceil(parts.length / maxArguments) }, (_, index) =>
    concat(parts.slice(index * maxArguments, (index + 1) * maxArguments)),
  )
  return concat(chunks)
}

function nullable(json: Sql): Sql {
  return sql`coalesce((${json})::text, 'null')`
}

function object(entries: readonly (readonly [string, Sql])[]): Sql {
  const parts = entries.flatMap(([key, value], index) => [
    textLiteral(`${index === 0 ? '{' : ','}${JSON.stringify(key)}:`),
    nullable(value),
  ])
  return entries.length === 0 ? textLiteral('{}') : concat([...parts, textLiteral('}')])
}

function tuple(items: readonly Sql[]): Sql {
  const parts = items.flatMap((item, index) => [textLiteral(index === 0 ? '[' : ','), nullable(item)])
  return items.length === 0 ? textLiteral('[]') : concat([...parts, textLiteral(']')])
}

/** Casts take no collation. */
export function withoutCollation(type: string): string {
  return type.replace(/ COLLATE .*$/, '')
}

/** An array of PostgreSQL as text (https://www.postgresql.org/docs/15/arrays.html, 8.15.6). */
export function arrayOf(items: readonly (StoredValue | null)[]): string {
  const quoted = items.map(item =>
    item === null ? 'NULL' : `"${String(item).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`,
  )
  return `{${quoted.join(',')}}`
}

function cast(value: Sql, { postgres: { type } }: Encoding): Sql {
  const castValue = sql`CAST(${value} AS ${[withoutCollation(type)]})`
  return type.includes(' COLLATE ') ? sql`${castValue} COLLATE "C"` : castValue
}

/** The calendar repeats every 400 years. `make_date` has no year 0. */
function weekday(day: Sql): Sql {
  const part = (from: string, length: string) => sql`substr(${day}, ${[from]}, ${[length]})::int`
  const date = sql`make_date(${part('1', '4')} + 400, ${part('6', '2')}, ${part('9', '2')})`
  return sql`CAST(extract(isodow FROM ${date}) AS bigint)`
}

/** https://www.postgresql.org/docs/15/functions-matching.html, 9.7.3 */
function regexLiteral(character: string): string {
  return '.*+?()[]{}|\\^$'.includes(character) ? `\\${character}` : character
}

/** Matches no row: no stored word is empty. */
const noTerms = arrayOf([''])

function searchArray(text: JsonValue): string {
  const terms = searchTerms(String(text))
  return terms.length === 0 ? noTerms : arrayOf(terms)
}

/** The value, converted so that equal values compare as equal. */
function comparableSql(value: Sql, { type }: Field): Sql {
  const { comparable: write } = type.encoding.postgres
  return write === undefined ? value : applyToFragments(write, value)
}

/** The index has the terms of all fields together. A search of some fields filters its matches by their columns. */
function matches(alias: Sql | undefined, _collection: string, { fields, terms, isWhole }: SearchQuery): Sql {
  const match = sql`${aliasPrefix(alias)}${name(allTermsColumn)} @> ${terms}`
  if (isWhole) return match
  const columns = join(
    fields.map(field => sql`${aliasPrefix(alias)}${name(field.name)}`),
    ' || ',
  )
  return sql`${match} AND ${columns} @> ${terms}`
}

function search(collection: string, searched: SearchQuery): Sql {
  return sql`SELECT "id" FROM ${name(searchTable(collection))} WHERE ${matches(undefined, collection, searched)}`
}

function searchedIn(collection: string, field: Field, terms: Bind, { id, index }: SearchRow): Sql {
  const column = name(field.name)
  if (index !== undefined) return sql`${index}.${column} @> ${terms}`
  return sql`(SELECT ${column} @> ${terms} FROM ${name(searchTable(collection))} WHERE "id" = ${id})`
}

/**
 * The time by the database's clock, the same throughout a transaction. `clock`: a timestamptz.
 * https://www.postgresql.org/docs/15/functions-formatting.html
 */
export function nowSql(
  shiftMs: number,
  { name: encoding }: Encoding,
  clock = 'transaction_timestamp()',
): string {
  const shifted = `${clock} + interval '${shiftMs} milliseconds'`
  const format = encoding === 'date' ? 'YYYY-MM-DD' : 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
  return `to_char((${shifted}) AT TIME ZONE 'UTC', '${format}')`
}

export const postgres: Dialect = {
  boundedText: (text, size) => sql`CASE WHEN ${size} > ${answerBytes}::bigint THEN '' ELSE ${text} END`,
  sign: '$',
  object,
  tuple,
  array: item => sql`concat('[', string_agg(${item}, ','), ']')`,
  json: (column, { type }) => applyToFragments(type.encoding.postgres.json, column),
  exactSum: (column, { type }) => applyToFragments(sumFunction(type.encoding.postgres), column),
  extreme: (which, column, { type }) =>
    sql`${[type.encoding.postgres.extremes?.[which] ?? which]}(${column})`,
  string: text => sql`to_json(${text})`,
  constant: text => textLiteral(JSON.stringify(text)),
  count: sql`count(*)::text`,
  logged: (event, field) =>
    applyToFragments(field.type.encoding.postgres.logged, [event], textLiteral(field.name)),
  text: value => sql`(${value})::text`,
  isIn: (column, list) => sql`${column} = ANY (${list})`,
  list: arrayOf,
  searchTerms: { name: 'terms', encode: searchArray },
  limit: rows => [rows],
  // LIMIT keeps the planner from looking for the rows in another way.
  sampled: (windows, row, range) => ({
    from: sql`${windows} CROSS JOIN LATERAL ${row.of(sql`SELECT ${row.columns()} FROM ${row.from()} WHERE ${range} LIMIT 1000000`)}`,
    condition: ['TRUE'],
  }),
  computesSkippedRows: true,
  limitsParts: true,
  comparesRows: true,
  // PostgreSQL's statistics contain the number of rows of each value.
  withoutIndex: column => column,
  contains: (column, part) => sql`strpos(${column}, ${part}) > 0`,
  cast,
  rounded: value => sql`(${value})::double precision::numeric::double precision`,
  weekday,
  dateGroup,
  matches: (column, pattern) => sql`${column} ~ ${pattern}`,
  caselessPattern: { name: 'caseless', encode: text => caselessPattern(String(text), regexLiteral) },
  same: (left, right, field) =>
    sql`${comparableSql(left, field)} IS NOT DISTINCT FROM ${comparableSql(right, field)}`,
  seeksNull: false,
  now: (shiftMs, as) => sql`coalesce(${{ from: 'now', shiftMs, as }}::text, ${[nowSql(shiftMs, as)]})`,
  jsonTruth: (text, member) => sql`(${text}::json ->> ${textLiteral(member)})::boolean`,
  jsonText: (text, member) => sql`${text}::json ->> ${textLiteral(member)}`,
  nulls: descending => (descending ? [' NULLS LAST'] : [' NULLS FIRST']),
  stored: collection => collection,
  search,
  fieldMatches: searchedIn,
  secondTable: (table, _alias, condition) => sql` JOIN ${table} ON ${condition}`,
  searchIndex: { id: 'id', matches },
}

/** For tables with row security policies. */
export const rowSecurityPostgres: Dialect = { ...postgres, stored: storedTable, searchIndex: undefined }
