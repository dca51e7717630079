/** Deletes that may run concurrently within their group, like updates. */
import type { Model } from '../../../../model/model.ts'
import { referencesTo } from '../../../../model/references.ts'

/**
 * The names of the collections in which a delete changes only its own row, and frees no place under a limit: no field refers
 * to the collection, and it has no limits. Other deletes run one after the other, after the other writes of their group.
 */
export function independentDeletes(model: Model): ReadonlySet<string> {
  const independent = [...model.collections.values()].filter(
    collection => collection.limits.length === 0 && referencesTo(collection, model).length === 0,
  )
  return new Set(independent.map(({ name }) => name))
}
