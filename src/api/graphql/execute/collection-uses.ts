/** The collections that the writes of a mutation change, and those that they read to return their values. */

import { leavesOf } from '../../../base/predicate.ts'
import type { Filter, Selected } from '../../../engine/plan/plan.ts'
import type { CollectionUses } from '../../../engine/plan/transaction.ts'
import { collectionsReadBy } from '../../../model/computed/fields.ts'
import type { Collection, Model } from '../../../model/model.ts'
import type { WriteStep } from '../plan/variant.ts'

export function usesOf(
  model: Model,
  steps: readonly Pick<WriteStep, 'kind' | 'collection' | 'select'>[],
): CollectionUses {
  const reads = new Set<string>()
  const writes = new Set<string>()
  const deletes = new Set<string>()
  for (const { kind, collection, select } of steps) {
    const changes = kind === 'delete' ? deletes : writes
    changes.add(collection.name)
    addSelected(model, collection, select, reads)
  }
  return { reads: [...reads], writes: [...writes], deletes: [...deletes] }
}

function addSelected(
  model: Model,
  collection: Collection,
  select: readonly Selected[],
  names: Set<string>,
): void {
  for (const selected of select) {
    if (selected.kind === 'field') addComputed(model, collection, selected.field, names)
    if (selected.kind !== 'relation') continue
    const target = enterRelation(model, collection, selected.relation, names)
    if (target === undefined) continue
    addSelected(model, target, selected.select, names)
    if (selected.list?.filter) addFiltered(model, target, selected.list.filter, names)
    for (const { field } of selected.list?.sort ?? []) addComputed(model, target, field, names)
  }
}

function addFiltered(model: Model, collection: Collection, filter: Filter, names: Set<string>): void {
  for (const leaf of leavesOf(filter)) {
    if (leaf.kind === 'compare') {
      addComputed(model, collection, leaf.field, names)
      continue
    }
    const target = enterRelation(model, collection, leaf.relation, names)
    if (target !== undefined) addFiltered(model, target, leaf.filter, names)
  }
}

function addComputed(model: Model, collection: Collection, field: string, names: Set<string>): void {
  for (const name of collectionsReadBy(field, collection, model)) names.add(name)
}

/** Follows a relation, and adds the collections that this reads. */
function enterRelation(
  model: Model,
  collection: Collection,
  name: string,
  names: Set<string>,
): Collection | undefined {
  const relation = collection.relations.get(name)
  if (relation === undefined) return undefined
  if (relation.kind === 'manyToMany') names.add(relation.through)
  names.add(relation.target)
  return model.collections.get(relation.target)
}
