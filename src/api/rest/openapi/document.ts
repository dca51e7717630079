/** The OpenAPI 3.1 document of a model: exactly the operations that exist. */

import { exists } from '../../../model/crud.ts'
import type { JsonSchema } from '../../../model/fields/type.ts'
import type { Collection, ManyToMany, Model, ToMany } from '../../../model/model.ts'
import { limitsInWords } from '../../../model/rule/rule-text.ts'
import type { BodyMode } from '../../../model/schemas.ts'
import { canFollow, collectionsAlong } from '../operations.ts'
import { prefix } from '../routes.ts'
import { accountPaths, accountSchemas } from './account.ts'
import { pathsBelow } from './actions.ts'
import {
  aggregateOperation,
  aggregateParameters,
  aggregateResponses,
  aggregateSchemas,
} from './aggregates.ts'
import { batchPath, batchSchemas } from './batch.ts'
import { schemaReference } from './components.ts'
import { withConstantNames } from './enumerations.ts'
import { eventSchemas, eventsPath, eventWebhook } from './events.ts'
import { explainPath, explainSchemas } from './explain.ts'
import { filePaths, formContent, uploadPath, uploadSchemas, uploadTag } from './files.ts'
import { filterSchemas, openFilterParameters } from './filters.ts'
import { logicPaths, logicTag } from './logic.ts'
import { createDocument, type Document, words } from './names.ts'
import { base, type Described, exportedBase } from './operation.ts'
import { headerParameters, idParameter, itemParameters, parameters, parametersOfList } from './parameters.ts'
import { personalDataPaths } from './personal-data.ts'
import {
  commonHeaders,
  createdResponse,
  errors,
  headers,
  itemResponse,
  json,
  listResponse,
  noContent,
  readResponses,
  responses,
} from './responses.ts'
import { describedRoutes, routePaths, routesTag } from './routes.ts'
import { runsPaths, runsSchemas } from './runs.ts'
import { collectionSchemas, isRevealing, shared } from './schemas.ts'
import { type Access, securitySchemes } from './security.ts'

const merge = 'A JSON Merge Patch (RFC 7396), also as `application/merge-patch+json`.'

function requestBody(document: Document, collection: Collection, mode: BodyMode): JsonSchema {
  const content = {
    'application/json': { schema: document.schema(collection, mode) },
    ...formContent(document, collection, mode),
  }
  return { required: true, content }
}

function listOperation(document: Document, collection: Collection, described: Described): JsonSchema {
  return {
    ...exportedBase(document, described),
    parameters: parametersOfList(document, collection),
    responses: readResponses(listResponse(document, collection)),
  }
}

function readOperation(document: Document, collection: Collection, described: Described): JsonSchema {
  return {
    ...base(document, described),
    parameters: itemParameters(document, collection, 'If-None-Match'),
    responses: readResponses(itemResponse(document, collection)),
  }
}

function withNotes(members: JsonSchema, ...notes: readonly (string | undefined)[]): JsonSchema {
  const sentences = [...notes, String(members['description'])].filter(note => note !== undefined)
  return { ...members, description: sentences.join(' ') }
}

function createOperation(document: Document, collection: Collection): JsonSchema {
  const described: Described = {
    id: `create_${collection.singular}`,
    summary: `Create ${words(collection.singular)}`,
    accesses: [{ collection, operation: 'create' }],
  }
  const kind = isRevealing(collection) ? 'created' : 'item'
  return {
    ...withNotes(base(document, described), limitsInWords(collection.limits)),
    parameters: itemParameters(document, collection, 'Idempotency-Key'),
    requestBody: requestBody(document, collection, 'create'),
    responses: { 201: createdResponse(document, collection, kind), ...errors('Create') },
  }
}

function updateOperation(document: Document, collection: Collection, mode: 'replace' | 'merge'): JsonSchema {
  const isReplace = mode === 'replace'
  const members = base(document, {
    id: `${isReplace ? 'replace' : 'update'}_${collection.singular}`,
    summary: `${isReplace ? 'Replace' : 'Update'} ${words(collection.singular)}`,
    accesses: [{ collection, operation: 'update' }],
  })
  return {
    ...withNotes(members, isReplace ? undefined : merge, limitsInWords(collection.limits)),
    parameters: itemParameters(document, collection, 'If-Match', 'Idempotency-Key'),
    requestBody: requestBody(document, collection, mode),
    responses: { 200: itemResponse(document, collection), ...errors('Update') },
  }
}

function deleteOperation(document: Document, collection: Collection): JsonSchema {
  const described: Described = {
    id: `delete_${collection.singular}`,
    summary: `Delete ${words(collection.singular)}`,
    accesses: [{ collection, operation: 'delete' }],
  }
  return {
    ...base(document, described),
    parameters: headerParameters('If-Match', 'Idempotency-Key'),
    responses: { ...noContent, ...errors('Delete') },
  }
}

function collectionPath(document: Document, collection: Collection): JsonSchema {
  const described: Described = {
    id: `list_${collection.name}`,
    summary: `List ${words(collection.name)}`,
    accesses: [{ collection, operation: 'read' }],
  }
  return {
    ...(exists(collection, 'read') && { get: listOperation(document, collection, described) }),
    ...(exists(collection, 'create') && { post: createOperation(document, collection) }),
  }
}

function aggregatePath(document: Document, collection: Collection): [string, JsonSchema][] {
  if (!exists(collection, 'read')) return []
  const get = aggregateOperation(document, [{ collection, operation: 'read' }], collection)
  return [[`${prefix}/${collection.name}/aggregate`, { get }]]
}

function itemPath(document: Document, collection: Collection): JsonSchema {
  const described: Described = {
    id: `get_${collection.singular}`,
    summary: `Get ${words(collection.singular)}`,
    accesses: [{ collection, operation: 'read' }],
  }
  return {
    parameters: [idParameter],
    ...(exists(collection, 'read') && { get: readOperation(document, collection, described) }),
    ...(exists(collection, 'update') && {
      put: updateOperation(document, collection, 'replace'),
      patch: updateOperation(document, collection, 'merge'),
    }),
    ...(exists(collection, 'delete') && { delete: deleteOperation(document, collection) }),
  }
}

function sublistPaths(
  document: Document,
  collection: Collection,
  relation: ToMany | ManyToMany,
): [string, JsonSchema][] | undefined {
  const [target, ...through] = collectionsAlong(document.model, relation)
  if (!target || !exists(collection, 'read') || !canFollow(document.model, collection, relation))
    return undefined
  const read = (each: Collection): Access => ({ collection: each, operation: 'read' })
  const described: Described = {
    id: `list_${relation.name}_of_${collection.singular}`,
    summary: `List ${words(relation.name)} of ${words(collection.singular)}`,
    accesses: [read(target), read(collection), ...through.map(read)],
  }
  const root = `${prefix}/${collection.name}/{id}/${relation.name}`
  const aggregate = aggregateOperation(document, described.accesses, collection, relation)
  return [
    [root, { parameters: [idParameter], get: listOperation(document, target, described) }],
    [`${root}/aggregate`, { parameters: [idParameter], get: aggregate }],
  ]
}

function hasMethods(path: JsonSchema): boolean {
  return Object.keys(path).some(key => key !== 'parameters')
}

function collectionPaths(document: Document, collection: Collection): [string, JsonSchema][] {
  const root = `${prefix}/${collection.name}`
  const paths: [string, JsonSchema][] = [
    [root, collectionPath(document, collection)],
    ...aggregatePath(document, collection),
    [`${root}/{id}`, itemPath(document, collection)],
  ]
  for (const relation of collection.relations.values()) {
    const path = relation.kind === 'one' ? undefined : sublistPaths(document, collection, relation)
    if (path) paths.push(...path)
  }
  paths.push(...filePaths(document, collection), ...pathsBelow(document, collection))
  return paths.filter(([, path]) => hasMethods(path))
}

function mePath(document: Document): [string, JsonSchema][] {
  const users = document.model.collections.get('users')
  if (!users || !exists(users, 'read')) return []
  const described: Described = {
    id: 'get_me',
    summary: 'Get your own user',
    accesses: [{ collection: users, operation: 'read' }],
    signedIn: true,
  }
  return [[`${prefix}/me`, { get: readOperation(document, users, described) }]]
}

const documentPath = (document: Document): [string, JsonSchema] => [
  `${prefix}/openapi.json`,
  {
    get: {
      operationId: document.operationId('get_open_api_document'),
      summary: 'Get this document',
      description: 'Who may: anyone.',
      tags: ['openapi'],
      security: [{}],
      parameters: headerParameters('If-None-Match'),
      responses: readResponses(json('OpenAPI 3.1.', schemaReference('OpenApiDocument'), 'ETag'), 'Document'),
    },
  },
]

/** Whether actions or queries belong to no collection. */
function hasOwnPaths({ logic }: Model): boolean {
  return [...logic.actions.values(), ...logic.queries.values()].some(({ target }) => target === 'none')
}

const fixed = {
  schemas: {
    ...{ ...shared.schemas, ...batchSchemas, ...explainSchemas, ...accountSchemas },
    ...{ ...aggregateSchemas, ...filterSchemas },
  },
  parameters: { ...parameters, ...aggregateParameters, ...openFilterParameters },
  responses: { ...responses, ...aggregateResponses },
}

function tagsIn(item: JsonSchema): unknown[] {
  return Object.values(item).flatMap(
    operation => (operation as { readonly tags?: readonly unknown[] }).tags ?? [],
  )
}

/** Excludes collections that no caller can read or change. */
function tagsOf(model: Model, paths: readonly (readonly [string, JsonSchema])[]): JsonSchema[] {
  const used = new Set(paths.flatMap(([, item]) => tagsIn(item)))
  const collections = [...model.collections.values()].filter(({ name }) => used.has(name))
  const described = (description: string | undefined): JsonSchema =>
    description === undefined ? {} : { description }
  return [
    ...collections.map(({ name, description }) => ({ name, ...described(description) })),
    ...(hasOwnPaths(model)
      ? [{ name: logicTag, description: 'Actions and queries that belong to no collection.' }]
      : []),
    ...(describedRoutes({ model }).length > 0
      ? [{ name: routesTag, description: 'Paths of the service’s own, outside of the API.' }]
      : []),
    ...(model.collections.has('uploads')
      ? [{ name: uploadTag, description: 'Files that bodies refer to.' }]
      : []),
    { name: 'batch', description: 'Several operations in one transaction.' },
    { name: 'explain', description: 'Why a request is allowed or refused.' },
    { name: 'events', description: 'Changes of items, in order.' },
    { name: 'account', description: 'Sign-in and sign-up for pages on the service’s own origin.' },
    { name: 'openapi', description: 'This document.' },
  ]
}

export interface DocumentParts {
  /** Whether it describes the requests that webhooks receive, which openapi-generator takes for operations of the API. */
  readonly webhooks: boolean
}

/**
 * The document, as a JSON value. `baseUrl` names the server, without a trailing slash;
 * without it, the server that the document was read from.
 */
export function openapi(
  model: Model,
  baseUrl: string | undefined,
  { webhooks }: DocumentParts = { webhooks: false },
): JsonSchema {
  const collections = [...model.collections.values()]
  const document = createDocument(
    model,
    [...Object.values(fixed), runsSchemas(model), uploadSchemas(model)].flatMap(section =>
      Object.keys(section),
    ),
  )
  const schemas = collections.flatMap(collection => collectionSchemas(document, collection))
  const paths = [
    ...collections.flatMap(collection => collectionPaths(document, collection)),
    ...logicPaths(document),
    ...routePaths(document),
    ...mePath(document),
    ...uploadPath(document),
    batchPath(document),
    explainPath(document),
    eventsPath(document),
    ...accountPaths(document),
    ...runsPaths(document),
    ...personalDataPaths(document),
    documentPath(document),
  ]
  const events = eventSchemas(document)
  const allSchemas = {
    ...Object.fromEntries(schemas),
    ...document.schemas.all,
    ...fixed.schemas,
    ...runsSchemas(model),
    ...uploadSchemas(model),
    ...Object.fromEntries(events),
  }
  return {
    openapi: '3.1.1',
    info: { title: 'REST API', version: '1', description: shared.introduction },
    servers: [{ url: baseUrl ?? '/' }],
    tags: tagsOf(model, paths),
    paths: Object.fromEntries(paths),
    ...(webhooks && { webhooks: { event: eventWebhook(document) } }),
    components: {
      schemas: Object.fromEntries(
        Object.entries(allSchemas).map(([name, schema]) => [name, withConstantNames(name, schema)]),
      ),
      parameters: { ...document.parameters.all, ...fixed.parameters },
      headers,
      responses: { ...document.responses.all, ...fixed.responses },
      securitySchemes,
    },
    'x-common-headers': commonHeaders,
    'x-scopes': Object.fromEntries(model.scopes),
  }
}
