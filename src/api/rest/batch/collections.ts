/** The collections that a batch reads or writes. */
import { collectionsReadBy } from '../../../model/computed/fields.ts'
import type { Collection, Model } from '../../../model/model.ts'
import { collectionsAlong } from '../operations.ts'
import { parseQuery } from '../query/query-string.ts'
import { batchedKind } from '../route-kinds.ts'
import type { Route } from '../routes.ts'

/** Adds the collections of a route, and those that its query may reach by relations: possibly more than it uses, never less. */
export function addCollections(model: Model, route: Route, query: string, collections: Set<string>): void {
  const named = batchedKind(route).collections(model, route)
  if (named.length === 0) return
  const namesInQuery = new Set(
    parseQuery(query).flatMap(({ name, value }) => `${name},${value}`.split(/[^a-z0-9_]+/)),
  )
  const reached = new Set<Collection>()
  for (const collection of named) enter(collection, model, namesInQuery, reached)
  for (const collection of reached) {
    collections.add(collection.name)
    for (const name of namesInQuery)
      for (const source of collectionsReadBy(name, collection, model)) collections.add(source)
  }
}

/** `namesInQuery`: includes every relation that the query follows. */
function enter(
  collection: Collection,
  model: Model,
  namesInQuery: ReadonlySet<string>,
  reached: Set<Collection>,
): void {
  if (reached.has(collection)) return
  reached.add(collection)
  for (const relation of collection.relations.values()) {
    if (!namesInQuery.has(relation.name)) continue
    for (const target of collectionsAlong(model, relation)) enter(target, model, namesInQuery, reached)
  }
}
