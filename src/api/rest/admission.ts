/** Who may use a route at all, and with which methods. Checked before any other fault of a request is reported. */
import { ApiError } from '../../base/errors.ts'
import { isAnonymous, type Principal } from '../../base/principal.ts'
import { admitOperation } from '../../engine/logic/operations/access.ts'
import { admit } from '../../engine/plan/guard/guard.ts'
import type { Collection, CrudOperation, Model, Relation } from '../../model/model.ts'
import type { ActionRoute, QueryRoute } from './actions/routes.ts'
import { collectionsAlong } from './operations.ts'
import type { RouteOf } from './routes.ts'

function noUser({ access }: Principal): ApiError {
  if (isAnonymous(access)) return new ApiError('UNAUTHORIZED')
  return new ApiError('FORBIDDEN', 'The credential belongs to an app without a user.')
}

/** The user of the credential. Throws if it has none. */
export function requireUser(principal: Principal): number {
  if (principal.userId === null) throw noUser(principal)
  return principal.userId
}

/** Throws for a caller who may do this to no item at all. */
export type Admit<R> = (model: Model, route: R, principal: Principal, operation: CrudOperation) => void

export interface HasCollection {
  readonly collection: Collection
}

/** For routes that are open to every caller, or decide it themselves. */
export function admitEveryone(): void {}

export const admitMe: Admit<RouteOf<'me'>> = (model, _route, principal) => {
  requireUser(principal)
  const users = model.collections.get('users')
  if (users) admit(model, users, 'read', principal.access)
}

export const admitToOperation: Admit<ActionRoute | QueryRoute> = (model, { operation }, principal) =>
  admitOperation(model, operation, principal)

export const admitToCollection: Admit<HasCollection> = (model, { collection }, { access }, operation) =>
  admit(model, collection, operation, access)

export const admitWithin: Admit<HasCollection & { readonly relation: Relation }> = (
  model,
  { collection, relation },
  { access },
  operation,
) => {
  admit(model, collection, operation, access)
  for (const along of collectionsAlong(model, relation)) admit(model, along, 'read', access)
}

export const admitAggregate: Admit<RouteOf<'aggregate'>> = (model, route, principal, operation) => {
  const { collection, within } = route
  if (within === undefined) admitToCollection(model, route, principal, operation)
  else admitWithin(model, { collection, relation: within.relation }, principal, operation)
}
