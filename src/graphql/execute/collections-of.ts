/** Which collections the writes of a mutation change, and read for their values. */
import { collectionsReadBy } from '../../model/computed/fields.ts'
import type { Collection, Model } from '../../model/model.ts'
import type { Filter, Selected } from '../../plan/plan.ts'
import type { WriteStep } from '../plan/variant.ts'

export function collectionsOf(model: Model, steps: readonly WriteStep[]): readonly string[] {
  const found = new Set<string>()
  for (const { collection, select } of steps) {
    found.add(collection.name)
    addSelected(model, collection, select, found)
  }
  return [...found]
}

function addSelected(
  model: Model,
  collection: Collection,
  select: readonly Selected[],
  found: Set<string>,
): void {
  for (const one of select) {
    if (one.kind === 'field') addComputed(model, collection, one.field, found)
    if (one.kind !== 'relation') continue
    const target = entered(model, collection, one.relation, found)
    if (target === undefined) continue
    addSelected(model, target, one.select, found)
    if (one.list?.filter) addFiltered(model, target, one.list.filter, found)
    for (const { field } of one.list?.sort ?? []) addComputed(model, target, field, found)
  }
}

function addFiltered(model: Model, collection: Collection, filter: Filter, found: Set<string>): void {
  if (filter.kind === 'compare') {
    addComputed(model, collection, filter.field, found)
  } else if (filter.kind === 'and' || filter.kind === 'or') {
    for (const each of filter.filters) addFiltered(model, collection, each, found)
  } else if (filter.kind === 'not') {
    addFiltered(model, collection, filter.filter, found)
  } else if (filter.kind === 'related') {
    const target = entered(model, collection, filter.relation, found)
    if (target !== undefined) addFiltered(model, target, filter.filter, found)
  }
}

function addComputed(model: Model, collection: Collection, field: string, found: Set<string>): void {
  for (const name of collectionsReadBy(field, collection, model)) found.add(name)
}

/** Follows a relation, and adds what that reads. */
function entered(
  model: Model,
  collection: Collection,
  name: string,
  found: Set<string>,
): Collection | undefined {
  const relation = collection.relations.get(name)
  if (relation === undefined) return undefined
  if (relation.kind === 'manyToMany') found.add(relation.through)
  found.add(relation.target)
  return model.collections.get(relation.target)
}
