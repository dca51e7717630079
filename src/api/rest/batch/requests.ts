/** The operations of a batch as requests: each as the table of routes says. */

import type { Call } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import { operationOf, refuseMethod } from '../methods.ts'
import { batchedKind, kindOf } from '../route-kinds.ts'
import { findRoute, type Route } from '../routes.ts'
import type { RestServices } from '../services.ts'
import type { Prepared } from './prepare.ts'

/** The route of an operation. Throws if a batch does not accept its path or method, or the caller may not use them at all. */
export function admittedRoute({ model }: RestServices, call: Call, principal: Principal): Route {
  const route = findRoute(model, call.path)
  if (!route) throw new ApiError('NOT_FOUND')
  batchedKind(route)
  const kind = kindOf(route)
  const methods = kind.methods(route)
  if (!methods.includes(call.method)) refuseMethod(methods)
  kind.admit(model, route, principal, operationOf[call.method] ?? 'read')
  return route
}

/** Throws the error that a separate request would get. */
export function prepare(services: RestServices, route: Route, call: Call, principal: Principal): Prepared {
  const { read, write } = batchedKind(route)
  const prepareOperation = call.method === 'GET' ? read : write?.prepare
  if (!prepareOperation) refuseMethod(kindOf(route).methods(route))
  return prepareOperation(services, route, call, principal)
}

/** Throws the same errors for a write whose body is not known yet, if they do not depend on the body. */
export function check(services: RestServices, route: Route, call: Call, principal: Principal): void {
  batchedKind(route).write?.check(services, route, call, principal)
}
