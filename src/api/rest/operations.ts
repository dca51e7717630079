/** The fields and relations of a model that exist in REST: those that the model allows to somebody. */
import { exists } from '../../model/crud.ts'
import type { Collection, ComputedField, Field, Model, Relation } from '../../model/model.ts'

/** The fields that somebody may read. */
export function visibleFields(collection: Collection): readonly Field[] {
  return [...collection.fields.values()].filter(
    field => !field.internal && !field.writeOnly && field.access.read.kind !== 'nobody',
  )
}

/** The computed fields that somebody may read. */
export function visibleComputed({ computed }: Collection): readonly ComputedField[] {
  return [...computed.values()].filter(field => field.access.read.kind !== 'nobody')
}

/** The collections that are read along a relation: the target, and the join collection of a many-to-many relation. */
export function collectionsAlong(model: Model, relation: Relation): readonly Collection[] {
  const names = relation.kind === 'manyToMany' ? [relation.target, relation.through] : [relation.target]
  return names.flatMap(name => model.collections.get(name) ?? [])
}

function isFollowable(model: Model, collection: Collection, relation: Relation): boolean {
  const targets = collectionsAlong(model, relation)
  const holder = { one: collection, many: targets[0], manyToMany: targets[1] }[relation.kind]
  const links = relation.kind === 'manyToMany' ? [relation.from, relation.to] : [relation.field]
  const visibleNames = new Set(holder && visibleFields(holder).map(({ name }) => name))
  return targets.every(target => exists(target, 'read')) && links.every(name => visibleNames.has(name))
}

const followableRelations = new WeakMap<Collection, ReadonlySet<Relation>>()

/** Whether the model allows somebody to follow the relation. */
export function canFollow(model: Model, collection: Collection, relation: Relation): boolean {
  const cached = followableRelations.get(collection)
  if (cached) return cached.has(relation)
  const relations = [...collection.relations.values()]
  const followable = new Set(relations.filter(candidate => isFollowable(model, collection, candidate)))
  followableRelations.set(collection, followable)
  return followable.has(relation)
}
