/** The OpenAPI 3.1 document of a model: exactly the operations that exist. */
import type { JsonSchema, JsonValue } from '../model/fields/type.ts'
import type { Collection, ManyToMany, Model, ToMany } from '../model/model.ts'
import { staticRule } from '../plan/guard.ts'
import { anonymous } from '../principal.ts'
import { itemParameters, listParameters, parameters } from './openapi-parameters.ts'
import { headers, responses, success } from './openapi-responses.ts'
import { bodyName, collectionSchemas, shared, typeName, visibleFields } from './openapi-schemas.ts'
import { exists, type Operation } from './operations.ts'
import { prefix } from './path.ts'
import { inWords } from './rule-words.ts'

const nobodyYet = anonymous('').access
const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key (`pk_…`), an OAuth access token, or a JWT of a trusted issuer (RFC 6750).',
  },
  dpop: {
    type: 'http',
    scheme: 'dpop',
    description:
      'An OAuth access token that is bound to a key, with a proof of it in the header `DPoP` (RFC 9449, 7.1).',
  },
  apiKeyHeader: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
  apiKeyQuery: { type: 'apiKey', in: 'query', name: 'api_key' },
}
const credentials = Object.keys(securitySchemes)
const writes = { read: 'read', create: 'write', update: 'write', delete: 'write' } as const

function scopeOf(collection: Collection, operation: Operation): string {
  return `${writes[operation]}:${collection.singular}`
}

function security(model: Model, collection: Collection, operation: Operation): JsonValue {
  const scope = scopeOf(collection, operation)
  const needed = credentials.map(name => ({ [name]: [scope] }))
  const open = staticRule(model, collection, collection.access[operation], nobodyYet) !== 'never'
  return open ? [{}, ...needed] : needed
}

interface Described {
  readonly id: string
  readonly summary: string
  readonly operation: Operation
}

/** What every operation on a collection has. */
function base(model: Model, collection: Collection, { id, summary, operation }: Described) {
  const scope = scopeOf(collection, operation)
  const who = inWords(collection.access[operation])
  return {
    operationId: id,
    summary,
    description: `Who may: ${who}. A credential that is limited to scopes needs \`${scope}\`.`,
    tags: [collection.name],
    security: security(model, collection, operation),
    'x-required-scopes': [scope],
    ...(collection.deprecated && { deprecated: true }),
  }
}

function requestBody(collection: Collection, mode: 'create' | 'replace' | 'merge'): JsonSchema {
  const schema = { schema: { $ref: `#/components/schemas/${bodyName(collection, mode)}` } }
  const merge = mode === 'merge' && { 'application/merge-patch+json': schema }
  return { required: true, content: { 'application/json': schema, ...merge } }
}

function item(collection: Collection): JsonSchema {
  return { $ref: `#/components/schemas/${typeName(collection)}` }
}

function listOperation(model: Model, collection: Collection, described: Described): JsonSchema {
  return {
    ...base(model, collection, described),
    parameters: listParameters(collection),
    responses: {
      200: success(
        'A page of items.',
        { $ref: `#/components/schemas/${typeName(collection)}List` },
        headers.list,
      ),
      304: { description: 'Nothing has changed.', headers: headers.read },
      ...responses(400, 401, 403, 404, 406, 429, 500, 503),
    },
  }
}

function readOperation(model: Model, collection: Collection): JsonSchema {
  const described = {
    id: `get_${collection.singular}`,
    summary: `Read one of ${collection.name}`,
    operation: 'read' as const,
  }
  return {
    ...base(model, collection, described),
    parameters: itemParameters('If-None-Match'),
    responses: {
      200: success('The item.', item(collection), headers.read),
      304: { description: 'Nothing has changed.', headers: headers.read },
      ...responses(400, 401, 403, 404, 406, 429, 500, 503),
    },
  }
}

function createOperation(model: Model, collection: Collection): JsonSchema {
  const described = {
    id: `create_${collection.singular}`,
    summary: `Add to ${collection.name}`,
    operation: 'create' as const,
  }
  return {
    ...base(model, collection, described),
    parameters: itemParameters(),
    requestBody: requestBody(collection, 'create'),
    responses: {
      201: success('The new item.', item(collection), headers.created),
      ...responses(400, 401, 403, 406, 408, 409, 413, 415, 429, 500, 503),
    },
  }
}

function updateOperation(model: Model, collection: Collection, mode: 'replace' | 'merge'): JsonSchema {
  const summary = mode === 'replace' ? 'Replace all writable fields' : 'Change some fields'
  const described = {
    id: `${mode === 'replace' ? 'replace' : 'update'}_${collection.singular}`,
    summary,
    operation: 'update' as const,
  }
  return {
    ...base(model, collection, described),
    parameters: itemParameters('If-Match'),
    requestBody: requestBody(collection, mode),
    responses: {
      200: success('The item as it is now.', item(collection), headers.written),
      ...responses(400, 401, 403, 404, 406, 408, 409, 412, 413, 415, 429, 500, 503),
    },
  }
}

function deleteOperation(model: Model, collection: Collection): JsonSchema {
  const described = {
    id: `delete_${collection.singular}`,
    summary: `Delete one of ${collection.name}`,
    operation: 'delete' as const,
  }
  return {
    ...base(model, collection, described),
    parameters: [{ $ref: '#/components/parameters/If-Match' }],
    responses: {
      204: { description: 'It is gone.', headers: headers.all },
      ...responses(400, 401, 403, 404, 406, 409, 412, 429, 500, 503),
    },
  }
}

const idParameter = { $ref: '#/components/parameters/id' }

function collectionPath(model: Model, collection: Collection): JsonSchema {
  const described = {
    id: `list_${collection.name}`,
    summary: `List ${collection.name}`,
    operation: 'read' as const,
  }
  return {
    ...(collection.description !== undefined && { description: collection.description }),
    ...(exists(collection, 'read') && { get: listOperation(model, collection, described) }),
    ...(exists(collection, 'create') && { post: createOperation(model, collection) }),
  }
}

function itemPath(model: Model, collection: Collection): JsonSchema {
  return {
    parameters: [idParameter],
    ...(exists(collection, 'read') && { get: readOperation(model, collection) }),
    ...(exists(collection, 'update') && {
      put: updateOperation(model, collection, 'replace'),
      patch: updateOperation(model, collection, 'merge'),
    }),
    ...(exists(collection, 'delete') && { delete: deleteOperation(model, collection) }),
  }
}

function sublistPath(
  model: Model,
  collection: Collection,
  relation: ToMany | ManyToMany,
): JsonSchema | undefined {
  const target = model.collections.get(relation.target)
  if (!target || !exists(collection, 'read') || !exists(target, 'read')) return undefined
  const described = {
    id: `list_${relation.name}_of_${collection.singular}`,
    summary: `List the ${relation.name} of one of ${collection.name}`,
    operation: 'read' as const,
  }
  return { parameters: [idParameter], get: listOperation(model, target, described) }
}

function hasMethods(path: JsonSchema): boolean {
  return Object.keys(path).some(key => key !== 'parameters' && key !== 'description')
}

/** A relation through a field that no caller may ever read is not there. */
function canFollow(model: Model, relation: ToMany | ManyToMany): boolean {
  const names = relation.kind === 'many' ? [relation.field] : [relation.from, relation.to]
  const holder = model.collections.get(relation.kind === 'many' ? relation.target : relation.through)
  return holder !== undefined && names.every(name => visibleFields(holder).some(field => field.name === name))
}

function collectionPaths(model: Model, collection: Collection): [string, JsonSchema][] {
  const root = `${prefix}/${collection.name}`
  const paths: [string, JsonSchema][] = [
    [root, collectionPath(model, collection)],
    [`${root}/{id}`, itemPath(model, collection)],
  ]
  for (const relation of collection.relations.values()) {
    if (relation.kind === 'one' || !canFollow(model, relation)) continue
    const path = sublistPath(model, collection, relation)
    if (path) paths.push([`${root}/{id}/${relation.name}`, path])
  }
  return paths.filter(([, path]) => hasMethods(path))
}

function mePath(model: Model): [string, JsonSchema][] {
  const users = model.collections.get('users')
  if (!users || !exists(users, 'read')) return []
  const described = { id: 'get_me', summary: 'Read your own user', operation: 'read' as const }
  const get = {
    ...base(model, users, described),
    security: credentials.map(name => ({ [name]: [scopeOf(users, 'read')] })),
    parameters: itemParameters('If-None-Match'),
    responses: {
      200: success('The user behind the credential.', item(users), headers.read),
      304: { description: 'Nothing has changed.', headers: headers.read },
      ...responses(400, 401, 403, 404, 406, 429, 500, 503),
    },
  }
  return [[`${prefix}/me`, { get }]]
}

const documentPath: [string, JsonSchema] = [
  `${prefix}/openapi.json`,
  {
    get: {
      operationId: 'get_openapi',
      summary: 'Read this document',
      tags: ['openapi'],
      security: [{}],
      parameters: [{ $ref: '#/components/parameters/If-None-Match' }],
      responses: {
        200: success('OpenAPI 3.1.', { type: 'object' }, headers.read),
        304: { description: 'Nothing has changed.', headers: headers.read },
        ...responses(400, 401, 406, 429, 500, 503),
      },
    },
  },
]

/**
 * The document, as a JSON value. `baseUrl` names the server, without a trailing slash;
 * without it, the server that the document was read from.
 */
export function openapi(model: Model, baseUrl: string | undefined): JsonSchema {
  const collections = [...model.collections.values()]
  return {
    openapi: '3.1.1',
    info: { title: 'REST API', version: '1', description: shared.introduction },
    servers: [{ url: baseUrl ?? '/' }],
    tags: collections.map(({ name, description }) => ({
      name,
      ...(description !== undefined && { description }),
    })),
    paths: Object.fromEntries([
      ...collections.flatMap(collection => collectionPaths(model, collection)),
      ...mePath(model),
      documentPath,
    ]),
    components: {
      schemas: {
        ...Object.fromEntries(collections.flatMap(collection => collectionSchemas(model, collection))),
        ...shared.schemas,
      },
      parameters,
      headers: headers.components,
      responses: responses.components,
      securitySchemes,
    },
    'x-scopes': Object.fromEntries(model.scopes),
  }
}
