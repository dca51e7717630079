/** Which operations exist: one that the model allows to nobody is not there. */
import type { Collection } from '../model/model.ts'
import type { Route } from './path.ts'

export type Operation = 'read' | 'create' | 'update' | 'delete'

/** Whether the model lets anybody do it at all. */
export function exists(collection: Collection, operation: Operation): boolean {
  return collection.access[operation].kind !== 'nobody'
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
