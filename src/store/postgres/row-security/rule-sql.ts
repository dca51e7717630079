/**
 * Access rules as SQL over the settings of a transaction (`postgres/security.ts`): the same meaning as `rule.ts`
 * gives them, without the guard, so that a fault there is none here.
 */
import type { Collection, Field, Model } from '../../../model/model.ts'
import type { Rule, Scalar } from '../../../model/rule.ts'
import { ident, literal } from '../../schema/quoted.ts'
import { storedTable } from '../../sql/dialect.ts'
import { withoutCollation } from '../../sql/postgres.ts'
import { encoded } from '../../values.ts'

/** In a subquery it is asked once a statement, not once a row. */
export function once(expression: string): string {
  return `(SELECT ${expression})`
}

export function setting(name: string): string {
  return `current_setting('portico.${name}', true)`
}

const isSignedIn = `${setting('actor')} = 'user'`
const userId = once(`nullif(${setting('user_id')}, '')::bigint`)

function listed(texts: readonly string[]): string {
  return texts.map(literal).join(', ')
}

/** As `hasScope` has it: `write:x` covers `read:x`, `*` everything. */
export function hasScope(scope: string): string {
  const covering = scope.startsWith('read:') ? [`write:${scope.slice('read:'.length)}`] : []
  return `string_to_array(${setting('scopes')}, ' ') && ARRAY[${listed(['*', scope, ...covering])}]`
}

/** Never unknown. */
function certain(expression: string): string {
  return once(`coalesce(${expression}, FALSE)`)
}

type Of<K extends Rule['kind']> = Rule & { readonly kind: K }

/** A row that a rule is about. */
export interface Place {
  readonly collection: Collection
  /** What stands before its columns, e.g. `"posts"`. */
  readonly name: string
}

interface Context {
  readonly model: Model
  /** Below `not`, where unknown is not as good as false. */
  readonly exact: boolean
  /** Of the rows that are looked at on the way: each has a name of its own. */
  readonly depth: number
}

export function ruleSql(rule: Rule, place: Place, model: Model): string {
  return sqlOf(rule, place, { model, exact: false, depth: 1 })
}

function sqlOf(rule: Rule, place: Place, context: Context): string {
  switch (rule.kind) {
    case 'anyone':
      return 'TRUE'
    case 'nobody':
      return 'FALSE'
    case 'signedIn':
    case 'role':
    case 'scope':
      return certain(callerSql(rule))
    case 'compare':
      return context.exact ? `coalesce(${compareSql(rule, place)}, FALSE)` : compareSql(rule, place)
    case 'related':
      return relatedSql(rule, place, context)
    case 'and':
      return joined(rule.rules, ' AND ', 'TRUE', place, context)
    case 'or':
      return joined(rule.rules, ' OR ', 'FALSE', place, context)
    case 'not':
      return `NOT (${sqlOf(rule.rule, place, { ...context, exact: true })})`
  }
}

/** Whether the rule holds, or with `not` does not hold, whatever the row is. */
export function anywaySql(rule: Rule, place: Place, model: Model, not = false): string {
  const each = (one: Rule) => anywaySql(one, place, model, not)
  switch (rule.kind) {
    case 'anyone':
      return not ? 'FALSE' : 'TRUE'
    case 'nobody':
      return not ? 'TRUE' : 'FALSE'
    case 'signedIn':
    case 'role':
    case 'scope':
      return `${not ? 'NOT ' : ''}coalesce(${callerSql(rule)}, FALSE)`
    case 'compare':
      return not ? neverSql(rule) : 'FALSE'
    case 'related':
      return not ? anywaySql(rule.rule, targetOf(rule, place, model), model, true) : 'FALSE'
    case 'and':
    case 'or': {
      const isAll = (rule.kind === 'and') !== not
      const parts = rule.rules.map(each)
      return parts.length === 0 ? (isAll ? 'TRUE' : 'FALSE') : `(${parts.join(isAll ? ' AND ' : ' OR ')})`
    }
    case 'not':
      return anywaySql(rule.rule, place, model, !not)
  }
}

function neverSql({ operand, comparison }: Of<'compare'>): string {
  if (operand.kind === 'userId') return `NOT coalesce(${isSignedIn}, FALSE)`
  if (operand.kind !== 'literal') return 'TRUE'
  const { value } = operand
  if (value === null) return comparison === 'eq' || comparison === 'ne' ? 'FALSE' : 'TRUE'
  return Array.isArray(value) && value.every(one => one === null) ? 'TRUE' : 'FALSE'
}

/** About whoever asks, whatever the row is. */
function callerSql(rule: Of<'signedIn'> | Of<'role'> | Of<'scope'>): string {
  if (rule.kind === 'signedIn') return isSignedIn
  if (rule.kind === 'scope') return `${setting('actor')} IN ('user', 'app') AND ${hasScope(rule.scope)}`
  if (rule.roles.length === 0) return 'FALSE'
  return `${isSignedIn} AND ${setting('role')} IN (${listed(rule.roles)})`
}

function joined(rules: readonly Rule[], by: string, empty: string, place: Place, context: Context): string {
  if (rules.length === 0) return empty
  return `(${rules.map(rule => sqlOf(rule, place, context)).join(by)})`
}

const symbols = { eq: '=', ne: '<>', gt: '>', gte: '>=', lt: '<', lte: '<=', in: '=' } as const

function compareSql({ field: name, comparison, operand }: Of<'compare'>, place: Place): string {
  const column = `${place.name}.${ident(name)}`
  if (operand.kind === 'userId') return `${column} ${symbols[comparison]} ${userId}`
  if (operand.kind !== 'literal') return 'FALSE'
  const { value } = operand
  const field = fieldOf(place, name)
  if (comparison === 'in') {
    const values = [value].flat().filter(one => one !== null)
    return values.length === 0
      ? 'FALSE'
      : `${column} IN (${values.map(one => constant(one, field)).join(', ')})`
  }
  if (value !== null) return `${column} ${symbols[comparison]} ${constant(value, field)}`
  if (comparison === 'eq') return `${column} IS NULL`
  return comparison === 'ne' ? `${column} IS NOT NULL` : 'FALSE'
}

function constant(value: Scalar | readonly Scalar[], { type }: Field): string {
  const text = literal(String(encoded(value as Scalar, type.encoding)))
  return `${text}::${withoutCollation(type.encoding.postgres.type)}`
}

/** Of a rule that is about the rows at the other end of a relation: these rows, without a name. */
function targetOf(rule: Of<'related'>, { collection }: Place, model: Model): Place {
  const target = model.collections.get(relationOf(collection, rule.relation).target)
  if (!target) throw new Error(`${collection.name}.${rule.relation} leads nowhere`)
  return { collection: target, name: '' }
}

function relatedSql(rule: Of<'related'>, place: Place, { model, depth }: Context): string {
  const relation = relationOf(place.collection, rule.relation)
  const target = { ...targetOf(rule, place, model), name: ident(`_r${depth}`) }
  const from = `${ident(storedTable(relation.target))} AS ${target.name}`
  const holds = sqlOf(rule.rule, target, { model, exact: false, depth: depth + 2 })
  if (relation.kind === 'one') {
    return `EXISTS (SELECT 1 FROM ${from} WHERE ${target.name}."id" = ${place.name}.${ident(relation.field)} AND ${holds})`
  }
  if (relation.kind === 'many') {
    return `EXISTS (SELECT 1 FROM ${from} WHERE ${target.name}.${ident(relation.field)} = ${place.name}."id" AND ${holds})`
  }
  const through = ident(`_r${depth + 1}`)
  const joins = `${ident(storedTable(relation.through))} AS ${through}`
  return `EXISTS (SELECT 1 FROM ${joins} JOIN ${from} ON ${target.name}."id" = ${through}.${ident(relation.to)} WHERE ${through}.${ident(relation.from)} = ${place.name}."id" AND ${holds})`
}

export function relationOf(collection: Collection, name: string) {
  const relation = collection.relations.get(name)
  if (!relation) throw new Error(`a rule of ${collection.name} names ${name}, which is not there`)
  return relation
}

function fieldOf({ collection }: Place, name: string): Field {
  const field = collection.fields.get(name)
  if (!field) throw new Error(`a rule of ${collection.name} names ${name}, which is not there`)
  return field
}
