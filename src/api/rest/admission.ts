/** Who may use a route at all, and with which methods. Checked before any other fault of a request is reported. */
import { ApiError } from '../../base/errors.ts'
import { isAnonymous, type Principal } from '../../base/principal.ts'
import { admit } from '../../engine/plan/guard/guard.ts'
import type { CrudOperation, Model, Relation } from '../../model/model.ts'
import { admitAction, admitNested, admitSubresource } from './actions/admission.ts'
import { allowedMethods } from './methods.ts'
import { collectionsAlong } from './operations.ts'
import type { Route } from './routes.ts'

export const operationOf: Readonly<Record<string, CrudOperation>> = {
  GET: 'read',
  POST: 'create',
  PUT: 'update',
  PATCH: 'update',
  DELETE: 'delete',
}

/** Throws METHOD_NOT_ALLOWED; NOT_FOUND, as for an unknown path, if the model allows no method to anybody. */
export function refuseMethod(route: Route): never {
  const allowed = allowedMethods(route)
  if (allowed.length === 0) throw new ApiError('NOT_FOUND')
  throw new ApiError('METHOD_NOT_ALLOWED', `This path accepts ${allowed.join(', ')}.`, {
    headers: { Allow: allowed.join(', ') },
  })
}

export function noUser({ access }: Principal): ApiError {
  if (isAnonymous(access)) return new ApiError('UNAUTHORIZED')
  return new ApiError('FORBIDDEN', 'The credential belongs to an app without a user.')
}

/** Throws for a caller who may do this to no item at all, before other faults of the request are reported. */
export function admitTo(model: Model, route: Route, operation: CrudOperation, principal: Principal): void {
  const { access } = principal
  if (route.kind === 'openapi' || route.kind === 'batch' || route.kind === 'events') return
  if (route.kind === 'explain' || route.kind === 'runs') return
  if (route.kind === 'me') {
    if (principal.userId === null) throw noUser(principal)
    const users = model.collections.get('users')
    if (users) admit(model, users, 'read', access)
    return
  }
  if (route.kind === 'action' || route.kind === 'query') {
    admitAction(model, route, principal)
    return
  }
  if (route.kind === 'subresource') {
    admitSubresource(model, route, operation === 'read' ? 'read' : 'update', principal)
    return
  }
  if (route.kind === 'nested') {
    admitNested(model, route, principal)
    return
  }
  admit(model, route.collection, operation, access)
  const relation = relationOf(route)
  if (relation === undefined) return
  for (const along of collectionsAlong(model, relation)) admit(model, along, 'read', access)
}

/** The relation along which the route lists or aggregates items. */
export function relationOf(route: Route): Relation | undefined {
  if (route.kind === 'within') return route.relation
  return route.kind === 'aggregate' ? route.within?.relation : undefined
}
