/** A collection's limits, which are the same for all callers. */

import { anonymous } from '../../base/principal.ts'
import type { Collection, CountLimit, Model } from '../../model/model.ts'
import { addCondition, always, noDependencies } from './condition.ts'
import { type ModelView, viewOf } from './guard/model-view.ts'
import type { GuardedAssignment, GuardedBound, GuardedCount, GuardedLimit } from './guarded.ts'

const limitsByCollection = new WeakMap<Collection, readonly GuardedLimit[]>()

export function limitsOf(model: Model, collection: Collection): readonly GuardedLimit[] {
  const cached = limitsByCollection.get(collection)
  if (cached !== undefined) return cached
  // The rules of limits do not depend on the caller.
  const view = viewOf(model, anonymous('').access)
  const limits = collection.limits.map((limit): GuardedLimit => {
    const { per, where, message: refusal } = limit
    const items = { per, where: view.rule(where, collection), refusal }
    if (limit.kind === 'count') return { ...items, kind: 'count', count: countIn(view, limit.count) }
    return { ...items, kind: 'overlap', start: limit.start, end: limit.end }
  })
  limitsByCollection.set(collection, limits)
  return limits
}

/** The limits that affect updates of the collection: its own, and those of other items that its fields hold. */
export function limitsOfUpdates(model: Model, collection: Collection): readonly GuardedLimit[] {
  const bounds = [...model.collections.values()].flatMap(limited =>
    limitsOf(model, limited).flatMap((limit): GuardedBound[] => {
      if (limit.kind !== 'count' || typeof limit.count === 'number' || limit.per === undefined) return []
      if (limit.count.collection !== collection) return []
      const { refusal, count, per: by } = limit
      return [{ kind: 'bound', field: count.field, limited, by, per: undefined, where: always, refusal }]
    }),
  )
  return [...limitsOf(model, collection), ...bounds]
}

function countIn(view: ModelView, count: CountLimit['count']): GuardedCount['count'] {
  if (typeof count === 'number') return count
  const collection = view.collection(count.collection)
  const field = collection.fields.get(count.field)
  if (field === undefined) throw new TypeError(`${collection.name} has no field ${count.field}.`)
  return { collection, field }
}

/** Whether setting these fields may change which items count, their intervals, or the limit. */
export function affectsLimit(limit: GuardedLimit, set: readonly Pick<GuardedAssignment, 'field'>[]): boolean {
  const names = fieldsOfLimit(limit)
  return set.some(({ field }) => names.has(field.name))
}

/** The names of the fields on which it depends whether an item exceeds the limit. */
export function fieldsOfLimit(limit: GuardedLimit): ReadonlySet<string> {
  const { fields } = addCondition(limit.where, noDependencies())
  const own =
    limit.kind === 'overlap' ? [limit.start, limit.end] : limit.kind === 'bound' ? [limit.field] : []
  return new Set([...fields, ...[limit.per ?? [], ...own].flat().map(({ name }) => name)])
}
