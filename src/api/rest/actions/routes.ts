/** The paths of actions, queries and subresources, and of items within others. */
import { type BuiltinAction, builtinActions, nestedRelations } from '../../../model/builtin/actions.ts'
import { type Subresource, subresources } from '../../../model/builtin/administration.ts'
import { exists } from '../../../model/crud.ts'
import type { Action, Collection, ManyToMany, Model, Query, ToMany } from '../../../model/model.ts'
import { canFollow } from '../operations.ts'
import { parseId } from '../path-id.ts'

/** An item that another item reaches by a relation. */
export interface NestedItem {
  readonly collection: Collection
  readonly id: number
  readonly relation: ToMany | ManyToMany
  readonly nested: number
}

export type NestedRoute = NestedItem & { readonly kind: 'nested' }

/** `POST` to a built-in action. */
export interface BuiltinActionRoute {
  readonly kind: 'builtinAction'
  readonly collection: Collection
  readonly id: number
  readonly action: BuiltinAction
  readonly within: NestedItem | undefined
}

/** `POST` to an action of the model. */
export interface ActionRoute {
  readonly kind: 'action'
  readonly operation: Action
  /** Undefined if the action is not on an item. */
  readonly id: number | undefined
}

/** Entries that belong to an item and are not items themselves; with a key, one entry. */
export interface SubresourceRoute {
  readonly kind: 'subresource'
  readonly collection: Collection
  readonly id: number
  readonly subresource: Subresource
  readonly key: string | undefined
}

/** `GET` of a query of the model. */
export interface QueryRoute {
  readonly kind: 'query'
  readonly operation: Query
}

/** `/queries/{query}`, and `/actions/{action}` for actions without a collection. */
export function logicRoute(
  { logic }: Model,
  kind: string,
  name: string,
): ActionRoute | QueryRoute | undefined {
  if (kind === 'queries') {
    const query = logic.queries.get(name)
    return query && { kind: 'query', operation: query }
  }
  const action = kind === 'actions' ? logic.actions.get(name) : undefined
  return action?.target === 'none' ? { kind: 'action', operation: action, id: undefined } : undefined
}

/** `/{collection}/{action}`; with an id, `/{collection}/{id}/{action}`. */
export function actionRoute(
  { logic }: Model,
  collection: Collection,
  name: string,
  id: number | undefined,
): ActionRoute | undefined {
  const action = logic.actions.get(name)
  const target = id === undefined ? 'collection' : 'item'
  if (action?.target !== target || action.collection !== collection.name) return undefined
  return { kind: 'action', operation: action, id }
}

/** `path`: the part after `/{collection}/{id}/`. */
export function routeBelow(
  model: Model,
  collection: Collection,
  id: number,
  path: string,
): NestedRoute | ActionRoute | BuiltinActionRoute | SubresourceRoute | undefined {
  const segments = path.split('/', maxSegments + 1)
  const [first = '', second, third] = segments
  const subresource = third === undefined ? subresourceRoute(collection, id, first, second) : undefined
  if (subresource !== undefined) return subresource
  if (second === undefined) {
    return actionRoute(model, collection, first, id) ?? builtinActionRoute(collection, id, first, undefined)
  }
  const within = nestedIn(model, collection, id, first, second)
  if (within === undefined || segments.length > maxSegments) return undefined
  return third === undefined
    ? { kind: 'nested', ...within }
    : builtinActionRoute(collection, id, third, within)
}

const maxSegments = 3

/** The form of keys, which Portico generates. */
const isKey = /^[A-Za-z0-9_-]{1,100}$/

function subresourceRoute(
  collection: Collection,
  id: number,
  name: string,
  key: string | undefined,
): SubresourceRoute | undefined {
  const subresource = subresources.get(collection.name)?.find(candidate => candidate.name === name)
  if (subresource === undefined || (key !== undefined && !isKey.test(key))) return undefined
  return { kind: 'subresource', collection, id, subresource, key }
}

function builtinActionRoute(
  collection: Collection,
  id: number,
  name: string,
  within: NestedItem | undefined,
): BuiltinActionRoute | undefined {
  const actions = builtinActions.get(collection.name)
  const action = actions?.find(
    candidate => candidate.name === name && candidate.within === within?.relation.name,
  )
  if (action?.deletes && !exists(collection, 'delete')) return undefined
  return action && { kind: 'builtinAction', collection, id, action, within }
}

function nestedIn(
  model: Model,
  collection: Collection,
  id: number,
  name: string,
  idText: string,
): NestedItem | undefined {
  const relation = collection.relations.get(name)
  const nested = parseId(idText, 0, idText.length)
  if (nested === 0 || !relation || relation.kind === 'one') return undefined
  if (!nestedRelations.get(collection.name)?.includes(name)) return undefined
  if (!exists(collection, 'read') || !canFollow(model, collection, relation)) return undefined
  return { collection, id, relation, nested }
}
