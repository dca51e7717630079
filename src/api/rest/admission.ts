/**
 * Who may use a route at all, and with which methods. Checked before any other fault of a request is reported: each function
 * throws for a caller who may do this to no item at all.
 */
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

/** For routes that are open to every caller, or decide it themselves. */
export function admitEveryone(): void {}

export function admitMe(model: Model, _route: RouteOf<'me'>, principal: Principal): void {
  requireUser(principal)
  const users = model.collections.get('users')
  if (users) admit(model, users, 'read', principal.access)
}

export function admitCall(model: Model, { operation }: ActionRoute | QueryRoute, principal: Principal): void {
  admitOperation(model, operation, principal)
}

export function admitToCollection(
  model: Model,
  { collection }: { readonly collection: Collection },
  { access }: Principal,
  operation: CrudOperation,
): void {
  admit(model, collection, operation, access)
}

export function admitWithin(
  model: Model,
  { collection, relation }: { readonly collection: Collection; readonly relation: Relation },
  { access }: Principal,
  operation: CrudOperation,
): void {
  admit(model, collection, operation, access)
  for (const along of collectionsAlong(model, relation)) admit(model, along, 'read', access)
}

export function admitAggregate(
  model: Model,
  { collection, within }: RouteOf<'aggregate'>,
  principal: Principal,
  operation: CrudOperation,
): void {
  if (within === undefined) admitToCollection(model, { collection }, principal, operation)
  else admitWithin(model, { collection, relation: within.relation }, principal, operation)
}
