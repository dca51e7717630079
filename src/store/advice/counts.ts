/** Indexes for what limits and computed fields count: they look for rows beside every list, so no list tells of them. */
import type { CheckedExpression } from '../../model/computed.ts'
import type { Collection, Model } from '../../model/model.ts'
import type { Rule } from '../../model/rule.ts'
import { bare, existingIndexes } from './advice.ts'

export interface CountAdvice {
  /** Where the model declares it: `tasks.limits[0]`, `projects.computed.open_tasks`. */
  readonly place: string
  /** Whose rows are counted. */
  readonly collection: string
  /** E.g. `index('project_id', 'status')`. */
  readonly index: string
}

/** Empty where an index begins with all that each count compares for equality. */
export function countAdvice(model: Model): readonly CountAdvice[] {
  return [...model.collections.values()].flatMap(collection => [
    ...collection.limits.flatMap(({ per, where }, at) => {
      const keys = [...(per === undefined ? [] : [per.name]), ...equalIn(where)]
      return adviceFor(model, `${collection.name}.limits[${at}]`, collection, keys)
    }),
    ...[...collection.computed.values()].flatMap(({ name, expression }) =>
      countsIn(expression).flatMap(({ relation, where }) => {
        const link = collection.relations.get(relation)
        const target = link?.kind === 'many' ? model.collections.get(link.target) : undefined
        if (link?.kind !== 'many' || target === undefined) return []
        return adviceFor(model, `${collection.name}.computed.${name}`, target, [
          link.field,
          ...equalIn(where),
        ])
      }),
    ),
  ])
}

function adviceFor(
  model: Model,
  place: string,
  collection: Collection,
  keys: readonly string[],
): readonly CountAdvice[] {
  const wanted = [...new Set(keys)].filter(key => collection.fields.get(key)?.type.sortable)
  const isServed = existingIndexes(model, collection).some(index => {
    const first = index.slice(0, wanted.length).map(bare)
    return wanted.every(key => first.includes(key))
  })
  if (wanted.length === 0 || isServed) return []
  const index = `index(${wanted.map(key => `'${key}'`).join(', ')})`
  return [{ place, collection: collection.name, index }]
}

/** Fields of the row that have one value wherever the rule holds. */
function equalIn(rule: Rule): readonly string[] {
  if (rule.kind === 'and') return rule.rules.flatMap(equalIn)
  if (rule.kind !== 'compare' || rule.comparison !== 'eq' || rule.field.includes('.')) return []
  return rule.operand.kind === 'field' ? [] : [rule.field]
}

type Count = CheckedExpression & { readonly kind: 'aggregate' | 'first' }

function countsIn(expression: CheckedExpression): readonly Count[] {
  switch (expression.kind) {
    case 'aggregate':
    case 'first':
      return [expression]
    case 'arithmetic':
      return [expression.left, expression.right].flatMap(countsIn)
    case 'concat':
    case 'coalesce':
      return expression.parts.flatMap(countsIn)
    case 'when':
      return [expression.value, expression.otherwise].flatMap(countsIn)
    case 'datePart':
      return countsIn(expression.of)
    default:
      return []
  }
}
