/**
 * Conditions as SQL. A condition is true or false. In SQL, a comparison with null is unknown, which WHERE treats as false.
 * The difference matters only below NOT: only there (`exact`) is unknown converted to false.
 */

import { addressRecord } from '../../../base/records.ts'
import { booleanEncoding } from '../../../model/fields/boolean.ts'
import type { Encoding } from '../../../model/fields/encoding.ts'
import { textEncoding } from '../../../model/fields/textual.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { type Fact, statedFact } from '../../plan/guard/facts.ts'
import {
  type Condition,
  type ConditionOfKind,
  type ConditionOperator,
  type FieldPath,
  isValue,
  type Operand,
  type RelationPath,
  type Value,
  type VisibleField,
} from '../../plan/guarded-conditions.ts'
import { beyondPrefix } from '../../plan/text-match.ts'
import { computedSql, type RowSql } from './computed.ts'
import type { Dialect } from './dialect.ts'
import type { RowAlias } from './row-alias.ts'
import { arg, type Bind, type Conversion, join, type Sql, sql, textLiteral, userId } from './writer.ts'

const symbols: Readonly<
  Record<Exclude<ConditionOperator, 'in' | 'contains' | 'icontains' | 'starts_with'>, Sql>
> = {
  eq: ['='],
  ne: ['<>'],
  gt: ['>'],
  gte: ['>='],
  lt: ['<'],
  lte: ['<='],
}

export const isTrue: Sql = ['TRUE']
export const isFalse: Sql = ['FALSE']

/**
 * The form of a condition on related rows. `exists`: EXISTS, which databases may turn into a join. `check`: the same, but
 * SQLite does not turn it into a join. `set`: a set of ids that is computed once, and by which rows can be found. Which
 * form is fastest depends on the data: see decisions/node-sqlite.md.
 */
export type RelatedForm = 'exists' | 'check' | 'set'

/** `condition` over `row`. `exact`: never unknown. */
export function conditionSql(
  condition: Condition,
  row: RowAlias,
  exact = false,
  form: RelatedForm = 'exists',
): Sql {
  const nested = (part: Condition) => conditionSql(part, row, exact, form)
  switch (condition.kind) {
    case 'always':
      return isTrue
    case 'never':
      return isFalse
    case 'compare':
      return compare(condition, row, exact, form)
    case 'fields':
      return compareFields(condition, row, exact)
    case 'values':
      return compareValues(condition, row, exact)
    case 'isNull':
      return sql`${visibleSql(condition.field, row)} IS NULL`
    case 'nullness':
      return sql`(${visibleSql(condition.field, row)} IS NULL) = ${arg(condition.param, booleanEncoding)}`
    case 'related':
      return form === 'set' && !exact ? inSet(condition, row) : related(condition, row, form)
    case 'search':
      return search(condition, row)
    case 'fact':
      return factHolds(condition, row)
    case 'and':
      return combined(condition.parts.map(nested), ' AND ', isTrue)
    case 'or':
      return combined(condition.parts.map(nested), ' OR ', isFalse)
    case 'not':
      return sql`NOT (${conditionSql(condition.part, row, true, form)})`
  }
}

/** The first condition of a statement that may scan many rows: see `Dialect.budgetCheck`. */
export function budgetCheck(row: RowAlias): Sql {
  return row.dialect.budgetCheck === undefined ? isTrue : row.dialect.budgetCheck(row.sorted().column('id'))
}

/** A WHERE clause without conditions that are always true; empty if none is left. */
export function whereClause(parts: readonly Sql[]): Sql {
  const conditions = parts.filter(part => part !== isTrue)
  return conditions.length === 0 ? [] : sql` WHERE ${join(conditions, ' AND ')}`
}

function combined(parts: readonly Sql[], operator: string, empty: Sql): Sql {
  const [first] = parts
  if (first === undefined) return empty
  return parts.length === 1 ? first : sql`(${join(parts, operator)})`
}

/** The field's value; null in rows where it is hidden. */
export function visibleSql(field: VisibleField, row: RowAlias): Sql {
  const value = valueSql(field, row)
  if (field.when.kind === 'always') return value
  return sql`CASE WHEN ${conditionSql(field.when, row)} THEN ${value} END`
}

/** The field's value, whether or not it is hidden. */
export function valueSql({ field, computation, isStored }: VisibleField, row: RowAlias): Sql {
  return computation === undefined || (isStored && !row.isLogged)
    ? row.column(field.name)
    : computedSql(computation, row, rowSql)
}

/** The SQL of the parts of computed values. */
const rowSql: RowSql = {
  condition: conditionSql,
  field: visibleSql,
  related: (path, rows, target, row, stored) => {
    const conditions = [
      budgetCheck(target),
      linkCondition(path, target, row, stored),
      conditionSql(rows, target),
    ]
    return sql`${target.from()}${whereClause(conditions)}`
  },
}

function compareValues(
  { left, operator, right }: ConditionOfKind<'values'>,
  row: RowAlias,
  exact: boolean,
): Sql {
  const [a, b] = [left, right].map(value => computedSql(value, row, rowSql))
  const test = sql`${a ?? []} ${symbolOf(operator)} ${b ?? []}`
  return exact ? sql`(${test}) IS TRUE` : test
}

function compare(
  condition: ConditionOfKind<'compare'>,
  row: RowAlias,
  exact: boolean,
  form: RelatedForm,
): Sql {
  const { field, when } = condition.field
  const mayUseIndex = condition.operand.kind !== 'literal' || !row.excludedFromIndexes.has(field.name)
  const value = valueSql(condition.field, row)
  const column = mayUseIndex ? value : row.dialect.withoutIndex(value)
  const test = comparison(condition, column, row)
  const unknown = field.optional || condition.operand.kind !== 'literal'
  const twoValued = exact && unknown ? sql`(${test}) IS TRUE` : test
  if (when.kind === 'always') return twoValued
  return sql`(${conditionSql(when, row, exact, form)} AND ${twoValued})`
}

function comparison(
  { field, operator, operand }: ConditionOfKind<'compare'>,
  column: Sql,
  row: RowAlias,
): Sql {
  const { dialect } = row
  const { encoding } = field.field.type
  if (!isValue(operand)) return sql`${column} ${symbolOf(operator)} ${contextualSql(operand, encoding, row)}`
  if (operator === 'in') return dialect.isIn(column, bindOf(operand, listConversion(encoding, dialect)))
  const value = bindOf(operand, encoding)
  if (operator === 'contains') return dialect.contains(column, [value])
  if (operator === 'icontains') return dialect.matches(column, bindOf(operand, dialect.caselessPattern))
  if (operator === 'starts_with') return startsWith(column, value, bindOf(operand, endOfPrefix))
  return sql`${column} ${symbolOf(operator)} ${value}`
}

function isSymbol(operator: ConditionOperator): operator is keyof typeof symbols {
  return Object.hasOwn(symbols, operator)
}

function symbolOf(operator: ConditionOperator): Sql {
  if (isSymbol(operator)) return symbols[operator]
  throw new TypeError(`${operator} takes a value`)
}

type Contextual = Exclude<Operand, Value>

/** The time of the request, or a property of its caller, as the other operand of a comparison. */
function contextualSql(operand: Contextual, as: Encoding, row: RowAlias): Sql {
  switch (operand.kind) {
    case 'now':
      return operand.at === undefined
        ? row.dialect.now(operand.shiftMs, as)
        : [arg(operand.at, shiftedTime(operand.shiftMs, as))]
    case 'appId':
      return [{ from: 'appId' }]
    case 'claim':
      return [{ from: 'claim', claim: operand.claim, as }]
    case 'caller':
      return callerField(operand, row)
  }
}

/** Converts a time, ISO 8601 UTC, into the shifted time in the form of the encoding. */
function shiftedTime(shiftMs: number, as: Encoding): Conversion {
  return {
    name: `time ${shiftMs} ${as.name}`,
    encode: time => {
      const shifted = new Date(Date.parse(String(time)) + shiftMs).toISOString()
      return as.encode(as.now?.(shifted) ?? shifted)
    },
  }
}

/** A field of the caller's own row, read once per statement. */
function callerField(
  { users, field, isConfirmed, when }: Contextual & { kind: 'caller' },
  row: RowAlias,
): Sql {
  const caller = when ? row.another(users.name) : row.stored(users.name)
  const value = caller.column(field.name)
  const conditions = [
    sql`${caller.column('id')} = ${userId}`,
    isConfirmed ? isConfirmedAddress(value, row) : isTrue,
  ]
  if (when) conditions.push(conditionSql(when, caller))
  return sql`(SELECT ${value} FROM ${caller.from()}${whereClause(conditions)})`
}

/** The condition that the caller has confirmed the address: see `identity/accounts/addresses/addresses.ts`. */
function isConfirmedAddress(address: Sql, { dialect }: RowAlias): Sql {
  const payload: Sql = ['"_records"."payload"']
  const isOwn = sql`"_records"."kind" = ${textLiteral(addressRecord)} AND "_records"."id" = CAST(CAST(${userId} AS BIGINT) AS TEXT)`
  // In the select list, not in WHERE: the payloads of other records may not be JSON.
  const isProven = sql`${dialect.jsonTruth(payload, 'verified')} AND ${dialect.jsonText(payload, 'email')} = ${address}`
  return sql`(SELECT ${isProven} FROM "_records" WHERE ${isOwn})`
}

function compareFields(
  { left, operator, right }: ConditionOfKind<'fields'>,
  row: RowAlias,
  exact: boolean,
): Sql {
  const test = sql`${fieldSql(left, row)} ${symbols[operator]} ${fieldSql(right, row)}`
  return exact ? sql`(${test}) IS TRUE` : test
}

/** The value of the field at the end of the path; null if a relation is empty. */
function fieldSql({ steps, field }: FieldPath, row: RowAlias): Sql {
  const [first, ...others] = steps
  if (first === undefined) return row.column(field.name)
  let last = row.stored(first.target.name)
  const link = sql`${last.column('id')} = ${row.column(first.relation.field)}`
  let from = last.from()
  for (const { relation, target } of others) {
    const next = row.stored(target.name)
    from = sql`${from} JOIN ${next.from()} ON ${next.column('id')} = ${last.column(relation.field)}`
    last = next
  }
  return sql`(SELECT ${last.column(field.name)} FROM ${from} WHERE ${link})`
}

/** As a range, so that an index can be used. */
function startsWith(column: Sql, prefix: Bind, end: Bind): Sql {
  return sql`(${column} >= ${prefix} AND ${column} < ${end})`
}

const endOfPrefix: Conversion = {
  name: 'beyond prefix',
  encode: prefix => beyondPrefix(String(prefix)),
}

/** A list of values, each of which has the encoding. */
function listConversion({ name, encode }: Encoding, dialect: Dialect): Conversion {
  const encodeItem = (value: JsonValue) => (value === null ? null : encode(value))
  return {
    name: `list of ${name}`,
    encode: values => dialect.list((values as readonly JsonValue[]).map(encodeItem)),
  }
}

/** The bind of a value. */
export function bindOf(operand: Value, as: Conversion): Bind {
  if (operand.kind === 'param') return arg(operand.param, as)
  if (operand.kind === 'userId') return userId
  return { from: 'constant', value: operand.value, as }
}

function search(condition: ConditionOfKind<'search'>, row: RowAlias): Sql {
  if (row.source?.search === condition) return row.source.matches
  const { fields, param, isWhole } = condition
  const ids = row.dialect.search(row.table, { fields, terms: [arg(param, row.dialect.searchTerms)], isWhole })
  return sql`${row.column('id')} IN (${ids})`
}

/** Never unknown. */
function factHolds({ key, holds, facts }: ConditionOfKind<'fact'>, { dialect }: RowAlias): Sql {
  const stated = dialect.contains([arg(facts, textEncoding)], textLiteral(statedFact(key, holds)))
  return sql`(${stated}) IS TRUE`
}

/** The text of the log for all facts of a row; null without facts. `facts`: of the row's collection. */
export function factsSql(facts: readonly Fact[], row: RowAlias): Sql {
  if (facts.length === 0) return ['NULL']
  const texts = facts.map(({ key, condition }) => {
    const [held, failed] = [true, false].map(holds => textLiteral(statedFact(key, holds)))
    return sql`CASE WHEN ${conditionSql(condition, row)} THEN ${held ?? []} ELSE ${failed ?? []} END`
  })
  return join(texts, ' || ')
}

/** Whether a related row exists for which the condition holds. Never unknown. */
function related({ path, rows, stored }: ConditionOfKind<'related'>, row: RowAlias, form: RelatedForm): Sql {
  const target = targetOf(path, row, stored)
  const { from, condition } = joinedTo(path, target, row, stored)
  const conditions = [budgetCheck(target), condition, conditionSql(rows, target)]
  // SQLite does not turn a subquery with a LIMIT into a join.
  const limit: Sql = form === 'check' ? [' LIMIT 1'] : []
  return sql`EXISTS (SELECT 1 FROM ${from}${whereClause(conditions)}${limit})`
}

/** The same as a set of ids. Unknown if the row's reference is null. */
function inSet({ path, rows, stored }: ConditionOfKind<'related'>, row: RowAlias): Sql {
  const target = targetOf(path, row, stored)
  const whereFound = whereClause([budgetCheck(target), conditionSql(rows, target, false, 'set')])
  const { relation } = path
  if (relation.kind === 'one') {
    return sql`${row.column(relation.field)} IN (SELECT ${target.column('id')} FROM ${target.from()}${whereFound})`
  }
  const id = row.column('id')
  if (relation.kind === 'many') {
    return sql`${id} IN (SELECT ${target.column(relation.field)} FROM ${target.from()}${whereFound})`
  }
  const { through, joinRows } = throughOf(path, target, stored)
  const ids = sql`SELECT ${target.column('id')} FROM ${target.from()}${whereFound}`
  const joins = whereClause([
    budgetCheck(through),
    sql`${through.column(relation.to)} IN (${ids})`,
    conditionSql(joinRows, through, false, 'set'),
  ])
  return sql`${id} IN (SELECT ${through.column(relation.from)} FROM ${through.from()}${joins})`
}

function targetOf({ target: { name } }: RelationPath, row: RowAlias, stored: true | undefined): RowAlias {
  return stored ? row.stored(name) : row.another(name)
}

/** A row of the join collection, and the condition on it. */
function throughOf(path: RelationPath, row: RowAlias, stored: true | undefined) {
  if (!('through' in path)) throw new TypeError('a many-to-many path needs its join collection')
  const { name } = path.through
  return { through: stored ? row.stored(name) : row.another(name), joinRows: path.joinRows }
}

/** FROM and condition of the rows that `path` leads to from `row`, through the join collection where there is one. */
function joinedTo(path: RelationPath, target: RowAlias, row: RowAlias, stored: true | undefined) {
  const { relation } = path
  if (relation.kind !== 'manyToMany') {
    return { from: target.from(), condition: linkCondition(path, target, row, stored) }
  }
  const { through, joinRows } = throughOf(path, target, stored)
  const from = sql`${through.from()} JOIN ${target.from()} ON ${target.column('id')} = ${through.column(relation.to)}`
  const isLinked = sql`${through.column(relation.from)} = ${row.column('id')}`
  const joinCondition = conditionSql(joinRows, through)
  return { from, condition: joinCondition === isTrue ? isLinked : sql`${isLinked} AND ${joinCondition}` }
}

/** The condition that `path` leads from `row` to `target`. */
export function linkCondition(path: RelationPath, target: RowAlias, row: RowAlias, stored?: true): Sql {
  if (path.relation.kind === 'one') return sql`${target.column('id')} = ${row.column(path.relation.field)}`
  return isReachable(path, target, row.column('id'), stored)
}

/** The condition that a to-many `path` leads from the row with this id to `target`. */
export function isReachable(path: RelationPath, target: RowAlias, id: Sql, stored?: true): Sql {
  if (path.relation.kind === 'one') throw new TypeError('a list cannot follow a to-one relation')
  if (path.relation.kind === 'many') return sql`${target.column(path.relation.field)} = ${id}`
  const { from, to } = path.relation
  const { through, joinRows } = throughOf(path, target, stored)
  const rows = whereClause([
    budgetCheck(through),
    sql`${through.column(from)} = ${id}`,
    conditionSql(joinRows, through),
  ])
  return sql`${target.column('id')} IN (SELECT ${through.column(to)} FROM ${through.from()}${rows})`
}
