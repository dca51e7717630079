/** The routes under `/api/v1`. Paths are matched as they were sent, undecoded, so that every route has one spelling. */
import type { Collection, ManyToMany, Model, ToMany } from '../model/model.ts'
import {
  type ActionRoute,
  logicRoute,
  type NestedRoute,
  operationRoute,
  type QueryRoute,
  routeBelow,
} from './actions/routes.ts'
import { canFollow, exists } from './operations.ts'
import { parseId } from './path-id.ts'

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
  | NestedRoute
  | ActionRoute
  | QueryRoute
  | { readonly kind: 'me' }
  | { readonly kind: 'openapi' }
  | { readonly kind: 'events' }
  | { readonly kind: 'batch' }

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
  const collection = model.collections.get(name)
  return collection && { kind: 'collection', collection }
}

/** The route of a path; undefined when no route has exactly this spelling. */
export function findRoute(model: Model, path: string): Route | undefined {
  if (!path.startsWith(`${prefix}/`)) return undefined
  const nameEnd = path.indexOf('/', start)
  if (nameEnd === -1) return rootRoute(model, path.slice(start))
  const name = path.slice(start, nameEnd)
  const collection = model.collections.get(name)
  if (!collection) return logicRoute(model, name, path.slice(nameEnd + 1))
  const idEnd = path.indexOf('/', nameEnd + 1)
  const id = parseId(path, nameEnd + 1, idEnd === -1 ? path.length : idEnd)
  if (id === 0) return operationRoute(model, collection, path.slice(nameEnd + 1), undefined)
  if (idEnd === -1) return { kind: 'item', collection, id }
  const below = path.slice(idEnd + 1)
  const relation = collection.relations.get(below)
  if (!relation) return routeBelow(model, collection, id, below)
  if (relation.kind === 'one') return undefined
  if (!exists(collection, 'read') || !canFollow(model, collection, relation)) return undefined
  return { kind: 'within', collection, id, relation }
}
