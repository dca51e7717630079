/** Who may use a route at all, and by which methods: what a request is refused with before any fault of it. */
import { ApiError } from '../errors.ts'
import type { Model, Relation } from '../model/model.ts'
import { admit } from '../plan/guard.ts'
import { isAnonymous, type Principal } from '../principal.ts'
import { admitAction, admitNested, admitSubresource } from './actions/admission.ts'
import { allowedMethods } from './methods.ts'
import { collectionsAlong, type Operation } from './operations.ts'
import type { Route } from './routes.ts'

export const operationOf: Readonly<Record<string, Operation>> = {
  GET: 'read',
  POST: 'create',
  PUT: 'update',
  PATCH: 'update',
  DELETE: 'delete',
}

/** A path on which the model allows nothing to anybody is as unknown as one without a route. */
export function refuseMethod(route: Route): never {
  const allowed = allowedMethods(route)
  if (allowed.length === 0) throw new ApiError('NOT_FOUND')
  throw new ApiError('METHOD_NOT_ALLOWED', `This path takes ${allowed.join(', ')}.`, {
    headers: { Allow: allowed.join(', ') },
  })
}

export function noUser({ access }: Principal): ApiError {
  if (isAnonymous(access)) return new ApiError('UNAUTHORIZED')
  return new ApiError('FORBIDDEN', 'An app by itself is no user: there is nobody to read.')
}

/** A caller who may do this to no item at all is told so first, before any fault of the request. */
export function admitTo(model: Model, route: Route, operation: Operation, principal: Principal): void {
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
