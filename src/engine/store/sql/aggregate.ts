/** The statements of aggregates: an inner query computes the values of each group, the outer one writes them as JSON. */
import { datePrefixLengths, hourOrderLength } from '../../../model/fields/date-parts.ts'
import { wholeEncoding } from '../../../model/fields/integer.ts'
import { realEncoding } from '../../../model/fields/number.ts'
import { isColumn } from '../../plan/condition.ts'
import type {
  GuardedAggregate,
  GuardedAggregation,
  GuardedGroupKey,
  GuardedList,
  GuardedMeasure,
} from '../../plan/guarded.ts'
import type { FieldForm, GroupSort, SelectedAggregate } from '../../plan/plan.ts'
import { evaluatedOnce } from './computed.ts'
import { type RelatedForm, visibleSql, whereClause } from './condition.ts'
import type { Dialect } from './dialect.ts'
import { conditionsOf } from './read.ts'
import { RowAlias } from './row-alias.ts'
import { readSearchIndexFirst } from './search.ts'
import { formSql } from './select.ts'
import { arg, join, name, type Sql, sql } from './writer.ts'

/** One row per group: its text. Reads one row more than the limit, to tell whether others follow. */
export function aggregateSql(shape: GuardedAggregate, dialect: Dialect, form?: RelatedForm): Sql {
  const { aggregation } = shape
  const row = new RowAlias(dialect, shape.collection.name)
  const limit = sql`${dialect.limit(arg(aggregation.limit))} + 1`
  const groups = groupsSql(shape, aggregation, row, { limit, form })
  const text = dialect.text(membersSql(aggregation.select, aggregation, row))
  return sql`SELECT ${text} FROM ${row.of(groups)}`
}

/** The JSON array of the groups, as a value. */
export function aggregateRootSql(
  rows: Pick<GuardedList, 'collection' | 'rows' | 'within'>,
  aggregation: GuardedAggregation,
  row: RowAlias,
): Sql {
  const limit = row.dialect.limit(arg(aggregation.limit))
  const groups = groupsSql(rows, aggregation, row, { limit })
  const array = row.dialect.array(membersSql(aggregation.select, aggregation, row))
  return sql`(SELECT ${array} FROM ${row.of(groups)})`
}

/** One row per group, with columns named by `columnOf`. */
function groupsSql(
  list: Pick<GuardedList, 'collection' | 'rows' | 'within'>,
  { groups, measures, sort, offset }: GuardedAggregation,
  row: RowAlias,
  { limit, form }: { readonly limit: Sql; readonly form?: RelatedForm | undefined },
): Sql {
  const inner = row.inner()
  readSearchIndexFirst(inner, { ...list, isWhole: list.within === undefined })
  const columns = [
    ...groups.map((group, index) => sql`${keySql(group, inner)} AS ${columnOf('group', index)}`),
    ...measures.map((measure, index) => sql`${measureSql(measure, inner)} AS ${columnOf('measure', index)}`),
  ]
  const conditions = whereClause(conditionsOf(list, inner, form))
  // A selection without columns still has one group, hence one row.
  const columnList = columns.length === 0 ? sql`count(*)` : join(columns, ', ')
  const groupBy: Sql =
    groups.length === 0 ? [] : [` GROUP BY ${groups.map((_, index) => index + 1).join(', ')}`]
  const order = orderSql(sort, groups.length, row.dialect)
  return sql`SELECT ${columnList} FROM ${inner.from()}${conditions}${groupBy}${order} LIMIT ${limit} OFFSET ${arg(offset)}`
}

function columnOf(by: GroupSort['by'], index: number): Sql {
  return name(`${by}_${index}`)
}

/** By the numbers of the columns. */
function orderSql(sort: readonly GroupSort[], groups: number, { nulls }: Dialect): Sql {
  const keys = sort.map(({ by, index, descending }): Sql => {
    const number = by === 'group' ? index + 1 : groups + index + 1
    return [`${number}${descending ? ' DESC' : ''}`, ...nulls(descending)]
  })
  return keys.length === 0 ? [] : sql` ORDER BY ${join(keys, ', ')}`
}

function keySql({ field, part, zone }: GuardedGroupKey, row: RowAlias): Sql {
  const value = visibleSql(field, row)
  if (part === undefined) return value
  if (zone !== undefined || part === 'quarter' || part === 'week')
    return isColumn(field)
      ? row.dialect.dateGroup(value, part, zone)
      : evaluatedOnce(value, once => row.dialect.dateGroup(once, part, zone))
  return sql`substr(${value}, 1, ${[String(datePrefixLengths[part])]})`
}

function measureSql(measure: GuardedMeasure, row: RowAlias): Sql {
  if (measure.kind === 'count') return ['count(*)']
  const { kind, field } = measure
  const value = visibleSql(field, row)
  if (kind === 'sum') return row.dialect.exactSum(value, field.field)
  if (kind === 'avg') return average(row.dialect.exactSum(value, field.field), value)
  return row.dialect.extreme(kind, value, field.field)
}

/** 0 if the sum is nearly 0: PostgreSQL refuses a quotient that underflows. */
function average(sum: Sql, value: Sql): Sql {
  return sql`CASE WHEN abs(${sum}) < 1e-290 THEN 0 ELSE ${sum} / nullif(count(${value}), 0) END`
}

function membersSql(
  select: readonly SelectedAggregate[],
  aggregation: GuardedAggregation,
  row: RowAlias,
): Sql {
  return row.dialect.object(
    select.map(selected => [selected.key, memberSql(selected, aggregation, row)] as const),
  )
}

function memberSql(selected: SelectedAggregate, aggregation: GuardedAggregation, row: RowAlias): Sql {
  if (selected.kind === 'constant') return row.dialect.constant(selected.value)
  if (selected.kind === 'object') return membersSql(selected.select, aggregation, row)
  const { kind, index, as } = selected
  const column = sql`${name(row.alias)}.${columnOf(kind, index)}`
  if (kind === 'measure') return measureJson(column, aggregation.measures[index], as, row)
  const group = aggregation.groups[index]
  if (group === undefined) throw new TypeError('a selected key must be one of the groups')
  const isOrdered = group.part === 'hour' && group.zone !== undefined
  if (isOrdered) return row.dialect.string(sql`substr(${column}, ${[String(hourOrderLength + 1)]})`)
  if (group.part !== undefined) return row.dialect.string(column)
  return formSql(column, group.field.field, as, row)
}

function measureJson(
  column: Sql,
  measure: GuardedMeasure | undefined,
  as: FieldForm | undefined,
  row: RowAlias,
): Sql {
  if (measure === undefined) throw new TypeError('a selected measure must be one of the measures')
  if (measure.kind === 'count') return row.dialect.json(column, { type: { encoding: wholeEncoding } })
  if (measure.kind === 'sum' || measure.kind === 'avg')
    return row.dialect.json(column, { type: { encoding: realEncoding } })
  return formSql(column, measure.field.field, as, row)
}
