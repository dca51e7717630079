/** Every rule of a model, with the collection whose rows it decides on. */
import type { CheckedExpression } from '../computed/computed.ts'
import type { Collection, Model, Operation } from '../model.ts'
import type { Rule } from './rule.ts'

type Placed = readonly [rule: Rule, collection: Collection]

export function rulesOf(model: Model): readonly Placed[] {
  const { actions, queries } = model.logic
  const emitted = [...actions.values()].flatMap(({ emits }) => [...emits.values()])
  return [
    ...[...model.collections.values()].flatMap(collection => rulesOfCollection(collection, model)),
    ...[...actions.values(), ...queries.values()].flatMap(operation => ruleOfOperation(operation, model)),
    ...emitted.flatMap(({ access, collection }) => ruleAt(access, collection, model)),
  ]
}

function rulesOfCollection(collection: Collection, model: Model): readonly Placed[] {
  const { read, create, update, delete: remove } = collection.access
  const fields = [...collection.fields.values()].flatMap(({ access }) => [access.read, access.write])
  const computed = [...collection.computed.values()]
  const own = [read, create, update, remove, ...fields, ...computed.map(({ access }) => access.read)]
  const limits = collection.limits.map(({ where }) => where)
  return [
    ...[...own, ...limits].map((rule): Placed => [rule, collection]),
    ...computed.flatMap(({ expression }) => rulesOfExpression(expression, collection, model)),
  ]
}

function ruleOfOperation({ access, collection }: Operation, model: Model): readonly Placed[] {
  return collection === undefined ? [] : ruleAt(access, collection, model)
}

function ruleAt(rule: Rule | undefined, name: string | undefined, { collections }: Model): readonly Placed[] {
  const collection = collections.get(name ?? '')
  return rule === undefined || collection === undefined ? [] : [[rule, collection]]
}

function rulesOfExpression(
  expression: CheckedExpression,
  collection: Collection,
  model: Model,
): readonly Placed[] {
  const rulesOfAll = (parts: readonly CheckedExpression[]) =>
    parts.flatMap(part => rulesOfExpression(part, collection, model))
  switch (expression.kind) {
    case 'aggregate':
      if (expression.asSystem) return [[publishedRule(expression), collection]]
      return ruleAt(expression.where, collection.relations.get(expression.relation)?.target, model)
    case 'first':
      return ruleAt(expression.where, collection.relations.get(expression.relation)?.target, model)
    case 'when':
      return [[expression.rule, collection], ...rulesOfAll([expression.value, expression.otherwise])]
    case 'arithmetic':
      return rulesOfAll([expression.left, expression.right])
    case 'concat':
    case 'coalesce':
      return rulesOfAll(expression.parts)
    case 'datePart':
    case 'round':
      return rulesOfAll([expression.of])
    default:
      return []
  }
}

/** A rule that reads what a published value is computed from: related rows, whether or not the caller may read them. */
function publishedRule({ relation, field, where }: CheckedExpression & { readonly kind: 'aggregate' }): Rule {
  if (field === undefined) return { kind: 'related', relation, rule: where }
  const hasValue: Rule = {
    kind: 'compare',
    field,
    comparison: 'ne',
    operand: { kind: 'literal', value: null },
  }
  return { kind: 'related', relation, rule: { kind: 'and', parts: [where, hasValue] } }
}
