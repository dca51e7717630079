/** The methods of routes: those of the operations that exist. */

import { ApiError } from '../../base/errors.ts'
import { exists } from '../../model/crud.ts'
import type { Collection, CrudOperation } from '../../model/model.ts'
import type { SubresourceRoute } from './actions/routes.ts'
import type { RunsRoute } from './runs-route.ts'

export const operationOf: Readonly<Record<string, CrudOperation>> = {
  GET: 'read',
  HEAD: 'read',
  POST: 'create',
  PUT: 'update',
  PATCH: 'update',
  DELETE: 'delete',
}

/** The methods that a route accepts, for `Allow` (RFC 9110, 10.2.1). Empty: the route does not exist. */
export type Methods = readonly string[]

const readOnly: Methods = ['GET', 'HEAD', 'OPTIONS']
const postOnly: Methods = ['POST', 'OPTIONS']
const listed: Methods = ['GET', 'HEAD', 'DELETE', 'OPTIONS']
const deleteOnly: Methods = ['DELETE', 'OPTIONS']

export const readMethods = (): Methods => readOnly
export const postMethods = (): Methods => postOnly
export const subresourceMethods = ({ key }: SubresourceRoute): Methods =>
  key === undefined ? listed : deleteOnly
export const runsMethods = ({ action }: RunsRoute): Methods => (action === 'list' ? readOnly : postOnly)

type MethodsOfOperations = readonly (readonly [CrudOperation, Methods])[]

/** Caches the methods of a collection, because every request asks for them. */
function methodsBy(operations: MethodsOfOperations): (route: { readonly collection: Collection }) => Methods {
  const methodsByCollection = new WeakMap<Collection, Methods>()
  return ({ collection }) => {
    const cached = methodsByCollection.get(collection)
    if (cached) return cached
    const methods = operations.flatMap(([operation, names]) => (exists(collection, operation) ? names : []))
    const allowed = methods.length === 0 ? [] : [...methods, 'OPTIONS']
    methodsByCollection.set(collection, allowed)
    return allowed
  }
}

export const collectionMethods = methodsBy([
  ['read', ['GET', 'HEAD']],
  ['create', ['POST']],
])

export const itemMethods = methodsBy([
  ['read', ['GET', 'HEAD']],
  ['update', ['PUT', 'PATCH']],
  ['delete', ['DELETE']],
])

/** Throws METHOD_NOT_ALLOWED; NOT_FOUND, as for an unknown path, if the model allows no method to anybody. */
export function refuseMethod(allowed: Methods): never {
  if (allowed.length === 0) throw new ApiError('NOT_FOUND')
  throw new ApiError('METHOD_NOT_ALLOWED', `This path accepts ${allowed.join(', ')}.`, {
    headers: { Allow: allowed.join(', ') },
  })
}
