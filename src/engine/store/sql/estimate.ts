/**
 * The estimated number of rows of a list: counted up to a bound, and extrapolated from a sample beyond it.
 *
 * The sample consists of windows of consecutive ids. The range of ids is divided into equal parts, each with one window,
 * whose position varies from part to part, so that no period in the data coincides with it. Every row is in the sample with
 * the same probability, however the ids are distributed, and the same data gives the same estimate. The databases' own
 * statistics do not suffice: SQLite has none without ANALYZE, and PostgreSQL's do not cover `contains`, related rows or
 * correlated columns.
 */
import { textEncoding } from '../../../model/fields/textual.ts'
import type { GuardedList } from '../../plan/guarded.ts'
import type { Condition } from '../../plan/guarded-conditions.ts'
import { maxCounted } from '../../plan/plan.ts'
import type { Total } from '../read/lists.ts'
import type { SqlValue } from '../values.ts'
import { isTrue, type RelatedForm, whereClause } from './condition.ts'
import type { Dialect } from './dialect.ts'
import { conditionsOf } from './read.ts'
import { RowAlias } from './row-alias.ts'
import { type Bind, join, name, type Sql, sql } from './writer.ts'

const windowCount = 1000
/** Per window, on average. */
const rowsInWindow = 10

/** One row: the count, up to `maxCounted` + 1; the estimate if there are more; the total of the whole collection. */
export function estimateSql(list: GuardedList, dialect: Dialect, form?: RelatedForm): Sql {
  const row = new RowAlias(dialect, list.collection.name)
  const bound: Sql = [String(maxCounted + 1)]
  const some = sql`SELECT 1 FROM ${row.from()}${whereClause(conditionsOf(list, row, form))} LIMIT ${bound}`
  const counted = sql`SELECT count(*) AS n FROM (${some}) AS c`
  const sample = sampleSql(list, dialect, form && sampleForm(list.rows))
  return sql`SELECT n, CASE WHEN n > ${[String(maxCounted)]} THEN (${sample}) END, ${wholeSql(list)} FROM (${counted}) AS m`
}

/**
 * For SQLite, which might not start a join with the sample. The set of ids behind a to-one relation is small; behind other
 * relations it may be as large as the list.
 */
function sampleForm(condition: Condition): RelatedForm {
  if (condition.kind === 'related') return condition.path.relation.kind === 'one' ? 'set' : 'check'
  if (condition.kind !== 'and' && condition.kind !== 'or') return 'set'
  return condition.parts.every(each => sampleForm(each) === 'set') ? 'set' : 'check'
}

/** Reads the row of `estimateSql`. */
export function estimated(row: readonly SqlValue[] | undefined): Total {
  const [counted = 0, sampled = null, whole = 0] = (row ?? []).map(Number)
  if (counted <= maxCounted) return { total: counted, isEstimate: false }
  const most = Math.max(whole, counted)
  // Row security hides the whole table's total from some callers.
  const total = Math.max(counted, Math.round(sampled ?? 0))
  return { total: whole === 0 ? total : Math.min(total, most), isEstimate: true }
}

/** The number of rows of the whole collection; 0 if row security hides it. */
function wholeSql({ collection }: GuardedList): Sql {
  const named: Bind = { from: 'constant', value: collection.name, as: textEncoding }
  return sql`(SELECT CAST(coalesce(sum("n"), 0) AS BIGINT) FROM "_totals" WHERE "collection" = ${named})`
}

/** One column: the list's rows in all windows, multiplied by the ratio of the range of ids to the windows together. */
function sampleSql(list: GuardedList, dialect: Dialect, form: RelatedForm | undefined): Sql {
  const row = new RowAlias(dialect, list.collection.name)
  const conditions = conditionsOf(list, row, form)
  const id = row.column('id')
  // No sum is computed here: under row security, PostgreSQL would not use an index for it.
  const range = sql`${id} >= w.start AND ${id} < w.stop`
  const { from, condition } = dialect.sampled(['w'], row, range)
  const factor = sql`CAST(max(w.span) AS DOUBLE PRECISION) / (${[String(windowCount)]} * max(w.size))`
  const rows = whereClause([condition, ...conditions].filter(part => part !== isTrue))
  return sql`WITH RECURSIVE ${windowsSql(list)} SELECT count(*) * (${factor}) FROM ${from}${rows}`
}

/** `w`: the windows, each with the length of the range. Integer arithmetic only, so that all databases agree. */
function windowsSql(list: GuardedList): Sql {
  const table = name(list.collection.name)
  const count: Sql = [String(windowCount)]
  // Separately: SQLite looks up `min` or `max` in an index, but not both at once.
  const ends = sql`(SELECT min("id") FROM ${table}) AS low, (SELECT max("id") FROM ${table}) AS high`
  const rows = sql`CASE WHEN whole > ${[String(maxCounted)]} THEN whole ELSE span END`
  const size = sql`(${[String(rowsInWindow)]} * span + (${rows}) - 1) / (${rows})`
  const slack = sql`CASE WHEN span / ${count} > size THEN span / ${count} - size ELSE 0 END`
  const start = sql`low + k * span / ${count} + (${slack}) * (k * 618033 % 1000000) / 1000000`
  return join(
    [
      sql`parts(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM parts WHERE k < ${count} - 1)`,
      sql`ends AS MATERIALIZED (SELECT ${ends}, ${wholeSql(list)} AS whole)`,
      sql`spans AS (SELECT low, high - low + 1 AS span, whole FROM ends)`,
      sql`sizes AS (SELECT low, span, ${size} AS size FROM spans)`,
      sql`starts AS (SELECT ${start} AS start, span, size FROM parts, sizes)`,
      sql`w AS MATERIALIZED (SELECT start, start + size AS stop, span, size FROM starts)`,
    ],
    ', ',
  )
}
