/** Who may use actions, subresources and nested items at all. */
import { ApiError } from '../../../base/errors.ts'
import { type AccessClass, isAnonymous, type Principal } from '../../../base/principal.ts'
import { admit, staticRule } from '../../../engine/plan/guard/guard.ts'
import type { Collection, CrudOperation, Model } from '../../../model/model.ts'
import { nobodyRule, type Rule } from '../../../model/rule/rule.ts'
import { collectionsAlong } from '../operations.ts'
import type { BuiltinActionRoute, NestedRoute, SubresourceRoute } from './routes.ts'

/** Throws for a caller who may run the action on no item at all. */
export function admitBuiltinAction(
  model: Model,
  { collection, action }: BuiltinActionRoute,
  principal: Principal,
): void {
  const { access } = principal
  admit(model, collection, 'update', access)
  admit(model, collection, 'read', access)
  if (action.deletes) admit(model, collection, 'delete', access)
  if (action.settableField !== undefined) admitSetting(model, collection, action.settableField, principal)
  const answerCollection = action.returns === undefined ? undefined : model.collections.get(action.returns)
  if (answerCollection !== undefined) admit(model, answerCollection, 'read', access)
}

/** Throws for a caller who may read or end the entries of no item at all. */
export function admitSubresource(
  model: Model,
  { collection, subresource }: SubresourceRoute,
  principal: Principal,
  operation: CrudOperation,
): void {
  if (operation !== 'read') admit(model, collection, 'update', principal.access)
  admit(model, collection, 'read', principal.access)
  admitSetting(model, collection, subresource.settableField, principal)
}

/** The rule of operations that require the right to set a field of the item. */
export function ruleOfSetting({ fields }: Collection, name: string): Rule {
  return fields.get(name)?.access.write ?? nobodyRule
}

function admitSetting(model: Model, collection: Collection, name: string, { access }: Principal): void {
  if (staticRule(model, collection, ruleOfSetting(collection, name), access) === 'never')
    throw settingRefused(collection, name, access)
}

/** For a caller who may not set the field. */
export function settingRefused(
  { name: collection }: Collection,
  field: string,
  access: AccessClass,
): ApiError {
  const refused = { collection, operation: 'update', fields: [field] }
  const message = `This needs the right to set \`${field}\` of ${collection}.`
  return new ApiError(isAnonymous(access) ? 'UNAUTHORIZED' : 'FORBIDDEN', message, { refused })
}

/** Throws for a caller who may read none of these items at all. */
export function admitNested(
  model: Model,
  { collection, relation }: NestedRoute,
  { access }: Principal,
): void {
  for (const visited of [collection, ...collectionsAlong(model, relation)])
    admit(model, visited, 'read', access)
}
