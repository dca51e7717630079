/** Which operations exist: one that the model allows to nobody is not there. */
import type { Collection, Field, Model, Relation } from '../model/model.ts'
import type { Route } from './path.ts'

export type Operation = 'read' | 'create' | 'update' | 'delete'

/** Whether the model lets anybody do it at all. */
export function exists(collection: Collection, operation: Operation): boolean {
  return collection.access[operation].kind !== 'nobody'
}

/** The fields that anybody can ever read. */
export function visibleFields(collection: Collection): readonly Field[] {
  return [...collection.fields.values()].filter(
    field => !field.internal && !field.writeOnly && field.access.read.kind !== 'nobody',
  )
}

/** The collections that whoever follows a relation reads: the target, and the join collection where there is one. */
export function collectionsAlong(model: Model, relation: Relation): readonly Collection[] {
  const names = relation.kind === 'manyToMany' ? [relation.target, relation.through] : [relation.target]
  return names.flatMap(name => model.collections.get(name) ?? [])
}

function isFollowable(model: Model, collection: Collection, relation: Relation): boolean {
  const along = collectionsAlong(model, relation)
  const holder = { one: collection, many: along[0], manyToMany: along[1] }[relation.kind]
  const links = relation.kind === 'manyToMany' ? [relation.from, relation.to] : [relation.field]
  const seen = new Set(holder && visibleFields(holder).map(({ name }) => name))
  return along.every(each => exists(each, 'read')) && links.every(name => seen.has(name))
}

const followed = new WeakMap<Collection, ReadonlySet<Relation>>()

/** Whether the model lets anybody follow the relation at all. */
export function canFollow(model: Model, collection: Collection, relation: Relation): boolean {
  const found = followed.get(collection)
  if (found) return found.has(relation)
  const relations = [...collection.relations.values()]
  const made = new Set(relations.filter(each => isFollowable(model, collection, each)))
  followed.set(collection, made)
  return made.has(relation)
}

const methodsOf = {
  collection: [
    ['read', ['GET', 'HEAD']],
    ['create', ['POST']],
  ],
  item: [
    ['read', ['GET', 'HEAD']],
    ['update', ['PUT', 'PATCH']],
    ['delete', ['DELETE']],
  ],
} as const

/** Whether a route is read with GET and HEAD. */
export function isReadable(route: Route): boolean {
  return (route.kind !== 'collection' && route.kind !== 'item') || exists(route.collection, 'read')
}

const readOnly: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

function methodsFor(collection: Collection, kind: keyof typeof methodsOf): readonly string[] {
  const methods = methodsOf[kind].flatMap(([operation, names]) =>
    exists(collection, operation) ? names : [],
  )
  return methods.length === 0 ? [] : [...methods, 'OPTIONS']
}

const known = {
  collection: new WeakMap<Collection, readonly string[]>(),
  item: new WeakMap<Collection, readonly string[]>(),
}

/** The methods that a route takes, for `Allow` (RFC 9110, 10.2.1). Empty: nothing is there. */
export function allowedMethods(route: Route): readonly string[] {
  if (route.kind !== 'collection' && route.kind !== 'item') return readOnly
  const found = known[route.kind].get(route.collection)
  if (found) return found
  const made = methodsFor(route.collection, route.kind)
  known[route.kind].set(route.collection, made)
  return made
}
