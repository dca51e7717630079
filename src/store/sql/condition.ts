/**
 * Conditions as SQL. A condition is two-valued; a comparison with null is unknown in SQL, which a WHERE
 * takes as false. Only below NOT does the difference show, so only there (`exact`) is it made false.
 */
import type { Condition, ConditionOperator, Operand, Path, VisibleField } from '../../plan/guarded.ts'
import type { Dialect } from './dialect.ts'
import type { Row } from './row.ts'
import { arg, type Bind, type Conversion, join, type Sql, sql, userId } from './writer.ts'

type Compare = Extract<Condition, { kind: 'compare' }>

const symbols: Readonly<Record<Exclude<ConditionOperator, 'in' | 'contains'>, Sql>> = {
  eq: ['='],
  ne: ['<>'],
  gt: ['>'],
  gte: ['>='],
  lt: ['<'],
  lte: ['<='],
}

export const isTrue: Sql = ['TRUE']
export const isFalse: Sql = ['FALSE']

/** `condition` over `row`. `exact`: never unknown. */
export function conditionSql(condition: Condition, row: Row, exact = false): Sql {
  switch (condition.kind) {
    case 'always':
      return isTrue
    case 'never':
      return isFalse
    case 'compare':
      return compare(condition, row, exact)
    case 'isNull':
      return sql`${visible(condition.field, row)} IS NULL`
    case 'nullness':
      return sql`(${visible(condition.field, row)} IS NULL) = ${arg(condition.param, 'boolean')}`
    case 'related':
      return related(condition, row)
    case 'search':
      return search(condition, row)
    case 'and':
      return joined(condition.conditions, ' AND ', isTrue, row, exact)
    case 'or':
      return joined(condition.conditions, ' OR ', isFalse, row, exact)
    case 'not':
      return sql`NOT (${conditionSql(condition.condition, row, true)})`
  }
}

/** A conjunction without its trivial parts: what follows WHERE, or nothing. */
export function where(parts: readonly Sql[]): Sql {
  const kept = parts.filter(part => part !== isTrue)
  return kept.length === 0 ? [] : sql` WHERE ${join(kept, ' AND ')}`
}

function joined(conditions: readonly Condition[], by: string, empty: Sql, row: Row, exact: boolean): Sql {
  const parts = conditions.map(each => conditionSql(each, row, exact))
  const [first] = parts
  if (first === undefined) return empty
  return parts.length === 1 ? first : sql`(${join(parts, by)})`
}

/** The field's value: null in the rows where it is hidden. */
export function visible(field: VisibleField, row: Row): Sql {
  const column = row.column(field.field.name)
  if (field.when.kind === 'always') return column
  return sql`CASE WHEN ${conditionSql(field.when, row)} THEN ${column} END`
}

function compare(condition: Compare, row: Row, exact: boolean): Sql {
  const { field, when } = condition.field
  const column = row.column(field.name)
  const test = comparison(condition, column, row.dialect)
  const unknown = field.optional || condition.operand.kind !== 'literal'
  const twoValued = exact && unknown ? sql`(${test}) IS TRUE` : test
  if (when.kind === 'always') return twoValued
  return sql`(${conditionSql(when, row, exact)} AND ${twoValued})`
}

function comparison({ field, operator, operand }: Compare, column: Sql, dialect: Dialect): Sql {
  if (operator === 'in') return dialect.isIn(column, bindOf(operand, 'list'))
  const value = bindOf(operand, field.field.type.encoding)
  if (operator === 'contains') return dialect.contains(column, [value])
  return sql`${column} ${symbols[operator]} ${value}`
}

/** The bind that stands for an operand. */
export function bindOf(operand: Operand, as: Conversion): Bind {
  if (operand.kind === 'param') return arg(operand.param, as)
  if (operand.kind === 'userId') return userId
  return { from: 'constant', value: operand.value, as }
}

function search(condition: Extract<Condition, { kind: 'search' }>, row: Row): Sql {
  if (row.source?.search === condition) return row.source.matches
  const { fields, param, isWhole } = condition
  const ids = row.dialect.search(row.table, { fields, words: arg(param, 'words'), isWhole })
  return sql`${row.column('id')} IN (${ids})`
}

/** Whether a related row exists for which the condition holds. */
function related({ path, rows, stored }: Extract<Condition, { kind: 'related' }>, row: Row): Sql {
  const { name } = path.target
  const target = stored ? row.stored(name) : row.another(name)
  const conditions = [linked(path, target, row, stored), conditionSql(rows, target)]
  return sql`EXISTS (SELECT 1 FROM ${target.from()}${where(conditions)})`
}

/** That `target` is one of the rows that `path` leads to from `row`. */
export function linked(path: Path, target: Row, row: Row, stored?: true): Sql {
  if (path.relation.kind === 'one') return sql`${target.column('id')} = ${row.column(path.relation.field)}`
  return reached(path, target, row.column('id'), stored)
}

/** That `target` is one of the rows that a to-many `path` leads to from the row with this id. */
export function reached(path: Path, target: Row, id: Sql, stored?: true): Sql {
  if (path.relation.kind === 'one') throw new TypeError('a list cannot follow a to-one relation')
  if (path.relation.kind === 'many') return sql`${target.column(path.relation.field)} = ${id}`
  if (!('through' in path)) throw new TypeError('a many-to-many path needs its join collection')
  const { from, to } = path.relation
  const { name } = path.through
  const through = stored ? target.stored(name) : target.another(name)
  const rows = where([sql`${through.column(from)} = ${id}`, conditionSql(path.joinRows, through)])
  return sql`${target.column('id')} IN (SELECT ${through.column(to)} FROM ${through.from()}${rows})`
}
