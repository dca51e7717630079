/**
 * Computed fields as a caller reads them. They are computed from what the caller could read by following the same
 * relations: rows and fields that the caller may not read do not count. Unlike access rules, which see stored rows, the
 * rules in them follow this too: a value must reveal nothing that is hidden.
 */

import { collectionsRead } from '../../model/computed/fields.ts'
import type { CheckedExpression } from '../../model/computed.ts'
import type { Collection, ComputedField, Relation } from '../../model/model.ts'
import type { Rule } from '../../model/rule.ts'
import { always, and, never, not, or } from '../condition.ts'
import type {
  Computation,
  ComputationPart,
  Condition,
  FieldPath,
  GuardedSort,
  Operand,
  Path,
  VisibleField,
} from '../guarded.ts'
import { totalOrder } from '../order.ts'
import type { ModelView } from './model-view.ts'
import { requireScope } from './refusals.ts'

const known = new WeakMap<ModelView, WeakMap<ComputedField, Computation>>()

/** Throws INSUFFICIENT_SCOPE where the caller's scopes do not cover a collection that it is computed from. */
export function computationOf(field: ComputedField, collection: Collection, view: ModelView): Computation {
  const all = known.get(view) ?? new WeakMap<ComputedField, Computation>()
  known.set(view, all)
  const found = all.get(field) ?? computeAllowed(field.expression, collection, view)
  all.set(field, found)
  return found
}

function computeAllowed(expression: CheckedExpression, row: Collection, view: ModelView): Computation {
  for (const read of collectionsRead(expression, row, view.collection)) requireScope(view, 'read', read)
  return compute(expression, row, view)
}

function compute(expression: CheckedExpression, row: Collection, view: ModelView): Computation {
  return { ...partOf(expression, row, view), type: expression.type }
}

function partOf(expression: CheckedExpression, row: Collection, view: ModelView): ComputationPart {
  const inner = (part: CheckedExpression) => compute(part, row, view)
  switch (expression.kind) {
    case 'literal':
      return { kind: 'literal', value: expression.value }
    case 'field':
      return fieldAlong(expression, row, view)
    case 'aggregate': {
      const { path, rows, target } = manyOf(expression, row, view)
      const { function: name, field } = expression
      const seen = field === undefined ? undefined : seenField(field, target, view)
      return { kind: 'aggregate', function: name, path, rows, field: seen }
    }
    case 'first': {
      const { path, rows, target } = manyOf(expression, row, view)
      const field = seenField(expression.field, target, view)
      return { kind: 'first', path, rows, sort: sortOf(expression, target, view), field }
    }
    case 'arithmetic': {
      const { kind, operator, left, right } = expression
      return { kind, operator, left: inner(left), right: inner(right) }
    }
    case 'when': {
      const { kind, rule, value, otherwise } = expression
      const condition = seenRule(rule, row, view)
      return { kind, condition, value: inner(value), otherwise: inner(otherwise) }
    }
    case 'datePart':
      return { kind: 'datePart', part: expression.part, of: inner(expression.of) }
    default:
      return { kind: expression.kind, parts: expression.parts.map(inner) }
  }
}

type Of<Kind> = Extract<CheckedExpression, { readonly kind: Kind }>

/** A field of the row, or of a row that its to-one relations lead to. */
function fieldAlong(expression: Of<'field'>, row: Collection, view: ModelView): ComputationPart {
  const { path: names, field, type } = expression
  const [name, ...rest] = names
  if (name === undefined) return { kind: 'column', field: seenField(field, row, view) }
  const { path, when, rows } = view.follow(row, relationOf(name, row))
  const value = { ...fieldAlong({ ...expression, path: rest }, path.target, view), type }
  return { kind: 'related', path, when, rows, value }
}

/** The related rows that count. */
function manyOf(
  { relation, where }: { readonly relation: string; readonly where: Rule },
  row: Collection,
  view: ModelView,
): { readonly path: Path; readonly rows: Condition; readonly target: Collection } {
  const { path, rows } = view.follow(row, relationOf(relation, row))
  return { path, rows: and(rows, seenRule(where, path.target, view)), target: path.target }
}

function sortOf({ sort }: Of<'first'>, target: Collection, view: ModelView): readonly GuardedSort[] {
  return totalOrder(sort).map(({ field, descending }) => ({
    field: seenField(field, target, view),
    descending,
  }))
}

function relationOf(name: string, { name: holder, relations }: Collection): Relation {
  const found = relations.get(name)
  if (found === undefined) throw new Error(`${holder} has no relation ${name}`)
  return found
}

function valueAlong({ steps, field }: FieldPath, row: Collection, view: ModelView): Computation {
  const { name, type } = field
  const path = steps.map(({ relation }) => relation.name)
  return { ...fieldAlong({ kind: 'field', path, field: name, type, optional: true }, row, view), type }
}

function seenField(name: string, row: Collection, view: ModelView): VisibleField {
  const field = row.fields.get(name)
  if (field === undefined) throw new Error(`${row.name} has no field ${name}`)
  return { field, when: view.shownIn(row, field) }
}

/** The rule, applied to what the caller may read of the rows. */
function seenRule(rule: Rule, row: Collection, view: ModelView): Condition {
  return seen(view.holds(rule, row), row, view)
}

/** A field of the caller's own item has a value only where the caller may read it. Undefined: the caller never may. */
function seenOperand(operand: Operand, view: ModelView): Operand | undefined {
  if (operand.kind !== 'caller') return operand
  const { users, field } = operand
  const when = and(view.readable(users), view.shownIn(users, field))
  return when.kind === 'never' ? undefined : { ...operand, when }
}

function seen(condition: Condition, row: Collection, view: ModelView): Condition {
  switch (condition.kind) {
    case 'compare': {
      const field = seenField(condition.field.field.name, row, view)
      const operand = seenOperand(condition.operand, view)
      if (field.when.kind === 'never' || operand === undefined) return never
      return { ...condition, field, operand }
    }
    case 'fields': {
      const [left, right] = [condition.left, condition.right].map(path => valueAlong(path, row, view))
      return left && right ? { kind: 'values', left, operator: condition.operator, right } : never
    }
    case 'isNull': {
      const field = seenField(condition.field.field.name, row, view)
      return field.when.kind === 'never' ? always : { ...condition, field }
    }
    case 'related': {
      const { path, when, rows } = view.follow(row, condition.path.relation)
      const wanted = and(rows, seen(condition.rows, path.target, view))
      return wanted.kind === 'never' ? never : and(when, { kind: 'related', path, rows: wanted })
    }
    case 'not':
      return not(seen(condition.condition, row, view))
    case 'and':
      return and(...condition.conditions.map(one => seen(one, row, view)))
    case 'or':
      return or(...condition.conditions.map(one => seen(one, row, view)))
    default:
      return condition
  }
}
