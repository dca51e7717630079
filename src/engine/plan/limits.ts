/** A collection's limits, which are the same for all callers. */

import { anonymous } from '../../base/principal.ts'
import type { Collection, Limit, Model } from '../../model/model.ts'
import { addCondition, noDependencies } from './condition.ts'
import { type ModelView, viewOf } from './guard/model-view.ts'
import type { GuardedAssignment, GuardedLimit } from './guarded.ts'

const limitsByCollection = new WeakMap<Collection, readonly GuardedLimit[]>()

export function limitsOf(model: Model, collection: Collection): readonly GuardedLimit[] {
  const cached = limitsByCollection.get(collection)
  if (cached !== undefined) return cached
  // The rules of limits do not depend on the caller.
  const view = viewOf(model, anonymous('').access)
  const limits = collection.limits.map(({ count, per, where, message }) => {
    return {
      count: countIn(view, count),
      per,
      where: view.rule(where, collection),
      refusal: message,
    }
  })
  limitsByCollection.set(collection, limits)
  return limits
}

function countIn(view: ModelView, count: Limit['count']): GuardedLimit['count'] {
  if (typeof count === 'number') return count
  const collection = view.collection(count.collection)
  const field = collection.fields.get(count.field)
  if (field === undefined) throw new TypeError(`${collection.name} has no field ${count.field}.`)
  return { collection, field }
}

/** Whether setting these fields may change which items count. */
export function affectsLimit(
  { per, where }: GuardedLimit,
  set: readonly Pick<GuardedAssignment, 'field'>[],
): boolean {
  const { fields } = addCondition(where, noDependencies())
  return set.some(({ field }) => field === per || fields.has(field.name))
}
