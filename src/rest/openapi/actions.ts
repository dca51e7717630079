/** The paths below an item that are no lists, in the OpenAPI document: actions, and items within the item. */
import { type BuiltinAction, builtinActions, nestedRelations } from '../../model/builtin/actions.ts'
import { singularOf } from '../../model/check/names.ts'
import type { JsonSchema } from '../../model/fields/type.ts'
import type { Collection, Model } from '../../model/model.ts'
import { prefix } from '../routes.ts'
import { type Document, words } from './names.ts'
import { base } from './operation.ts'
import { idParameter, itemParameters, sharedParameter } from './parameters.ts'
import { errors, itemResponse, json, readResponses } from './responses.ts'
import type { Access } from './security.ts'

const nestedParameter = sharedParameter('n')

function targetOf(model: Model, { relations }: Collection, name: string | undefined): Collection | undefined {
  const relation = name === undefined ? undefined : relations.get(name)
  return relation && model.collections.get(relation.target)
}

function read(collection: Collection): Access {
  return { collection, operation: 'read' }
}

function actionPath(
  document: Document,
  collection: Collection,
  action: BuiltinAction,
): [string, JsonSchema][] {
  const { name, within, summary, reveals } = action
  const answered = document.model.collections.get(action.answers)
  if (answered === undefined) return []
  const below = within === undefined ? name : `${within}/{n}/${name}`
  const id = action.operation ?? `${name}_${within === undefined ? collection.singular : answered.singular}`
  const accesses: [Access, ...Access[]] = [
    { collection, operation: 'update' },
    ...(answered === collection ? [] : [read(answered)]),
  ]
  const revealed = () =>
    json('The item as it is now.', document.schema(answered, 'created'), 'Idempotent-Replayed')
  const post = {
    ...base(document, { id, summary, accesses }),
    parameters: itemParameters('Idempotency-Key'),
    responses: {
      200: reveals ? revealed() : itemResponse(document, answered),
      ...errors('Action'),
    },
  }
  const parameters = within === undefined ? [idParameter] : [idParameter, nestedParameter]
  return [[`${prefix}/${collection.name}/{id}/${below}`, { parameters, post }]]
}

function nestedPath(document: Document, collection: Collection, name: string): [string, JsonSchema][] {
  const target = targetOf(document.model, collection, name)
  if (target === undefined) return []
  const get = {
    ...base(document, {
      id: `get_${singularOf(name) ?? name}_of_${collection.singular}`,
      summary: `Get ${words(singularOf(name) ?? name)} of ${words(collection.singular)}`,
      accesses: [read(target), read(collection)],
    }),
    parameters: itemParameters('If-None-Match'),
    responses: readResponses(itemResponse(document, target)),
  }
  const parameters = [idParameter, nestedParameter]
  return [[`${prefix}/${collection.name}/{id}/${name}/{n}`, { parameters, get }]]
}

/** Those of one collection. */
export function pathsBelow(document: Document, collection: Collection): [string, JsonSchema][] {
  const nested = nestedRelations.get(collection.name) ?? []
  const actions = builtinActions.get(collection.name) ?? []
  return [
    ...nested.flatMap(name => nestedPath(document, collection, name)),
    ...actions.flatMap(action => actionPath(document, collection, action)),
  ]
}
