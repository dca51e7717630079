/** The paths below an item that are no lists: actions, and items within the item. */
import { type BuiltinAction, builtinActions, nestedRelations } from '../../model/builtin-actions.ts'
import type { Collection, ManyToMany, Model, ToMany } from '../../model/model.ts'
import { canFollow, exists } from '../operations.ts'
import { parseId } from '../path-id.ts'

/** An item that another one reaches by a relation. */
interface Nested {
  readonly collection: Collection
  readonly id: number
  readonly relation: ToMany | ManyToMany
  readonly nested: number
}

export type NestedRoute = Nested & { readonly kind: 'nested' }

export interface ActionRoute {
  readonly kind: 'action'
  readonly collection: Collection
  readonly id: number
  readonly action: BuiltinAction
  readonly within: Nested | undefined
}

/** `path`: what follows `/{collection}/{id}/`. */
export function routeBelow(
  model: Model,
  collection: Collection,
  id: number,
  path: string,
): NestedRoute | ActionRoute | undefined {
  const segments = path.split('/', maxSegments + 1)
  const [first = '', second, third] = segments
  if (second === undefined) return actionRoute(collection, id, first, undefined)
  const within = nestedIn(model, collection, id, first, second)
  if (within === undefined || segments.length > maxSegments) return undefined
  return third === undefined ? { kind: 'nested', ...within } : actionRoute(collection, id, third, within)
}

const maxSegments = 3

function actionRoute(
  collection: Collection,
  id: number,
  name: string,
  within: Nested | undefined,
): ActionRoute | undefined {
  const actions = builtinActions.get(collection.name)
  const action = actions?.find(one => one.name === name && one.within === within?.relation.name)
  return action && { kind: 'action', collection, id, action, within }
}

function nestedIn(
  model: Model,
  collection: Collection,
  id: number,
  name: string,
  idText: string,
): Nested | undefined {
  const relation = collection.relations.get(name)
  const nested = parseId(idText, 0, idText.length)
  if (nested === 0 || !relation || relation.kind === 'one') return undefined
  if (!nestedRelations.get(collection.name)?.includes(name)) return undefined
  if (!exists(collection, 'read') || !canFollow(model, collection, relation)) return undefined
  return { collection, id, relation, nested }
}
