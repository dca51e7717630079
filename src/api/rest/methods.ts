/** The methods of routes: those of the operations that exist. */

import { exists } from '../../model/crud.ts'
import type { Collection } from '../../model/model.ts'
import type { Route } from './routes.ts'

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

/** Whether the route accepts GET and HEAD. */
export function isReadable(route: Route): boolean {
  if (route.kind === 'collection' || route.kind === 'item') return exists(route.collection, 'read')
  if (route.kind === 'subresource') return route.key === undefined
  if (route.kind === 'runs') return route.action === 'list'
  return route.kind !== 'batch' && route.kind !== 'action' && route.kind !== 'explain'
}

const readOnly: readonly string[] = ['GET', 'HEAD', 'OPTIONS']
const postOnly: readonly string[] = ['POST', 'OPTIONS']
const listed: readonly string[] = ['GET', 'HEAD', 'DELETE', 'OPTIONS']
const deleteOnly: readonly string[] = ['DELETE', 'OPTIONS']

function methodsFor(collection: Collection, kind: keyof typeof methodsOf): readonly string[] {
  const methods = methodsOf[kind].flatMap(([operation, names]) =>
    exists(collection, operation) ? names : [],
  )
  return methods.length === 0 ? [] : [...methods, 'OPTIONS']
}

const methodsByCollection = {
  collection: new WeakMap<Collection, readonly string[]>(),
  item: new WeakMap<Collection, readonly string[]>(),
}

/** The methods that a route accepts, for `Allow` (RFC 9110, 10.2.1). Empty: the route does not exist. */
export function allowedMethods(route: Route): readonly string[] {
  if (route.kind === 'subresource') return route.key === undefined ? listed : deleteOnly
  if (!isReadable(route) && route.kind !== 'collection' && route.kind !== 'item') return postOnly
  if (route.kind !== 'collection' && route.kind !== 'item') return readOnly
  const cached = methodsByCollection[route.kind].get(route.collection)
  if (cached) return cached
  const methods = methodsFor(route.collection, route.kind)
  methodsByCollection[route.kind].set(route.collection, methods)
  return methods
}
