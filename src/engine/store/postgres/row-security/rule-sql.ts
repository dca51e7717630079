/**
 * Access rules as SQL over the settings of a transaction (see `security.ts`). Independent of the guard, so that a fault of the
 * guard does not affect the policies.
 */

import { fold } from '../../../../base/predicate.ts'
import { addressRecord } from '../../../../base/records.ts'
import type { Encoding } from '../../../../model/fields/encoding.ts'
import type { Collection, Field, Model } from '../../../../model/model.ts'
import {
  type CallerRule,
  callerRuleKind,
  isCallerRule,
  type SettingTest,
  scopeSetting,
} from '../../../../model/rule/caller-rules.ts'
import { followPath } from '../../../../model/rule/paths.ts'
import {
  claimTypeOf,
  type Rule,
  type RuleOfKind,
  type RuleOperand,
  type Scalar,
} from '../../../../model/rule/rule.ts'
import { ident, literal } from '../../schema/quoted.ts'
import { storedTable } from '../../sql/dialect.ts'
import { nowSql, withoutCollation } from '../../sql/postgres.ts'
import { encode } from '../../values.ts'

/** As a subquery it is evaluated once per statement rather than once per row. */
export function oncePerStatement(expression: string): string {
  return `(SELECT ${expression})`
}

export function sessionSetting(name: string): string {
  return `current_setting('portico.${name}', true)`
}

const isSignedIn = `${sessionSetting('actor')} = 'user'`
const userId = oncePerStatement(idSetting('user_id'))
const appId = oncePerStatement(idSetting('app_id'))

function idSetting(name: string): string {
  return `nullif(${sessionSetting(name)}, '')::bigint`
}

function literalList(texts: readonly string[]): string {
  return texts.map(literal).join(', ')
}

export function hasScopeSql(scope: string): string {
  return settingSql(scopeSetting(scope))
}

function settingSql(test: SettingTest): string {
  const setting = sessionSetting(test.setting)
  if ('oneOf' in test) return `${setting} IN (${literalList(test.oneOf)})`
  if ('hasOneOf' in test) return `string_to_array(${setting}, ' ') && ARRAY[${literalList(test.hasOneOf)}]`
  return `${test.is === '' ? `coalesce(${setting}, '')` : setting} = ${literal(test.is)}`
}

/** The row to which a rule applies. */
export interface RuleRow {
  readonly collection: Collection
  /** The qualifier of its columns, e.g. `"posts"`. */
  readonly name: string
}

interface Context {
  readonly model: Model
  /** Whether the rule is negated, so that NULL must become FALSE. */
  readonly exact: boolean
  /** The nesting depth, for unique aliases. */
  readonly depth: number
}

export function ruleSql(rule: Rule, row: RuleRow, model: Model): string {
  return sqlOf(rule, row, { model, exact: false, depth: 1 })
}

function sqlOf(rule: Rule, row: RuleRow, context: Context): string {
  const nested = (part: Rule) => sqlOf(part, row, context)
  switch (rule.kind) {
    case 'compare':
      return compareSql(rule, row, context)
    case 'related':
      return relatedSql(rule, row, context)
    case 'and':
      return joined(rule.parts.map(nested), ' AND ', 'TRUE')
    case 'or':
      return joined(rule.parts.map(nested), ' OR ', 'FALSE')
    case 'not':
      return `NOT (${sqlOf(rule.part, row, { ...context, exact: true })})`
    default:
      return callerSql(rule, oncePerStatement)
  }
}

/** Whether the rule holds, or with `not` does not hold, for every row. */
export function unconditionalSql(rule: Rule, row: RuleRow, model: Model, not = false): string {
  const all = (parts: readonly string[]) => joined(parts, ' AND ', 'TRUE')
  const some = (parts: readonly string[]) => joined(parts, ' OR ', 'FALSE')
  return fold(
    rule,
    {
      and: (parts, negated) => (negated ? some : all)(parts),
      or: (parts, negated) => (negated ? all : some)(parts),
      not: part => part,
      leaf: (leaf, negated) => {
        if (isCallerRule(leaf)) return callerSql(leaf, sql => (negated ? `NOT ${sql}` : sql), negated)
        if (!negated) return 'FALSE'
        if (leaf.kind === 'compare') return neverSql(leaf)
        return unconditionalSql(leaf.rule, targetOf(leaf, row, model), model, true)
      },
    },
    not,
  )
}

function neverSql({ operand, comparison }: RuleOfKind<'compare'>): string {
  if (operand.kind === 'now' || operand.kind === 'field') return comparison === 'in' ? 'TRUE' : 'FALSE'
  if (operand.kind === 'appId') return `${idSetting('app_id')} IS NULL`
  if (operand.kind !== 'literal') return `NOT coalesce(${isSignedIn}, FALSE)`
  const { value } = operand
  if (value === null) return comparison === 'eq' || comparison === 'ne' ? 'FALSE' : 'TRUE'
  return Array.isArray(value) && value.every(element => element === null) ? 'TRUE' : 'FALSE'
}

/** A condition on the caller, independent of the row and never NULL. `wrap`: applied unless it is constant. */
function callerSql(rule: CallerRule, wrap: (expression: string) => string, not = false): string {
  const tests = callerRuleKind(rule).settings(rule)
  if (tests === 'never') return not ? 'TRUE' : 'FALSE'
  if (tests.length === 0) return not ? 'FALSE' : 'TRUE'
  return wrap(`coalesce(${tests.map(settingSql).join(' AND ')}, FALSE)`)
}

function joined(parts: readonly string[], operator: string, empty: string): string {
  return parts.length === 0 ? empty : `(${parts.join(operator)})`
}

const symbols = { eq: '=', ne: '<>', gt: '>', gte: '>=', lt: '<', lte: '<=', in: '=' } as const

function compareSql(rule: RuleOfKind<'compare'>, row: RuleRow, { model, exact }: Context): string {
  const test = testSql(rule, row, model)
  return exact ? `coalesce(${test}, FALSE)` : test
}

function testSql(
  { field: path, comparison, operand }: RuleOfKind<'compare'>,
  row: RuleRow,
  model: Model,
): string {
  const { field, sql: column } = valueSql(path, row, model)
  if (operand.kind !== 'literal') {
    return `${column} ${symbols[comparison]} ${operandSql(operand, field, row, model)}`
  }
  const { value } = operand
  if (comparison === 'in') {
    const values = [value].flat().filter(element => element !== null)
    return values.length === 0
      ? 'FALSE'
      : `${column} IN (${values.map(element => constant(element, field)).join(', ')})`
  }
  if (value !== null) return `${column} ${symbols[comparison]} ${constant(value, field)}`
  if (comparison === 'eq') return `${column} IS NULL`
  return comparison === 'ne' ? `${column} IS NOT NULL` : 'FALSE'
}

/** The value of a field along a path: NULL if a relation of the path is empty. */
function valueSql(path: string, row: RuleRow, model: Model): { readonly field: Field; readonly sql: string } {
  const { steps, field } = followPath(path, row.collection, name => collectionNamed(model, name))
  const rows = steps.map((step, index) => ({ ...step, alias: ident(`_p${index}`) }))
  const [first, ...others] = rows
  if (first === undefined) return { field, sql: `${row.name}.${ident(field.name)}` }
  const tables = [tableSql(first.target, first.alias)]
  let last = first.alias
  for (const { relation, target, alias } of others) {
    tables.push(`JOIN ${tableSql(target, alias)} ON ${alias}."id" = ${last}.${ident(relation.field)}`)
    last = alias
  }
  const link = `${first.alias}."id" = ${row.name}.${ident(first.relation.field)}`
  return { field, sql: `(SELECT ${last}.${ident(field.name)} FROM ${tables.join(' ')} WHERE ${link})` }
}

function tableSql({ name }: Collection, alias: string): string {
  return `${ident(storedTable(name))} AS ${alias}`
}

const clock = `coalesce(nullif(${sessionSetting('now')}, '')::timestamptz, transaction_timestamp())`

/** The value that the field is compared with. Only `field` depends on the row. */
function operandSql(
  operand: Exclude<RuleOperand, { readonly kind: 'literal' }>,
  { type: { encoding } }: Field,
  row: RuleRow,
  model: Model,
): string {
  switch (operand.kind) {
    case 'userId':
      return userId
    case 'appId':
      return appId
    case 'now':
      return oncePerStatement(nowSql(operand.shiftMs, encoding, clock))
    case 'field':
      return valueSql(operand.field, row, model).sql
    case 'caller':
      return callerFieldSql(operand.field)
    case 'claim':
      return oncePerStatement(claimSql(operand.claim, encoding))
  }
}

/** Whether a row of `_records` is the caller's address record. */
const isOwnAddress = `"kind" = ${literal(addressRecord)} AND "id" = ${sessionSetting('user_id')}`
export const ownAddressSql = `${oncePerStatement(isSignedIn)} AND ${isOwnAddress}`

/** A field of the caller's own row. The email address only if it is confirmed. */
function callerFieldSql(field: string): string {
  const value = `"_caller".${ident(field)}`
  const callerValue = `SELECT ${value} FROM ${ident(storedTable('users'))} AS "_caller" WHERE "_caller"."id" = ${userId}`
  if (field !== 'email') return `(${callerValue})`
  const isProven = `("payload"::json ->> 'verified')::boolean AND "payload"::json ->> 'email' = ${value}`
  return `(${callerValue} AND (SELECT ${isProven} FROM "_records" WHERE ${isOwnAddress}))`
}

/** NULL if the type of the claim differs from that of the field. */
function claimSql(claim: string, encoding: Encoding): string {
  const claims = `nullif(${sessionSetting('claims')}, '')::json`
  const type = claimTypeOf(encoding) ?? 'null'
  const hasType = `json_typeof(${claims} -> ${literal(claim)}) = ${literal(type)}`
  return `CASE WHEN ${hasType} THEN (${claims} ->> ${literal(claim)})${claimCasts[type]} END`
}

const claimCasts = { string: '', number: '::numeric', boolean: '::boolean', null: '' } as const

function constant(value: Scalar | readonly Scalar[], { type }: Field): string {
  const text = literal(String(encode(value as Scalar, type.encoding)))
  return `${text}::${withoutCollation(type.encoding.postgres.type)}`
}

/** The rows at the other end of a relation, without a qualifier. */
function targetOf(rule: RuleOfKind<'related'>, { collection }: RuleRow, model: Model): RuleRow {
  const target = model.collections.get(relationOf(collection, rule.relation).target)
  if (!target) throw new Error(`${collection.name}.${rule.relation} leads nowhere`)
  return { collection: target, name: '' }
}

function relatedSql(rule: RuleOfKind<'related'>, row: RuleRow, { model, depth }: Context): string {
  const relation = relationOf(row.collection, rule.relation)
  const target = { ...targetOf(rule, row, model), name: ident(`_r${depth}`) }
  const from = `${ident(storedTable(relation.target))} AS ${target.name}`
  const condition = sqlOf(rule.rule, target, { model, exact: false, depth: depth + 2 })
  if (relation.kind === 'one') {
    return `EXISTS (SELECT 1 FROM ${from} WHERE ${target.name}."id" = ${row.name}.${ident(relation.field)} AND ${condition})`
  }
  if (relation.kind === 'many') {
    return `EXISTS (SELECT 1 FROM ${from} WHERE ${target.name}.${ident(relation.field)} = ${row.name}."id" AND ${condition})`
  }
  const through = ident(`_r${depth + 1}`)
  const joins = `${ident(storedTable(relation.through))} AS ${through}`
  return `EXISTS (SELECT 1 FROM ${joins} JOIN ${from} ON ${target.name}."id" = ${through}.${ident(relation.to)} WHERE ${through}.${ident(relation.from)} = ${row.name}."id" AND ${condition})`
}

function relationOf(collection: Collection, name: string) {
  const relation = collection.relations.get(name)
  if (!relation) throw new Error(`a rule of ${collection.name} names ${name}, which is not there`)
  return relation
}

export function collectionNamed({ collections }: Model, name: string): Collection {
  const collection = collections.get(name)
  if (collection === undefined) throw new Error(`a rule names the collection ${name}, which is not there`)
  return collection
}
