/** Who may call an action or a query. */
import { ApiError } from '../../errors.ts'
import type { Action, Collection, Model, Operation, Query } from '../../model/model.ts'
import type { Rule } from '../../model/rule.ts'
import { staticRule } from '../../plan/guard.ts'
import { type AccessClass, hasScope, isAnonymous, type Principal, withoutScopes } from '../../principal.ts'
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

export function operationRefusal(operation: Action | Query, access: AccessClass): ApiError {
  const { name, collection = '' } = operation
  const options = { refused: { collection, operation: name } }
  // An action's name is a verb, as in `archive`; a query's is not: "You may not open tasks" would mislead.
  const action = isAction(operation) ? name.replaceAll('_', ' ') : `call the query ${name}`
  if (isAnonymous(access))
    return new ApiError('UNAUTHORIZED', `Nobody may ${action} without a credential.`, options)
  if (!access.signedIn) {
    return new ApiError('FORBIDDEN', `An app may not ${action} by itself: it needs a user.`, options)
  }
  return new ApiError('FORBIDDEN', `You may not ${action}.`, options)
}

export function staticAccess(model: Model, operation: Operation, access: AccessClass) {
  return staticRule(model, collectionOfOperation(model, operation), operation.access, access)
}

/**
 * The principal of the operation's reads and writes: the same user, not limited by scopes. An app without a user keeps its
 * scopes.
 */
export function actingAs(principal: Principal): Principal {
  return withoutScopes(principal)
}

/** The rule with its scopes replaced by whether the caller has them, since `actingAs` removes the caller's scopes. */
export function withScopesDecided(rule: Rule, access: AccessClass): Rule {
  switch (rule.kind) {
    case 'scope':
      return { kind: !isAnonymous(access) && hasScope(access.scopes, rule.scope) ? 'anyone' : 'nobody' }
    case 'and':
    case 'or':
      return { ...rule, rules: rule.rules.map(part => withScopesDecided(part, access)) }
    case 'not':
      return { ...rule, rule: withScopesDecided(rule.rule, access) }
    case 'related':
      return { ...rule, rule: withScopesDecided(rule.rule, access) }
    default:
      return rule
  }
}
