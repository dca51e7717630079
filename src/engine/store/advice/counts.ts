/**
 * Indexes for the counts of limits and computed fields. These run together with lists and within writes, so the plans of lists do not
 * show what they scan.
 */
import { scannedLists } from '../../../model/computed/fields.ts'
import type { Collection, Model } from '../../../model/model.ts'
import type { Rule } from '../../../model/rule/rule.ts'
import { existingIndexes, fieldOfKey, indexText } from './advice.ts'

export interface CountAdvice {
  /** Where the model declares it: `tasks.limits[0]`, `projects.computed.open_tasks`. */
  readonly place: string
  /** The collection whose rows are counted. */
  readonly collection: string
  /** E.g. `index('project_id', 'status')`. */
  readonly index: string
}

/** Empty if each count has an index that begins with all fields that it compares for equality. */
export function countAdvice(model: Model): readonly CountAdvice[] {
  return [...model.collections.values()].flatMap(collection => [
    ...collection.limits.flatMap(({ kind, per, where }, at) => {
      if (kind === 'overlap') return []
      const keys = [...(per === undefined ? [] : [per.name]), ...equalityFields(where)]
      return adviceOn(model, `${collection.name}.limits[${at}]`, collection, keys)
    }),
    ...[...collection.computed.values()].flatMap(({ name, expression }) =>
      scannedLists(expression).flatMap(({ relation, where }) => {
        const counted = collection.relations.get(relation)
        const target = counted?.kind === 'many' ? model.collections.get(counted.target) : undefined
        if (counted?.kind !== 'many' || target === undefined) return []
        return adviceOn(model, `${collection.name}.computed.${name}`, target, [
          counted.field,
          ...equalityFields(where),
        ])
      }),
    ),
  ])
}

function adviceOn(
  model: Model,
  place: string,
  collection: Collection,
  equal: readonly string[],
): readonly CountAdvice[] {
  const keys = [...new Set(equal)].filter(key => collection.fields.get(key)?.type.sortable)
  const isServed = existingIndexes(model, collection).some(index => {
    const first = index.slice(0, keys.length).map(fieldOfKey)
    return keys.every(key => first.includes(key))
  })
  if (keys.length === 0 || isServed) return []
  return [{ place, collection: collection.name, index: indexText(keys) }]
}

/** The fields of the counted rows that the condition compares for equality. */
function equalityFields(rule: Rule): readonly string[] {
  if (rule.kind === 'and') return rule.parts.flatMap(equalityFields)
  if (rule.kind !== 'compare' || rule.comparison !== 'eq' || rule.field.includes('.')) return []
  return rule.operand.kind === 'field' ? [] : [rule.field]
}
