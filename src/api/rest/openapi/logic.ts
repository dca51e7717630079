/** The actions and queries of the model, in the OpenAPI document. */

import { collectionOfOperation, staticAccess } from '../../../engine/logic/operations/access.ts'
import { inputShape, isInputOptional, outputShape } from '../../../engine/logic/operations/input.ts'
import { pascalCase } from '../../../model/check/names.ts'
import type { JsonSchema, JsonValue } from '../../../model/fields/type.ts'
import type { Collection, Model, Operation } from '../../../model/model.ts'
import { inWords } from '../../../model/rule/rule-text.ts'
import { itemSchema, openapiBodySchema } from '../../../model/schemas.ts'
import { capitalized } from '../../../model/words.ts'
import { prefix } from '../routes.ts'
import type { Reference } from './components.ts'
import { type Document, words } from './names.ts'
import { headerParameters, idParameter, itemParameters } from './parameters.ts'
import { errors, itemResponse, json, noContent, queryErrors } from './responses.ts'
import { requirements, scopesInWords, withoutCredential } from './security.ts'
import { openapiSchema } from './values.ts'

/** The tag of operations that belong to no collection. */
export const logicTag = 'actions'

/** The schema of an object with these fields. */
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
    parameters: parametersOf(document, action, 'Idempotency-Key'),
    ...(input.size > 0 && { requestBody: requestBody(document, action) }),
    responses: {
      ...answers(document, action, 'Idempotent-Replayed'),
      ...errors('Action'),
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
    parameters: [...queryParameters(document, query), ...parametersOf(document, query)],
    responses: { ...answers(document, query), ...queryErrors(document) },
  }
  return [`${prefix}/queries/${query.name}`, { get }]
}

/**
 * The operation's name in snake case. An action of a collection is named after one item if it returns one, otherwise after
 * the collection: `found_organization`, `import_tasks`. A query is named after what it reads: `report_of_organization`.
 */
function nameOf(model: Model, operation: Operation): string {
  const { name, target, output } = operation
  if (target === 'none') return name
  const { name: collection, singular } = collectionOfOperation(model, operation)
  const isItem = target === 'item' || (output.kind === 'item' && output.collection === collection)
  if (model.logic.queries.get(name) === operation) return `${name}_of_${isItem ? singular : collection}`
  return `${name}_${isItem ? singular : collection}`
}

function described(document: Document, operation: Operation): JsonSchema {
  const { model } = document
  const { name, description, access, scope, collection } = operation
  const isOpen = staticAccess(model, operation, withoutCredential) !== 'never'
  const owner = collection === undefined ? undefined : collectionOfOperation(model, operation)
  return {
    operationId: document.operationId(nameOf(model, operation)),
    summary: capitalized(words(name)),
    tags: [owner?.name ?? logicTag],
    description: [
      description,
      `Who may: ${inWords(access)}.`,
      scopesInWords(scope === undefined ? [] : [scope]),
    ]
      .filter(part => part !== undefined && part !== '')
      .join(' '),
    security: requirements(isOpen),
    'x-required-scopes': scope === undefined ? [] : [scope],
    ...(owner?.deprecated && { deprecated: true }),
  }
}

function parametersOf(
  document: Document,
  { output }: Operation,
  ...names: readonly 'Idempotency-Key'[]
): readonly Reference[] {
  const collection = output.kind === 'item' ? document.model.collections.get(output.collection) : undefined
  return collection ? itemParameters(document, collection, ...names) : headerParameters(...names)
}

/** A schema that is named after the operation, e.g. `ArchiveProjectInput`. */
function namedSchema(
  document: Document,
  operation: Operation,
  ending: 'Input' | 'Output',
  schema: JsonSchema,
): Reference {
  const name = pascalCase(nameOf(document.model, operation)) + ending
  return document.schemas.refer(schema, name, () => schema)
}

function requestBody(document: Document, operation: Operation): JsonSchema {
  const shape = inputShape(operation)
  const body = openapiBodySchema(shape, 'create', field => document.valueSchema(shape, field))
  const schema = namedSchema(document, operation, 'Input', body)
  return { required: !isInputOptional(operation), content: { 'application/json': { schema } } }
}

function queryParameters(document: Document, query: Operation): readonly JsonSchema[] {
  const shape = inputShape(query)
  const inputParameters = [...shape.fields.values()].map(field => ({
    name: field.name,
    in: 'query',
    required: !field.optional && field.default === undefined,
    schema: document.valueSchema(shape, field),
    ...(field.description !== undefined && { description: field.description }),
  }))
  if (query.target !== 'item') return inputParameters
  const schema = openapiSchema({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
  return [
    { name: 'id', in: 'query', required: true, schema, description: 'The id of the item.' },
    ...inputParameters,
  ]
}

function answers(document: Document, operation: Operation, ...sent: readonly string[]): JsonSchema {
  const { output } = operation
  if (output.kind === 'nothing') return noContent
  if (output.kind === 'values') {
    const schema = namedSchema(document, operation, 'Output', outputSchema(document, operation))
    return { 200: json('The result.', schema, ...sent) }
  }
  const collection = document.model.collections.get(output.collection)
  if (collection && output.optional) {
    return {
      200: json('The item after the request, or null.', orNull(document.schema(collection, 'item')), ...sent),
    }
  }
  return { 200: collection ? itemResponse(document, collection) : json('An item.', {}) }
}

function orNull(schema: JsonSchema): JsonSchema {
  return { anyOf: [schema, { type: 'null' }] }
}

function outputSchema(document: Document, operation: Operation): JsonSchema {
  const { output } = operation
  const fullSchema = valuesSchema(document, outputShape(operation))
  const properties: Record<string, JsonValue> = { ...(fullSchema['properties'] as Record<string, JsonValue>) }
  for (const [name, value] of output.kind === 'values' ? output.values : []) {
    const collection = value.kind === 'item' ? document.model.collections.get(value.collection) : undefined
    if (value.kind !== 'item' || !collection) continue
    const schema = document.schema(collection, 'item')
    properties[name] = value.optional ? orNull(schema) : schema
  }
  return { ...fullSchema, properties }
}
