/** Who may call an action, a query or a route. */

import { ApiError } from '../../../base/errors.ts'
import { mapLeaves } from '../../../base/predicate.ts'
import { type AccessClass, hasScope, type Principal } from '../../../base/principal.ts'
import type { Action, Collection, Model, Operation, Query, Route } from '../../../model/model.ts'
import { callerRuleKind } from '../../../model/rule/caller-rules.ts'
import type { Rule } from '../../../model/rule/rule.ts'
import { staticRule } from '../../plan/guard/guard.ts'
import { refusal } from '../../plan/guard/refusals.ts'
import { isAction } from './call.ts'

/** For operations without a collection: their rule depends on the caller alone, so any collection will do. */
function anyCollection({ collections }: Model): Collection {
  const [first] = collections.values()
  if (first === undefined) throw new Error('a model has collections')
  return first
}

export function collectionOfOperation(model: Model, { collection }: Operation): Collection {
  return (collection === undefined ? undefined : model.collections.get(collection)) ?? anyCollection(model)
}

/**
 * Throws INSUFFICIENT_SCOPE, UNAUTHORIZED or FORBIDDEN if the caller may call the operation for no item at all. Called
 * before the rest of the request is read.
 */
export function admitOperation(model: Model, operation: Operation, { access }: Principal): void {
  const { scope } = operation
  if (scope !== undefined && !access.system && !hasScope(access.scopes, scope)) {
    throw new ApiError('INSUFFICIENT_SCOPE', `This needs the scope ${scope}.`, { scope })
  }
  if (staticAccess(model, operation, access) === 'never') throw operationRefusal(operation, access)
}

/** Throws UNAUTHORIZED or FORBIDDEN unless the caller may call the route. */
export function admitRoute(model: Model, { name, access: rule }: Route, { access }: Principal): void {
  if (staticRule(model, anyCollection(model), rule, access) === 'always') return
  throw refusal(access, `call the route ${name}`, { collection: '', operation: name })
}

export function operationRefusal(operation: Action | Query, access: AccessClass): ApiError {
  const { name, collection = '' } = operation
  // An action's name is a verb, as in `archive`; a query's is not: "You may not open tasks" would mislead.
  const action = isAction(operation) ? name.replaceAll('_', ' ') : `call the query ${name}`
  return refusal(access, action, { collection, operation: name })
}

export function staticAccess(model: Model, operation: Operation, access: AccessClass) {
  return staticRule(model, collectionOfOperation(model, operation), operation.access, access)
}

/** The rule with its scopes replaced by whether the caller has them, since operations read and write `withoutScopes`. */
export function withScopesDecided(rule: Rule, access: AccessClass): Rule {
  return mapLeaves(rule, leaf => {
    if (leaf.kind === 'scope') return { kind: callerRuleKind(leaf).holds(leaf, access) ? 'anyone' : 'nobody' }
    return leaf.kind === 'related' ? { ...leaf, rule: withScopesDecided(leaf.rule, access) } : leaf
  })
}
