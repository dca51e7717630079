/** The collections that a batch reads or writes. */
import { collectionsReadBy } from '../../model/computed/fields.ts'
import type { Collection, Model } from '../../model/model.ts'
import { relationOf } from '../admission.ts'
import { collectionsAlong } from '../operations.ts'
import { parseQuery } from '../query/query-string.ts'
import type { Route } from '../routes.ts'

/** Adds the collections of a route, and those that its query may reach by relations: possibly more than it uses, never fewer. */
export function addCollections(model: Model, route: Route, query: string, found: Set<string>): void {
  if (
    route.kind === 'openapi' ||
    route.kind === 'batch' ||
    route.kind === 'events' ||
    route.kind === 'explain' ||
    route.kind === 'runs'
  )
    return
  // The collections of actions and queries are known only while they run.
  if ('operation' in route) return
  const start = route.kind === 'me' ? model.collections.get('users') : route.collection
  if (start === undefined) return
  const named = new Set(
    parseQuery(query).flatMap(({ name, value }) => `${name},${value}`.split(/[^a-z0-9_]+/)),
  )
  const entered = new Set<Collection>()
  enter(start, model, named, entered)
  const relation = relationOf(route)
  for (const along of relation ? collectionsAlong(model, relation) : []) enter(along, model, named, entered)
  for (const collection of entered) {
    found.add(collection.name)
    for (const name of named) for (const read of collectionsReadBy(name, collection, model)) found.add(read)
  }
}

/** `named`: all names in the query, including every relation that it follows. */
function enter(
  collection: Collection,
  model: Model,
  named: ReadonlySet<string>,
  entered: Set<Collection>,
): void {
  if (entered.has(collection)) return
  entered.add(collection)
  for (const relation of collection.relations.values()) {
    if (!named.has(relation.name)) continue
    for (const along of collectionsAlong(model, relation)) enter(along, model, named, entered)
  }
}
