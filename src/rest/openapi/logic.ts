/** The actions and queries of the model, in the OpenAPI document. */
import { collectionOf, decided } from '../../logic/operations/access.ts'
import { inputShape, outputShape } from '../../logic/operations/input.ts'
import type { JsonSchema, JsonValue } from '../../model/fields/type.ts'
import type { Collection, Operation } from '../../model/model.ts'
import { bodySchema, itemSchema } from '../../model/schemas.ts'
import { anonymous } from '../../principal.ts'
import { prefix } from '../routes.ts'
import type { Document } from './names.ts'
import { headerParameters, itemParameters } from './parameters.ts'
import { headers, responses, success } from './responses.ts'
import { inWords } from './rule-text.ts'
import { requirements } from './security.ts'

const idParameter = { $ref: '#/components/parameters/id' }
const withoutCredential = anonymous('').access

/** The tag of what belongs to no collection. */
export const logicTag = 'actions'

/** The schema of values by the names of their fields. */
export function valuesSchema(document: Document, shape: Collection): JsonSchema {
  return itemSchema(shape, field => document.valueSchema(shape, field))
}

export function logicPaths(document: Document): [string, JsonSchema][] {
  const { actions, queries } = document.model.logic
  return [
    ...[...actions.values()].map(action => actionPath(document, action)),
    ...[...queries.values()].map(query => queryPath(document, query)),
  ]
}

function actionPath(document: Document, action: Operation): [string, JsonSchema] {
  const { name, target, collection, input } = action
  const post = {
    ...described(document, action),
    parameters: parametersOf(action, 'Idempotency-Key'),
    ...(input.size > 0 && { requestBody: requestBody(document, action) }),
    responses: {
      ...answers(document, action),
      ...responses(400, 401, 403, 404, 406, 408, 409, 413, 415, 422, 429, 500, 503),
    },
  }
  const root = `${prefix}/${collection ?? 'actions'}`
  return target === 'item'
    ? [`${root}/{id}/${name}`, { parameters: [idParameter], post }]
    : [`${root}/${name}`, { post }]
}

function queryPath(document: Document, query: Operation): [string, JsonSchema] {
  const get = {
    ...described(document, query),
    parameters: [...queryParameters(document, query), ...[parametersOf(query)].flat()],
    responses: { ...answers(document, query), ...responses(400, 401, 403, 404, 406, 429, 500, 503) },
  }
  return [`${prefix}/queries/${query.name}`, { get }]
}

function described({ model, operationId }: Document, operation: Operation): JsonSchema {
  const { name, description, access, scope, collection } = operation
  const who = `Who may: ${inWords(access)}.`
  const scoped = scope === undefined ? '' : ` A credential that is limited to scopes needs \`${scope}\`.`
  const isOpen = decided(model, operation, withoutCredential) !== 'never'
  const of = collection === undefined ? undefined : collectionOf(model, operation)
  const words = name.replaceAll('_', ' ')
  return {
    operationId: operationId(operation.target === 'item' && of ? `${name}_${of.singular}` : name),
    summary: words.charAt(0).toUpperCase() + words.slice(1),
    tags: [of?.name ?? logicTag],
    description: `${description === undefined ? '' : `${description} `}${who}${scoped}`,
    security: requirements(isOpen),
    'x-required-scopes': scope === undefined ? [] : [scope],
    ...(of?.deprecated && { deprecated: true }),
  }
}

function parametersOf({ output }: Operation, ...names: readonly 'Idempotency-Key'[]): JsonValue {
  return output.kind === 'item' ? itemParameters(...names) : headerParameters(...names)
}

function requestBody(document: Document, operation: Operation): JsonSchema {
  const shape = inputShape(operation)
  const schema = bodySchema(shape, 'create', field => document.valueSchema(shape, field))
  return { required: true, content: { 'application/json': { schema } } }
}

function queryParameters(document: Document, query: Operation): readonly JsonSchema[] {
  const shape = inputShape(query)
  const own = [...shape.fields.values()].map(field => ({
    name: field.name,
    in: 'query',
    required: !field.optional && field.default === undefined,
    schema: document.valueSchema(shape, field),
    ...(field.description !== undefined && { description: field.description }),
  }))
  if (query.target !== 'item') return own
  const schema = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }
  return [{ name: 'id', in: 'query', required: true, schema, description: 'Of the item.' }, ...own]
}

function answers(document: Document, operation: Operation): JsonSchema {
  const { output } = operation
  if (output.kind === 'nothing') return { 204: { description: 'It is done.', headers: headers.gone } }
  const sent = headers.acted
  if (output.kind === 'values') {
    return { 200: success('What it has come to.', outputSchema(document, operation), sent) }
  }
  const collection = document.model.collections.get(output.collection)
  const schema = collection ? document.schema(collection, 'item') : {}
  return { 200: success('The item; whoever may not read it is told its `id`.', schema, sent) }
}

function outputSchema(document: Document, operation: Operation): JsonSchema {
  const { output } = operation
  const whole = valuesSchema(document, outputShape(operation))
  const properties: Record<string, JsonValue> = { ...(whole['properties'] as Record<string, JsonValue>) }
  for (const [name, value] of output.kind === 'values' ? output.values : []) {
    const collection = value.kind === 'item' ? document.model.collections.get(value.collection) : undefined
    if (collection) properties[name] = document.schema(collection, 'item')
  }
  return { ...whole, properties }
}
