/** Who may use an action, or read items within others, at all. */
import { admitOperation } from '../../logic/operations/access.ts'
import type { Model } from '../../model/model.ts'
import { admit } from '../../plan/guard.ts'
import type { Principal } from '../../principal.ts'
import { collectionsAlong } from '../operations.ts'
import { type ActionRoute, isOperation, type NestedRoute, type QueryRoute } from './routes.ts'

/** Throws for a caller who may do it to no item at all. */
export function admitAction(model: Model, route: ActionRoute | QueryRoute, principal: Principal): void {
  if (isOperation(route)) {
    admitOperation(model, route.operation, principal)
    return
  }
  const { access } = principal
  admit(model, route.collection, 'update', access)
  admit(model, route.collection, 'read', access)
  const answered = model.collections.get(route.action.answers)
  if (answered !== undefined) admit(model, answered, 'read', access)
}

/** Throws for a caller who may read no such item at all. */
export function admitNested(
  model: Model,
  { collection, relation }: NestedRoute,
  { access }: Principal,
): void {
  for (const one of [collection, ...collectionsAlong(model, relation)]) admit(model, one, 'read', access)
}
