/** The guard's refusals: who may not, what does not exist, what cannot be done with it. */
import { ApiError } from '../errors.ts'
import type { Collection, Field } from '../model/model.ts'
import { hasScope, isAnonymous } from '../principal.ts'
import { never } from './condition.ts'
import type { View } from './guard-view.ts'
import type { Condition } from './guarded.ts'

/** The same for a field that was never declared and for one that the caller may not read. */
export function unknownField(collection: Collection, name: string): ApiError {
  return new ApiError('BAD_REQUEST', `There is no field ${quoted(name)} in ${collection.name}.`)
}

/** The same for a relation that was never declared and for one that the caller may not follow. */
export function unknownRelation(collection: Collection, name: string): ApiError {
  return new ApiError('BAD_REQUEST', `There is no relation ${quoted(name)} in ${collection.name}.`)
}

/** The same where the model has no search and where the caller may read no field that it looks into. */
export function noSearch(collection: Collection): ApiError {
  return new ApiError('BAD_REQUEST', `There is nothing to search in ${collection.name}.`)
}

/** A client's text, safe to repeat: escaped and no longer than a name may be. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}

/** Throws INSUFFICIENT_SCOPE unless the caller's scopes cover the action on the collection. */
export function requireScope(view: View, action: 'read' | 'write', collection: Collection): void {
  const scope = `${action}:${collection.singular}`
  if (view.access.system || hasScope(view.access.scopes, scope)) return
  throw new ApiError('INSUFFICIENT_SCOPE', `This needs the scope ${scope}.`, { scope })
}

/** Throws UNAUTHORIZED or FORBIDDEN when no row at all is allowed. */
export function requirePossible(view: View, allowed: Condition, deed: string): void {
  if (allowed.kind !== never.kind) return
  if (isAnonymous(view.access)) {
    throw new ApiError('UNAUTHORIZED', `Nobody may ${deed} without a credential.`)
  }
  if (!view.access.signedIn)
    throw new ApiError('FORBIDDEN', `An app may not ${deed} by itself: it needs a user.`)
  throw new ApiError('FORBIDDEN', `You may not ${deed}.`)
}

/** The rows of a collection that the caller may read. Throws when the scope lacks or there can be none. */
export function requireReadable(view: View, collection: Collection): Condition {
  requireScope(view, 'read', collection)
  const rows = view.readable(collection)
  requirePossible(view, rows, `read ${collection.name}`)
  return rows
}

export function mayNotSet(fields: readonly Field[]): ApiError {
  const names = fields.map(field => quoted(field.name)).join(', ')
  const details = fields.map(field => ({
    field: field.name,
    code: 'forbidden',
    message: 'You may not set this field.',
  }))
  return new ApiError('FORBIDDEN', `You may not set ${names}.`, { details })
}

/** A field or relation that there is, but not for this caller. */
export function mayNotRead(view: View, collection: Collection, name: string): ApiError {
  const message = `You may not read ${quoted(name)} of ${collection.name}.`
  return new ApiError(isAnonymous(view.access) ? 'UNAUTHORIZED' : 'FORBIDDEN', message)
}
