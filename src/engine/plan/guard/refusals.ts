/** The guard's refusals. */
import { ApiError, type Refused } from '../../../base/errors.ts'
import { type AccessClass, hasScope, isAnonymous } from '../../../base/principal.ts'
import type { Collection, CrudOperation, Field } from '../../../model/model.ts'
import { never } from '../condition.ts'
import type { Condition } from '../guarded-conditions.ts'
import { type NameFault, quoted } from '../names.ts'
import type { ItemShape } from '../plan.ts'
import type { ModelView } from './model-view.ts'

/** How the guard refuses a name. It does not know which part of the request contains the name. */
export function refuseName({ message }: NameFault): ApiError {
  return new ApiError('BAD_REQUEST', `The request ${message}`)
}

/** Also for a caller for whom no searchable field is readable in every row. */
export function noSearch(collection: Collection): ApiError {
  return new ApiError('BAD_REQUEST', `There is nothing to search in ${collection.name}.`)
}

/** Whether the caller's scopes cover the action on the collection. */
export function isInScope(
  { access }: ModelView,
  action: 'read' | 'write',
  { singular }: Collection,
): boolean {
  return access.system || hasScope(access.scopes, `${action}:${singular}`)
}

/** Throws INSUFFICIENT_SCOPE unless the caller's scopes cover the action on the collection. */
export function requireScope(view: ModelView, action: 'read' | 'write', collection: Collection): void {
  if (isInScope(view, action, collection)) return
  const scope = `${action}:${collection.singular}`
  const refused = { collection: collection.name, operation: action }
  throw new ApiError('INSUFFICIENT_SCOPE', `This needs the scope ${scope}.`, { scope, refused })
}

const verbs = { read: 'read', create: 'create', update: 'change', delete: 'delete' } as const

/** Throws UNAUTHORIZED or FORBIDDEN when no row at all is allowed. */
export function requirePossible(
  view: ModelView,
  allowed: Condition,
  { name }: Collection,
  operation: CrudOperation,
): void {
  if (allowed.kind !== never.kind) return
  throw refusal(view.access, `${verbs[operation]} ${name}`, { collection: name, operation })
}

/** For a caller who may do it to no item at all. `action`: e.g. `read posts`. */
export function refusal(access: AccessClass, action: string, refused: Refused): ApiError {
  if (isAnonymous(access)) {
    return new ApiError('UNAUTHORIZED', `No caller can ${action} without a credential.`, { refused })
  }
  if (!access.signedIn) {
    return new ApiError('FORBIDDEN', `An app may not ${action} by itself: it needs a user.`, { refused })
  }
  return new ApiError('FORBIDDEN', `You may not ${action}.`, { refused })
}

/** The rows of a collection that the caller may read. Throws when the scope is missing, or no row can be readable. */
export function requireReadable(view: ModelView, collection: Collection): Condition {
  requireScope(view, 'read', collection)
  return requireRows(view, collection)
}

/** As `requireReadable`, for an item that may be the output of an operation. */
export function requireReadableItem(
  { isOutput }: Pick<ItemShape, 'isOutput'>,
  view: ModelView,
  collection: Collection,
): Condition {
  return isOutput ? requireRows(view, collection) : requireReadable(view, collection)
}

function requireRows(view: ModelView, collection: Collection): Condition {
  const rows = view.readable(collection)
  requirePossible(view, rows, collection, 'read')
  return rows
}

export function mayNotSet(
  fields: readonly Field[],
  { name: collection }: Collection,
  operation: 'create' | 'update',
): ApiError {
  const names = fields.map(field => quoted(field.name)).join(', ')
  const details = fields.map(field => ({
    field: field.name,
    code: 'forbidden',
    message: 'You may not set this field.',
  }))
  const refused = { collection, operation, fields: fields.map(field => field.name) }
  return new ApiError('FORBIDDEN', `You may not set ${names}.`, { details, refused })
}

/** For a field or relation that exists, but not for this caller. */
export function mayNotRead(view: ModelView, collection: Collection, name: string): ApiError {
  const message = `You may not read ${quoted(name)} of ${collection.name}.`
  const refused = { collection: collection.name, operation: 'read', fields: [name] }
  return new ApiError(isAnonymous(view.access) ? 'UNAUTHORIZED' : 'FORBIDDEN', message, { refused })
}
