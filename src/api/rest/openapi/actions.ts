/** Actions and nested items in the OpenAPI document: all paths below an item that are not lists. */

import { collectionOfFields } from '../../../engine/logic/operations/input.ts'
import { type BuiltinAction, builtinActions, nestedRelations } from '../../../model/builtin/actions.ts'
import { type Subresource, subresources } from '../../../model/builtin/administration.ts'
import { pascalCase, singularOf } from '../../../model/check/names.ts'
import { exists } from '../../../model/crud.ts'
import type { JsonSchema } from '../../../model/fields/type.ts'
import type { Collection, Model } from '../../../model/model.ts'
import { inWords } from '../../../model/rule/rule-text.ts'
import { openapiBodySchema } from '../../../model/schemas.ts'
import { maxListed } from '../actions/action.ts'
import { ruleOfSetting } from '../actions/admission.ts'
import { builtinShape } from '../actions/input.ts'
import { prefix } from '../routes.ts'
import type { Reference } from './components.ts'
import { valuesSchema } from './logic.ts'
import { type Document, words } from './names.ts'
import { base } from './operation.ts'
import { headerParameters, idParameter, itemParameters, sharedParameter } from './parameters.ts'
import { errors, itemResponse, json, noContent, readResponses } from './responses.ts'
import { type Access, scopesInWords } from './security.ts'

const count: JsonSchema = { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

const nestedParameter = sharedParameter('n')

function targetOf(model: Model, { relations }: Collection, name: string | undefined): Collection | undefined {
  const relation = name === undefined ? undefined : relations.get(name)
  return relation && model.collections.get(relation.target)
}

function read(collection: Collection): Access {
  return { collection, operation: 'read' }
}

/** For operations that require the right to set a field of the item. */
function settingWords(collection: Collection, field: string): string {
  return `Who may: callers who may set \`${field}\` (${inWords(ruleOfSetting(collection, field))}).`
}

/** Like `base`, for operations that a field's rule restricts further. */
function described(
  document: Document,
  id: string,
  summary: string,
  accesses: readonly [Access, ...Access[]],
  own: { readonly settableField?: string; readonly description?: string | undefined },
): JsonSchema {
  const { description, ...members } = base(document, { id, summary, accesses })
  const [{ collection }] = accesses
  const scopes = members['x-required-scopes'] as readonly string[]
  const who =
    own.settableField === undefined
      ? String(description)
      : `${settingWords(collection, own.settableField)} ${scopesInWords(scopes)}`
  return { ...members, description: own.description === undefined ? who : `${own.description} ${who}` }
}

function inputBody(document: Document, action: BuiltinAction, id: string): JsonSchema {
  const shape = builtinShape(action)
  if (shape === undefined) return {}
  const schema = document.schemas.refer(shape, `${pascalCase(id)}Input`, () =>
    openapiBodySchema(shape, 'create', field => document.valueSchema(shape, field)),
  )
  return { requestBody: { required: true, content: { 'application/json': { schema } } } }
}

function actionPath(
  document: Document,
  collection: Collection,
  action: BuiltinAction,
): [string, JsonSchema][] {
  const { name, within, summary } = action
  if (action.deletes && !exists(collection, 'delete')) return []
  const answerCollection =
    action.returns === undefined ? undefined : document.model.collections.get(action.returns)
  if (action.returns !== undefined && answerCollection === undefined) return []
  const pathEnd = within === undefined ? name : `${within}/{n}/${name}`
  const item = within === undefined || answerCollection === undefined ? collection : answerCollection
  const id = action.operation ?? `${name}_${item.singular}`
  const answersOther = answerCollection !== undefined && answerCollection !== collection
  const accesses: [Access, ...Access[]] = [
    { collection, operation: 'update' },
    ...(answersOther ? [read(answerCollection)] : []),
  ]
  const post = {
    ...described(document, id, summary, accesses, action),
    parameters: answerCollection
      ? itemParameters(document, answerCollection, 'Idempotency-Key')
      : headerParameters('Idempotency-Key'),
    ...inputBody(document, action, id),
    responses: { ...answers(document, action, answerCollection), ...errors('Action') },
  }
  const parameters = within === undefined ? [idParameter] : [idParameter, nestedParameter]
  return [[`${prefix}/${collection.name}/{id}/${pathEnd}`, { parameters, post }]]
}

function answers(
  document: Document,
  { reveals }: BuiltinAction,
  answerCollection: Collection | undefined,
): JsonSchema {
  if (answerCollection === undefined) return noContent
  if (!reveals) return { 200: itemResponse(document, answerCollection) }
  return {
    200: json(
      'The item after the request.',
      document.schema(answerCollection, 'created'),
      'Idempotent-Replayed',
    ),
  }
}

function subresourceList(document: Document, { name, singular, fields }: Subresource): Reference {
  const item = document.schemas.refer(fields, pascalCase(`account_${singular}`), () =>
    valuesSchema(document, collectionOfFields(singular, fields)),
  )
  const data = { type: 'array', items: item, maxItems: maxListed }
  const meta = { type: 'object', required: ['total'], properties: { total: count } }
  return document.schemas.refer(name, pascalCase(`account_${singular}_list`), () => ({
    ...{ type: 'object', required: ['data', 'meta'], properties: { data, meta } },
  }))
}

const keyParameter = { in: 'path', required: true, schema: { type: 'string', maxLength: 100 } }

function subresourcePaths(
  document: Document,
  collection: Collection,
  subresource: Subresource,
): [string, JsonSchema][] {
  const { name, singular, title, key, deletionEffect } = subresource
  const path = `${prefix}/${collection.name}/{id}/${name}`
  const update: Access = { collection, operation: 'update' }
  const deletion = (id: string, summary: string) => ({
    ...described(document, id, summary, [update], { ...subresource, description: deletionEffect }),
    parameters: headerParameters('Idempotency-Key'),
    responses: { ...noContent, ...errors('Delete') },
  })
  const idEnd = `of_${collection.singular}`
  const get = {
    ...described(document, `list_${name}_${idEnd}`, `List ${title}`, [read(collection)], {
      ...subresource,
      description: `Newest first; at most ${maxListed} entries. \`meta.total\` counts all.`,
    }),
    responses: { 200: json('The entries.', subresourceList(document, subresource)), ...errors('Read') },
  }
  const entryParameter = {
    ...keyParameter,
    name: key === 'id' ? singular : key,
    description: `\`${key}\` in the list.`,
  }
  return [
    [path, { parameters: [idParameter], get, delete: deletion(`end_${name}_${idEnd}`, `End ${title}`) }],
    [
      `${path}/{${entryParameter.name}}`,
      {
        parameters: [idParameter, entryParameter],
        delete: deletion(`end_${singular}_${idEnd}`, `End one of ${title}`),
      },
    ],
  ]
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
    parameters: itemParameters(document, target, 'If-None-Match'),
    responses: readResponses(itemResponse(document, target)),
  }
  const parameters = [idParameter, nestedParameter]
  return [[`${prefix}/${collection.name}/{id}/${name}/{n}`, { parameters, get }]]
}

/** The paths of one collection. */
export function pathsBelow(document: Document, collection: Collection): [string, JsonSchema][] {
  const nested = nestedRelations.get(collection.name) ?? []
  const actions = builtinActions.get(collection.name) ?? []
  const ownSubresources = subresources.get(collection.name) ?? []
  return [
    ...ownSubresources.flatMap(subresource => subresourcePaths(document, collection, subresource)),
    ...nested.flatMap(name => nestedPath(document, collection, name)),
    ...actions.flatMap(action => actionPath(document, collection, action)),
  ]
}
