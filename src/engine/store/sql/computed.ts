/** The values of computed fields: equal on both databases. No stored value makes a statement fail. */
import { wholeEncoding } from '../../../model/fields/integer.ts'
import { realEncoding } from '../../../model/fields/number.ts'
import { textEncoding } from '../../../model/fields/textual.ts'
import type { Computation, Condition, RelationPath, VisibleField } from '../../plan/guarded-conditions.ts'
import type { Dialect } from './dialect.ts'
import { orderBy } from './order-by.ts'
import type { RowAlias } from './row-alias.ts'
import { join, type Sql, sql } from './writer.ts'

type ComputationOf<Kind extends Computation['kind']> = Computation & { readonly kind: Kind }

/** The SQL of the parts of computations. `condition.ts` passes it in, to avoid a circular import. */
export interface RowSql {
  condition(condition: Condition, row: RowAlias): Sql
  /** Null in the rows where the field is hidden. */
  field(field: VisibleField, row: RowAlias): Sql
  /** FROM and WHERE of the rows to which `path` leads and for which `rows` holds. */
  related(path: RelationPath, rows: Condition, target: RowAlias, row: RowAlias, stored?: true): Sql
}

/** `computation` over `row`. */
export function computedSql(computation: Computation, row: RowAlias, rowSql: RowSql): Sql {
  switch (computation.kind) {
    case 'column':
      return rowSql.field(computation.field, row)
    case 'literal':
      return literalSql(computation, row)
    case 'related':
      return relatedSql(computation, row, rowSql)
    case 'aggregate':
      return aggregateSql(computation, row, rowSql)
    case 'first':
      return firstSql(computation, row, rowSql)
    case 'arithmetic':
      return arithmeticSql(computation, row, rowSql)
    case 'concat':
      return concatSql(computation, row, rowSql)
    case 'coalesce':
      return coalesceSql(computation, row, rowSql)
    case 'when': {
      const [value, otherwise] = [computation.value, computation.otherwise].map(branch =>
        castPart(branch, computation, row, rowSql),
      )
      const condition = rowSql.condition(computation.condition, row)
      return sql`CASE WHEN ${condition} THEN ${value ?? []} ELSE ${otherwise ?? []} END`
    }
    case 'datePart':
      return datePartSql(computation, row, rowSql)
    case 'round':
      return roundSql(computation, row, rowSql)
  }
}

/** Applies `write` to the value, which is computed only once, even if `write` repeats it. */
export function evaluatedOnce(value: Sql, write: (value: Sql) => Sql): Sql {
  const placeholder: Sql = ['v.x']
  const text = write(placeholder)
  const useCount = text.join('').split('v.x').length - 1
  // The limit keeps databases from inlining the subquery.
  return useCount > 1 ? sql`(SELECT ${text} FROM (SELECT ${value} AS x LIMIT 1) AS v)` : write(value)
}

function literalSql({ value, type }: ComputationOf<'literal'>, { dialect }: RowAlias): Sql {
  if (value === null) return ['NULL']
  return dialect.cast([{ from: 'constant', value, as: type.encoding }], type.encoding)
}

/** The part, cast to the type of the whole: an integer may occur where a real number is expected. */
function castPart(part: Computation, { type }: Computation, row: RowAlias, rowSql: RowSql): Sql {
  const value = computedSql(part, row, rowSql)
  const isNull = part.kind === 'literal' && part.value === null
  return isNull || part.type.encoding === type.encoding ? value : row.dialect.cast(value, type.encoding)
}

function relatedSql(
  { path, when, rows, value }: ComputationOf<'related'>,
  row: RowAlias,
  rowSql: RowSql,
): Sql {
  const target = row.another(path.target.name)
  const computed = computedSql(value, target, rowSql)
  const query = sql`(SELECT ${computed} FROM ${rowSql.related(path, rows, target, row)})`
  return when.kind === 'always' ? query : sql`CASE WHEN ${rowSql.condition(when, row)} THEN ${query} END`
}

function aggregateSql(computation: ComputationOf<'aggregate'>, row: RowAlias, rowSql: RowSql): Sql {
  const { dialect } = row
  const { path, field, function: name, stored } = computation
  const target = stored ? row.stored(path.target.name) : row.another(path.target.name)
  const value = field === undefined ? ['*'] : rowSql.field(field, target)
  const rows = rowSql.related(path, computation.rows, target, row, stored)
  if (name === 'count' || name === 'min' || name === 'max') {
    return sql`(SELECT ${[name]}(${value}) FROM ${rows})`
  }
  if (field === undefined) throw new TypeError(`${name} has a field`)
  const { encoding } = field.field.type
  const totals = sql`(SELECT ${dialect.exactSum(value, field.field)} AS s, count(${value}) AS n FROM ${rows}) AS w`
  const inRange = (number: Sql) => (encoding.isWhole ? number : realSql(number, dialect))
  if (name === 'avg') return sql`(SELECT ${inRange(['w.s / nullif(w.n, 0)'])} FROM ${totals})`
  const total = encoding.isWhole ? wholeSql(['w.s'], dialect) : realSql(['w.s'], dialect)
  return sql`(SELECT CASE WHEN w.n = 0 THEN 0 ELSE ${total} END FROM ${totals})`
}

function firstSql(computation: ComputationOf<'first'>, row: RowAlias, rowSql: RowSql): Sql {
  const target = row.another(computation.path.target.name)
  const value = rowSql.field(computation.field, target)
  const rows = rowSql.related(computation.path, computation.rows, target, row)
  const order = orderBy(computation.sort, target, ({ field }) => rowSql.field(field, target))
  return sql`(SELECT ${value} FROM ${rows}${order} LIMIT 1)`
}

/**
 * In double precision on both databases, since integers overflow differently, and where one database fails the other
 * returns infinity. Numbers beyond 1e150 give null; those within 1e-150 of zero count as zero.
 */
function arithmeticSql(
  { operator, left, right, type }: ComputationOf<'arithmetic'>,
  row: RowAlias,
  rowSql: RowSql,
): Sql {
  const { dialect } = row
  const [a, b] = [left, right].map(part => dialect.cast(computedSql(part, row, rowSql), realEncoding))
  const divisor = operator === '/' ? sql`nullif(${withinRange(['v.b'])}, 0)` : withinRange(['v.b'])
  const result = sql`${withinRange(['v.a'])} ${[operator]} ${divisor}`
  const operands = sql`(SELECT ${a ?? []} AS a, ${b ?? []} AS b LIMIT 1) AS v`
  if (!type.encoding.isWhole) return sql`(SELECT ${result} FROM ${operands})`
  const computed = sql`(SELECT ${result} AS r FROM ${operands} LIMIT 1) AS w`
  return sql`(SELECT ${wholeSql(['w.r'], dialect)} FROM ${computed})`
}

/** Halves away from zero. The databases' own functions differ there. */
function roundSql({ of }: ComputationOf<'round'>, row: RowAlias, rowSql: RowSql): Sql {
  const { dialect } = row
  const value = dialect.cast(computedSql(of, row, rowSql), realEncoding)
  const size = sql`abs(v.x)`
  const rounded = sql`floor(${size}) + CASE WHEN ${size} - floor(${size}) >= 0.5 THEN 1 ELSE 0 END`
  const signed = sql`(SELECT (${rounded}) * CASE WHEN v.x < 0 THEN -1 ELSE 1 END AS r FROM (SELECT ${value} AS x LIMIT 1) AS v LIMIT 1) AS w`
  return sql`(SELECT ${wholeSql(['w.r'], dialect)} FROM ${signed})`
}

const largest: Sql = ['1e150']
const smallest: Sql = ['1e-150']

function withinRange(value: Sql, write = (clamped: Sql): Sql => clamped): Sql {
  const clamped = sql`CASE WHEN abs(${value}) >= ${smallest} THEN ${value} ELSE 0 END`
  return sql`CASE WHEN abs(${value}) <= ${largest} THEN ${write(clamped)} END`
}

/** Null beyond the integers that JSON readers represent exactly (RFC 8259, 6). */
function wholeSql(value: Sql, dialect: Dialect): Sql {
  const safe: Sql = [String(Number.MAX_SAFE_INTEGER)]
  return sql`CASE WHEN abs(${value}) <= ${safe} THEN ${dialect.cast(value, wholeEncoding)} END`
}

/** Rounded: the last digits of a floating-point sum depend on the order of its terms. */
function realSql(value: Sql, dialect: Dialect): Sql {
  return withinRange(value, dialect.rounded)
}

function concatSql({ parts }: ComputationOf<'concat' | 'coalesce'>, row: RowAlias, rowSql: RowSql): Sql {
  const texts = parts.map(part => {
    const text = row.dialect.cast(computedSql(part, row, rowSql), textEncoding)
    return sql`coalesce(${text}, '')`
  })
  return sql`(${join(texts, ' || ')})`
}

function coalesceSql(computation: ComputationOf<'concat' | 'coalesce'>, row: RowAlias, rowSql: RowSql): Sql {
  const parts = computation.parts.map(part => castPart(part, computation, row, rowSql))
  const [single] = parts
  return parts.length === 1 && single ? single : sql`coalesce(${join(parts, ', ')})`
}

/** The position and length of the parts in `YYYY-MM-DDTHH:MM:SS.sssZ`. */
const partPositions = { year: [1, 4], month: [6, 2], day: [9, 2], hour: [12, 2] } as const

function datePartSql({ part, of }: ComputationOf<'datePart'>, row: RowAlias, rowSql: RowSql): Sql {
  const { dialect } = row
  const value = computedSql(of, row, rowSql)
  const day = (text: Sql) => sql`substr(${text}, 1, 10)`
  if (part === 'date') return dialect.cast(day(value), textEncoding)
  if (part === 'weekday') return evaluatedOnce(value, text => dialect.weekday(day(text)))
  const [start, length] = partPositions[part]
  return dialect.cast(sql`substr(${value}, ${[String(start)]}, ${[String(length)]})`, wholeEncoding)
}
