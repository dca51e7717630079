/** SQLite: JSON by its functions, search by FTS5. */
import { textEncoding } from '../../../model/fields/textual.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Field } from '../../../model/model.ts'
import { caselessPattern } from '../../plan/text-match.ts'
import { searchTerms } from '../../plan/text-search.ts'
import { answerSizeFunction } from './answer-size-function.ts'
import { type Dialect, type SearchQuery, type SearchRow, searchTable } from './dialect.ts'
import { sumFunction } from './sum-function.ts'
import {
  aliasPrefix,
  applyToFragments,
  arg,
  type Bind,
  empty,
  join,
  name,
  type Sql,
  sql,
  textLiteral,
} from './writer.ts'

function object(entries: readonly (readonly [string, Sql])[]): Sql {
  const parts = entries.map(([key, value]) => sql`${textLiteral(key)}, ${value}`)
  return sql`json_object(${join(parts, ', ')})`
}

/** The terms are bound as an FTS5 query. A column filter precedes it, unless all columns are searched. */
function matches(alias: Sql | undefined, collection: string, { fields, terms, isWhole }: SearchQuery): Sql {
  const columns = fields.map(field => `"${field.name}"`).join(' ')
  const columnFilter = isWhole ? empty : sql`${textLiteral(`{${columns}} : `)} || `
  return sql`${aliasPrefix(alias)}${name(searchTable(collection))} MATCH ${columnFilter}${terms}`
}

function search(collection: string, searched: SearchQuery): Sql {
  return sql`SELECT rowid FROM ${name(searchTable(collection))} WHERE ${matches(undefined, collection, searched)}`
}

/** The matches are collected once for the whole statement: a lookup for each row takes ten times as long. */
function searchedIn(collection: string, field: Field, terms: Bind, { id, lowest }: SearchRow): Sql {
  return sql`${id} IN (${search(collection, { fields: [field], terms: [terms], isWhole: false })} AND rowid >= ${lowest})`
}

/** The SQL function of `dateGroupOf`. */
export const dateGroupFunction = '_date_group'

/** The SQL function that throws once the statement has run for too long: see `sqlite/read/budget.ts`. */
export const budgetFunction = '_within_budget'

/**
 * Calls the function for every 61st id, which costs little compared with the rest of the work on a row. A prime number, since the
 * ids of imported rows may all be odd, or multiples of ten.
 */
function budgetCheck(id: Sql): Sql {
  return sql`(${id} % 61 <> 0 OR ${[`${budgetFunction}()`]})`
}

/** https://sqlite.org/lang_expr.html, 5 */
function globLiteral(character: string): string {
  return '*?['.includes(character) ? `[${character}]` : character
}

/** An FTS5 query for all the terms; the empty phrase, which matches nothing, where there are none. */
function searchQuery(text: JsonValue): string {
  const terms = searchTerms(String(text)).map(term => `"${term}"`)
  return terms.length === 0 ? '""' : `(${terms.join(' AND ')})`
}

/** Calling the function for short values would make a list of them slower. */
const maxUncountedBytes = 256

/** `octet_length` of a column does not read it. */
function countedBy(size: (value: Sql, json: Sql) => Sql): Dialect['counted'] {
  return (value, json) =>
    sql`CASE WHEN ${value} IS NULL OR octet_length(${value}) <= ${[String(maxUncountedBytes)]} OR ${[answerSizeFunction]}(${size(value, json)}) THEN ${json} END`
}

export const sqlite: Dialect = {
  sign: '?',
  counted: countedBy(value => sql`octet_length(${value})`),
  uncountedBytes: value =>
    sql`iif(octet_length(${value}) <= ${[String(maxUncountedBytes)]}, octet_length(${value}), 0)`,
  countedAs: (bytes, json) => sql`CASE WHEN ${[answerSizeFunction]}(${bytes}) THEN ${json} END`,
  object,
  tuple: items => sql`json_array(${join(items, ', ')})`,
  array: item => sql`json_group_array(${item})`,
  json: (column, { type }) => applyToFragments(type.encoding.sqlite.json, column),
  exactSum: (column, { type }) => applyToFragments(sumFunction(type.encoding.sqlite), column),
  extreme: (which, column) => sql`${[which]}(${column})`,
  string: text => text,
  constant: textLiteral,
  count: sql`count(*)`,
  logged: (event, field) =>
    applyToFragments(field.type.encoding.sqlite.logged, [event], textLiteral(`$.${field.name}`)),
  text: value => value,
  isIn: (column, list) => sql`${column} IN (SELECT value FROM json_each(${list}))`,
  list: JSON.stringify,
  searchTerms: { name: 'terms', encode: searchQuery },
  // SQLite prepares the statement again for each value of a limit that is a bare parameter, which took longer than most lists.
  limit: rows => sql`${rows} + 0`,
  // CROSS JOIN keeps the order of the tables; with NOT INDEXED, rows can only be found by id.
  sampled: (windows, row, range) => ({
    from: sql`${windows} CROSS JOIN ${row.from()} NOT INDEXED`,
    condition: range,
  }),
  computesSkippedRows: false,
  limitsParts: false,
  // Of a row value, SQLite's index search uses only the first: it would scan all items that share it.
  comparesRows: false,
  // https://sqlite.org/optoverview.html, 3: a unary plus. SQLite does not know that a list needs only its first rows.
  withoutIndex: column => sql`+${column}`,
  contains: (column, part) => sql`instr(${column}, ${part}) > 0`,
  cast: (value, { sqlite }) => sql`CAST(${value} AS ${[sqlite.type]})`,
  rounded: value => sql`CAST(printf('%.15g', ${value}) AS REAL)`,
  weekday: day => sql`(strftime('%w', ${day}) + 6) % 7 + 1`,
  dateGroup: (value, part, zone) =>
    sql`${[dateGroupFunction]}(${value}, ${textLiteral(part)}, ${zone === undefined ? ['NULL'] : arg(zone, textEncoding)})`,
  matches: (column, pattern) => sql`${column} GLOB ${pattern}`,
  caselessPattern: { name: 'caseless', encode: text => `*${caselessPattern(String(text), globLiteral)}*` },
  same: (left, right) => sql`${left} IS ${right}`,
  seeksNull: true,
  nulls: () => empty,
  now: (shiftMs, as) => [{ from: 'now', shiftMs, as }],
  jsonTruth: (text, member) => sql`${text} ->> ${textLiteral(`$.${member}`)}`,
  jsonText: (text, member) => sql`${text} ->> ${textLiteral(`$.${member}`)}`,
  stored: collection => collection,
  search,
  fieldMatches: searchedIn,
  secondTable: (table, _alias, condition) => sql` CROSS JOIN ${table} ON ${condition}`,
  searchIndex: { id: 'rowid', matches },
}

/** As `sqlite`, but counts long values with their escapes, for which it reads them twice: for large answers. */
export const exactSqlite: Dialect = {
  ...sqlite,
  counted: countedBy((_, json) => sql`octet_length(json_quote(${json}))`),
}

/** As `sqlite`, for statements that may look at many rows on the event loop. */
export const budgetedSqlite: Dialect = {
  ...sqlite,
  budgetCheck,
  search: (...args) => sql`${search(...args)} AND ${budgetCheck(['rowid'])}`,
}
