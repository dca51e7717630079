/**
 * Computed fields as a caller reads them. They are computed only from rows and fields that the caller could read by
 * following the same relations. This includes the rules in their expressions, unlike access rules, which see stored rows:
 * a value must reveal nothing that is hidden. Only aggregates with `asSystem` publish a value of stored rows.
 */

import type { CheckedExpression } from '../../../model/computed/computed.ts'
import { collectionsRead } from '../../../model/computed/fields.ts'
import type { Collection, ComputedField, Field, Relation } from '../../../model/model.ts'
import type { Rule } from '../../../model/rule/rule.ts'
import { always, and, never, translate } from '../condition.ts'
import type {
  Computation,
  ComputationPart,
  Condition,
  FieldPath,
  GuardedSort,
  Operand,
  RelationPath,
  VisibleField,
} from '../guarded-conditions.ts'
import { totalOrder } from '../order.ts'
import type { ModelView } from './model-view.ts'
import { requireScope } from './refusals.ts'

const computations = new WeakMap<ModelView, WeakMap<ComputedField, Computation>>()

/** Throws INSUFFICIENT_SCOPE where the caller's scopes do not cover a collection that it is computed from. */
export function computationOf(field: ComputedField, collection: Collection, view: ModelView): Computation {
  const byField = computations.get(view) ?? new WeakMap<ComputedField, Computation>()
  computations.set(view, byField)
  const computation = byField.get(field) ?? computeAllowed(field.expression, collection, view)
  byField.set(field, computation)
  return computation
}

function computeAllowed(expression: CheckedExpression, row: Collection, view: ModelView): Computation {
  for (const source of collectionsRead(expression, row, view.collection, false))
    requireScope(view, 'read', source)
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
      if (expression.asSystem) return published(expression, row, view)
      const { path, rows, target } = relatedRows(expression, row, view)
      const { function: name, field } = expression
      const visibleValue = field === undefined ? undefined : visible(field, target, view)
      return { kind: 'aggregate', function: name, path, rows, field: visibleValue }
    }
    case 'first': {
      const { path, rows, target } = relatedRows(expression, row, view)
      const field = visible(expression.field, target, view)
      return { kind: 'first', path, rows, sort: sortOf(expression, target, view), field }
    }
    case 'arithmetic': {
      const { kind, operator, left, right } = expression
      return { kind, operator, left: inner(left), right: inner(right) }
    }
    case 'when': {
      const { kind, rule, value, otherwise } = expression
      const condition = visibleRule(rule, row, view)
      return { kind, condition, value: inner(value), otherwise: inner(otherwise) }
    }
    case 'datePart':
      return { kind: 'datePart', part: expression.part, of: inner(expression.of) }
    case 'round':
      return { kind: 'round', of: inner(expression.of) }
    default:
      return { kind: expression.kind, parts: expression.parts.map(inner) }
  }
}

type CheckedExpressionOf<Kind> = Extract<CheckedExpression, { readonly kind: Kind }>

/** A field of the row, or of a row that its to-one relations lead to. */
function fieldAlong(
  expression: CheckedExpressionOf<'field'>,
  row: Collection,
  view: ModelView,
): ComputationPart {
  const { path: names, field, type } = expression
  const [name, ...rest] = names
  if (name === undefined) return { kind: 'column', field: visible(field, row, view) }
  const { path, when, rows } = view.follow(row, relationOf(name, row))
  const value = { ...fieldAlong({ ...expression, path: rest }, path.target, view), type }
  return { kind: 'related', path, when, rows, value }
}

function published(
  { function: name, relation, field, where }: CheckedExpressionOf<'aggregate'>,
  row: Collection,
  view: ModelView,
): ComputationPart {
  const { path: visiblePath } = view.follow(row, relationOf(relation, row))
  const path = 'joinRows' in visiblePath ? { ...visiblePath, joinRows: always } : visiblePath
  const rows = view.holds(where, path.target)
  const value = field === undefined ? undefined : { field: fieldOf(field, path.target), when: always }
  return { kind: 'aggregate', function: name, path, rows, field: value, stored: true }
}

/** The related rows that count. */
function relatedRows(
  { relation, where }: { readonly relation: string; readonly where: Rule },
  row: Collection,
  view: ModelView,
): { readonly path: RelationPath; readonly rows: Condition; readonly target: Collection } {
  const { path, rows } = view.follow(row, relationOf(relation, row))
  return { path, rows: and(rows, visibleRule(where, path.target, view)), target: path.target }
}

function sortOf(
  { sort }: CheckedExpressionOf<'first'>,
  target: Collection,
  view: ModelView,
): readonly GuardedSort[] {
  return totalOrder(sort).map(({ field, descending }) => ({
    field: visible(field, target, view),
    descending,
  }))
}

function relationOf(name: string, { name: collection, relations }: Collection): Relation {
  const relation = relations.get(name)
  if (relation === undefined) throw new Error(`${collection} has no relation ${name}`)
  return relation
}

function valueAlong({ steps, field }: FieldPath, row: Collection, view: ModelView): Computation {
  const { name, type } = field
  const path = steps.map(({ relation }) => relation.name)
  return { ...fieldAlong({ kind: 'field', path, field: name, type, optional: true }, row, view), type }
}

function visible(name: string, row: Collection, view: ModelView): VisibleField {
  const field = fieldOf(name, row)
  return { field, when: view.visibleIn(row, field) }
}

function fieldOf(name: string, row: Collection): Field {
  const field = row.fields.get(name)
  if (field === undefined) throw new Error(`${row.name} has no field ${name}`)
  return field
}

/** The rule, applied to what the caller may read of the rows. */
function visibleRule(rule: Rule, row: Collection, view: ModelView): Condition {
  return visibleCondition(view.holds(rule, row), row, view)
}

/** A field of the caller's own item has a value only where the caller may read it. Undefined: the caller never may. */
function visibleOperand(operand: Operand, view: ModelView): Operand | undefined {
  if (operand.kind !== 'caller') return operand
  const { users, field } = operand
  const when = and(view.readable(users), view.visibleIn(users, field))
  return when.kind === 'never' ? undefined : { ...operand, when }
}

function visibleCondition(condition: Condition, row: Collection, view: ModelView): Condition {
  return translate(condition, leaf => visibleLeaf(leaf, row, view))
}

function visibleLeaf(condition: Condition, row: Collection, view: ModelView): Condition {
  switch (condition.kind) {
    case 'compare': {
      const field = visible(condition.field.field.name, row, view)
      const operand = visibleOperand(condition.operand, view)
      if (field.when.kind === 'never' || operand === undefined) return never
      return { ...condition, field, operand }
    }
    case 'fields': {
      const [left, right] = [condition.left, condition.right].map(path => valueAlong(path, row, view))
      return left && right ? { kind: 'values', left, operator: condition.operator, right } : never
    }
    case 'isNull': {
      const field = visible(condition.field.field.name, row, view)
      return field.when.kind === 'never' ? always : { ...condition, field }
    }
    case 'related': {
      const { path, when, rows } = view.follow(row, condition.path.relation)
      const visibleRows = and(rows, visibleCondition(condition.rows, path.target, view))
      return visibleRows.kind === 'never' ? never : and(when, { kind: 'related', path, rows: visibleRows })
    }
    default:
      return condition
  }
}
