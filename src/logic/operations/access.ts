/** Who may do an action or a query. */
import { ApiError } from '../../errors.ts'
import type { Collection, Model, Operation } from '../../model/model.ts'
import type { Rule } from '../../model/rule.ts'
import { staticRule } from '../../plan/guard.ts'
import { type AccessClass, hasScope, isAnonymous, type Principal, withoutScopes } from '../../principal.ts'

/** Whose rules are decided by the caller alone. */
function anyCollection({ collections }: Model): Collection {
  const [first] = collections.values()
  if (first === undefined) throw new Error('a model has collections')
  return first
}

export function collectionOf(model: Model, { collection }: Operation): Collection {
  return (collection === undefined ? undefined : model.collections.get(collection)) ?? anyCollection(model)
}

/**
 * Throws INSUFFICIENT_SCOPE, UNAUTHORIZED or FORBIDDEN for a caller who may do it with no item at all: before anything
 * else of a request is looked at.
 */
export function admitOperation(model: Model, operation: Operation, { access }: Principal): void {
  const { scope } = operation
  if (scope !== undefined && !access.system && !hasScope(access.scopes, scope)) {
    throw new ApiError('INSUFFICIENT_SCOPE', `This needs the scope ${scope}.`, { scope })
  }
  if (decided(model, operation, access) === 'never') throw refused(operation, access)
}

export function refused({ name, collection = '' }: Operation, access: AccessClass): ApiError {
  const options = { refused: { collection, operation: name } }
  const deed = name.replaceAll('_', ' ')
  if (isAnonymous(access))
    return new ApiError('UNAUTHORIZED', `Nobody may ${deed} without a credential.`, options)
  if (!access.signedIn) {
    return new ApiError('FORBIDDEN', `An app may not ${deed} by itself: it needs a user.`, options)
  }
  return new ApiError('FORBIDDEN', `You may not ${deed}.`, options)
}

export function decided(model: Model, operation: Operation, access: AccessClass) {
  return staticRule(model, collectionOf(model, operation), operation.access, access)
}

/**
 * As whom the operation reads and writes: the same user, whose scopes do not count within it. An app by itself stays
 * what it is.
 */
export function actingAs(principal: Principal): Principal {
  return withoutScopes(principal)
}

/** The rule for a caller whose scopes do not count any more: they are decided here. */
export function withScopesDecided(rule: Rule, access: AccessClass): Rule {
  switch (rule.kind) {
    case 'scope':
      return { kind: !isAnonymous(access) && hasScope(access.scopes, rule.scope) ? 'anyone' : 'nobody' }
    case 'and':
    case 'or':
      return { ...rule, rules: rule.rules.map(one => withScopesDecided(one, access)) }
    case 'not':
      return { ...rule, rule: withScopesDecided(rule.rule, access) }
    case 'related':
      return { ...rule, rule: withScopesDecided(rule.rule, access) }
    default:
      return rule
  }
}
