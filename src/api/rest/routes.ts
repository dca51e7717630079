/** The routes under `/api/v1`. Paths are matched undecoded, so that every route has one spelling. */

import { personalDataPath } from '../../model/builtin/actions.ts'
import { exists } from '../../model/crud.ts'
import type { Collection, ManyToMany, Model, ToMany } from '../../model/model.ts'
import {
  type ActionRoute,
  actionRoute,
  type BuiltinActionRoute,
  logicRoute,
  type NestedRoute,
  type QueryRoute,
  routeBelow,
  type SubresourceRoute,
} from './actions/routes.ts'
import { type FileRoute, fileRoute } from './files/routes.ts'
import { canFollow } from './operations.ts'
import { parseId } from './path-id.ts'
import { type RunsRoute, runsRoute } from './runs-route.ts'

export const prefix = '/api/v1'

export type Route =
  | { readonly kind: 'collection'; readonly collection: Collection }
  | { readonly kind: 'item'; readonly collection: Collection; readonly id: number }
  | {
      readonly kind: 'within'
      readonly collection: Collection
      readonly id: number
      readonly relation: ToMany | ManyToMany
    }
  /** Aggregates a collection, or the items that one item reaches by a relation. */
  | {
      readonly kind: 'aggregate'
      readonly collection: Collection
      readonly within: { readonly id: number; readonly relation: ToMany | ManyToMany } | undefined
    }
  | NestedRoute
  | SubresourceRoute
  | ActionRoute
  | BuiltinActionRoute
  | QueryRoute
  | { readonly kind: 'personalData'; readonly collection: Collection; readonly id: number }
  | { readonly kind: 'me' }
  | { readonly kind: 'openapi' }
  | { readonly kind: 'events' }
  | { readonly kind: 'batch' }
  | { readonly kind: 'explain' }
  | FileRoute
  /** Creates an upload, which the write of an item makes a file. */
  | { readonly kind: 'upload' }
  | RunsRoute

/** The routes of one kind. */
export type RouteOf<Kind extends Route['kind']> = Extract<Route, { readonly kind: Kind }>

const start = prefix.length + 1

function readsUsers({ collections }: Model): boolean {
  const users = collections.get('users')
  return users !== undefined && exists(users, 'read')
}

function rootRoute(model: Model, name: string): Route | undefined {
  if (name === 'me') return readsUsers(model) ? { kind: 'me' } : undefined
  if (name === 'openapi.json') return { kind: 'openapi' }
  if (name === 'events') return { kind: 'events' }
  if (name === 'batch') return { kind: 'batch' }
  if (name === 'explain') return { kind: 'explain' }
  if (name === 'uploads') return model.collections.has('uploads') ? { kind: 'upload' } : undefined
  const collection = model.collections.get(name)
  return collection && { kind: 'collection', collection }
}

/** The route of a path; undefined if no route has exactly this spelling. */
export function findRoute(model: Model, path: string): Route | undefined {
  if (!path.startsWith(`${prefix}/`)) return undefined
  const nameEnd = path.indexOf('/', start)
  if (nameEnd === -1) return rootRoute(model, path.slice(start))
  const name = path.slice(start, nameEnd)
  const collection = model.collections.get(name)
  if (name === 'events') return runsRoute(model, path.slice(nameEnd + 1))
  if (!collection) return logicRoute(model, name, path.slice(nameEnd + 1))
  if (path.endsWith(aggregateEnd)) {
    const route = aggregateRoute(model, collection, path.slice(nameEnd, -aggregateEnd.length))
    if (route) return route
  }
  const idEnd = path.indexOf('/', nameEnd + 1)
  const id = parseId(path, nameEnd + 1, idEnd === -1 ? path.length : idEnd)
  if (id === 0) return actionRoute(model, collection, path.slice(nameEnd + 1), undefined)
  if (idEnd === -1) return { kind: 'item', collection, id }
  const below = path.slice(idEnd + 1)
  if (name === 'users' && below === personalDataPath) return { kind: 'personalData', collection, id }
  if (!collection.relations.has(below))
    return fileRoute(collection, id, below) ?? routeBelow(model, collection, id, below)
  const relation = listedRelation(model, collection, below)
  return relation && { kind: 'within', collection, id, relation }
}

/** A relation whose items are listed below an item. */
function listedRelation(model: Model, collection: Collection, name: string): ToMany | ManyToMany | undefined {
  const relation = collection.relations.get(name)
  if (relation === undefined || relation.kind === 'one') return undefined
  return exists(collection, 'read') && canFollow(model, collection, relation) ? relation : undefined
}

const aggregateEnd = '/aggregate'

/** `path`: the part between the collection and `/aggregate`: empty, or `/{id}/{relation}`. */
function aggregateRoute(model: Model, collection: Collection, path: string): Route | undefined {
  if (path === '')
    return exists(collection, 'read') ? { kind: 'aggregate', collection, within: undefined } : undefined
  const idEnd = path.indexOf('/', 1)
  const id = idEnd === -1 ? 0 : parseId(path, 1, idEnd)
  const relation = id === 0 ? undefined : listedRelation(model, collection, path.slice(idEnd + 1))
  return relation && { kind: 'aggregate', collection, within: { id, relation } }
}
