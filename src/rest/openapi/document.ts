/** The OpenAPI 3.1 document of a model: exactly the operations that exist. */
import type { JsonSchema } from '../../model/fields/type.ts'
import type { Collection, ManyToMany, Model, ToMany } from '../../model/model.ts'
import type { BodyMode } from '../../model/schemas.ts'
import { maxBulkItems } from '../bulk.ts'
import { canFollow, collectionsAlong, exists } from '../operations.ts'
import { prefix } from '../routes.ts'
import { pathsBelow } from './actions.ts'
import { aggregateOperation, aggregateParameters, aggregateSchemas } from './aggregates.ts'
import { batchPath, batchSchemas } from './batch.ts'
import { eventSchemas, eventsPath } from './events.ts'
import { logicPaths, logicTag } from './logic.ts'
import { createDocument, type Document } from './names.ts'
import { base, type Described, readResponses } from './operation.ts'
import { headerParameters, itemParameters, listParameters, parameters } from './parameters.ts'
import { headers, responses, success } from './responses.ts'
import { collectionSchemas, isRevealing, shared } from './schemas.ts'
import { type Access, securitySchemes } from './security.ts'

/** Ends the description of a write's response. */
const shown = '; whoever may not read it is told its `id`.'

/**
 * In words: a schema that is one of two would take the types from every client that creates one item.
 */
const bulk = `An array of up to ${maxBulkItems.toLocaleString('en')} such bodies creates all of them or none, and answers \`{"data":[…]}\` without \`Location\`.`

function requestBody(document: Document, collection: Collection, mode: BodyMode): JsonSchema {
  const schema = { schema: document.schema(collection, mode) }
  const merge = mode === 'merge' && { 'application/merge-patch+json': schema }
  return { required: true, content: { 'application/json': schema, ...merge } }
}

function listOperation(document: Document, collection: Collection, described: Described): JsonSchema {
  return {
    ...base(document, described),
    parameters: listParameters(document, collection),
    responses: readResponses(success('A page of items.', document.schema(collection, 'list'), headers.list)),
  }
}

function readOperation(document: Document, collection: Collection): JsonSchema {
  const described: Described = {
    id: `get_${collection.singular}`,
    summary: `Read one of ${collection.name}`,
    accesses: [{ collection, operation: 'read' }],
  }
  return {
    ...base(document, described),
    parameters: itemParameters('If-None-Match'),
    responses: readResponses(success('The item.', document.schema(collection, 'item'), headers.read)),
  }
}

function createOperation(document: Document, collection: Collection): JsonSchema {
  const described: Described = {
    id: `create_${collection.singular}`,
    summary: `Add to ${collection.name}`,
    accesses: [{ collection, operation: 'create' }],
  }
  const members = base(document, described)
  return {
    ...members,
    ...(!isRevealing(collection) && { description: `${String(members['description'])} ${bulk}` }),
    parameters: itemParameters('Idempotency-Key'),
    requestBody: requestBody(document, collection, 'create'),
    responses: {
      201: success(
        `The new item${shown}`,
        document.schema(collection, isRevealing(collection) ? 'created' : 'item'),
        headers.created,
      ),
      ...responses(400, 401, 403, 406, 408, 409, 413, 415, 422, 429, 500, 503),
    },
  }
}

function updateOperation(document: Document, collection: Collection, mode: 'replace' | 'merge'): JsonSchema {
  const summary = mode === 'replace' ? 'Replace all writable fields' : 'Change some fields'
  const described: Described = {
    id: `${mode === 'replace' ? 'replace' : 'update'}_${collection.singular}`,
    summary,
    accesses: [{ collection, operation: 'update' }],
  }
  return {
    ...base(document, described),
    parameters: itemParameters('If-Match', 'Idempotency-Key'),
    requestBody: requestBody(document, collection, mode),
    responses: {
      200: success(`The item as it is now${shown}`, document.schema(collection, 'item'), headers.written),
      ...responses(400, 401, 403, 404, 406, 408, 409, 412, 413, 415, 422, 429, 500, 503),
    },
  }
}

function deleteOperation(document: Document, collection: Collection): JsonSchema {
  const described: Described = {
    id: `delete_${collection.singular}`,
    summary: `Delete one of ${collection.name}`,
    accesses: [{ collection, operation: 'delete' }],
  }
  return {
    ...base(document, described),
    parameters: headerParameters('If-Match', 'Idempotency-Key'),
    responses: {
      204: { description: 'It is gone.', headers: headers.gone },
      ...responses(400, 401, 403, 404, 406, 409, 412, 422, 429, 500, 503),
    },
  }
}

const idParameter = { $ref: '#/components/parameters/id' }

function collectionPath(document: Document, collection: Collection): JsonSchema {
  const described: Described = {
    id: `list_${collection.name}`,
    summary: `List ${collection.name}`,
    accesses: [{ collection, operation: 'read' }],
  }
  return {
    ...(collection.description !== undefined && { description: collection.description }),
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
  return {
    parameters: [idParameter],
    ...(exists(collection, 'read') && { get: readOperation(document, collection) }),
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
    summary: `List the ${relation.name} of one of ${collection.name}`,
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
  return Object.keys(path).some(key => key !== 'parameters' && key !== 'description')
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
  paths.push(...pathsBelow(document, collection))
  return paths.filter(([, path]) => hasMethods(path))
}

function mePath(document: Document): [string, JsonSchema][] {
  const users = document.model.collections.get('users')
  if (!users || !exists(users, 'read')) return []
  const described: Described = {
    id: 'get_me',
    summary: 'Read your own user',
    accesses: [{ collection: users, operation: 'read' }],
    signedIn: true,
  }
  const get = {
    ...base(document, described),
    parameters: itemParameters('If-None-Match'),
    responses: readResponses(
      success('The user behind the credential.', document.schema(users, 'item'), headers.read),
    ),
  }
  return [[`${prefix}/me`, { get }]]
}

const documentPath = (document: Document): [string, JsonSchema] => [
  `${prefix}/openapi.json`,
  {
    get: {
      operationId: document.operationId('get_openapi'),
      summary: 'Read this document',
      description: 'Who may: anyone.',
      tags: ['openapi'],
      security: [{}],
      parameters: [{ $ref: '#/components/parameters/If-None-Match' }],
      responses: readResponses(
        success('OpenAPI 3.1.', { type: 'object', additionalProperties: true }, headers.read),
        [400, 401, 406, 429, 500, 503],
      ),
    },
  },
]

/** Whether actions or queries belong to no collection. */
function hasOwnPaths({ logic }: Model): boolean {
  return [...logic.actions.values(), ...logic.queries.values()].some(({ target }) => target === 'none')
}

/**
 * The document, as a JSON value. `baseUrl` names the server, without a trailing slash;
 * without it, the server that the document was read from.
 */
export function openapi(model: Model, baseUrl: string | undefined): JsonSchema {
  const collections = [...model.collections.values()]
  const document = createDocument(model, [
    ...Object.keys({ ...shared.schemas, ...batchSchemas, ...aggregateSchemas }),
  ])
  const schemas = collections.flatMap(collection => collectionSchemas(document, collection))
  const paths = collections.flatMap(collection => collectionPaths(document, collection))
  return {
    openapi: '3.1.1',
    info: { title: 'REST API', version: '1', description: shared.introduction },
    servers: [{ url: baseUrl ?? '/' }],
    tags: [
      ...collections.map(({ name, description }) => ({
        name,
        ...(description !== undefined && { description }),
      })),
      ...(hasOwnPaths(model) ? [{ name: logicTag, description: 'What belongs to no collection.' }] : []),
      { name: 'batch', description: 'Several operations as one.' },
      { name: 'events', description: 'What has changed.' },
      { name: 'openapi', description: 'This document.' },
    ],
    paths: Object.fromEntries([
      ...paths,
      ...logicPaths(document),
      ...mePath(document),
      batchPath(document),
      eventsPath(document),
      documentPath(document),
    ]),
    components: {
      schemas: {
        ...Object.fromEntries([...schemas, ...document.enumerations]),
        ...shared.schemas,
        ...batchSchemas,
        ...aggregateSchemas,
        ...Object.fromEntries(eventSchemas(document)),
      },
      parameters: { ...parameters, ...aggregateParameters },
      headers: headers.components,
      responses: responses.components,
      securitySchemes,
    },
    'x-scopes': Object.fromEntries(model.scopes),
  }
}
