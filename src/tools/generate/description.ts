/** Reads the collections, actions and queries of a Portico OpenAPI document from its paths and references. */

import { isObject, type UncheckedObject } from '../../base/json.ts'
import { DocumentError } from './errors.ts'
import { listAt, objectAt, textAt } from './members.ts'

const prefix = '/api/v1/'
/** The maximum number of collections with the item schema of another one: a bound for hostile documents. Portico's have none. */
const maxCopies = 100
/** First segments of paths that are not collections; no collection can have these names. */
const reserved = new Set([
  'me',
  'batch',
  'events',
  'actions',
  'queries',
  'openapi.json',
  'uploads',
  'explain',
])

export interface Operation {
  readonly name: string
  readonly description: string
  /** `item`: it acts on an item, whose id is the first argument. */
  readonly target: 'item' | 'collection' | 'none'
  /** The schema of an object; undefined: no input. */
  readonly input: UncheckedObject | undefined
  /** Undefined: no output. */
  readonly output: UncheckedObject | undefined
}

export interface Relation {
  readonly name: string
  /** The target collection. */
  readonly target: string
  readonly isMany: boolean
  readonly description: string
}

/** The events that actions emit, by type: the schemas of their values. */
export type Emitted = ReadonlyMap<string, UncheckedObject>

export interface CollectionDescription {
  readonly name: string
  /** The first part of the collection's event types: `task`. */
  readonly singular: string
  readonly description: string
  readonly isDeprecated: boolean
  /** The schema of an item, as reads return it. Its properties include computed fields and relations. */
  readonly item: UncheckedObject
  /** The schemas of request bodies; undefined if the collection has no such operation. */
  readonly create: UncheckedObject | undefined
  readonly update: UncheckedObject | undefined
  /** The members that only the response to a create has; undefined: none. */
  readonly revealed: UncheckedObject | undefined
  /** The names of fields that are returned only on request. */
  readonly computed: readonly string[]
  readonly relations: readonly Relation[]
  readonly actions: readonly Operation[]
  readonly emits: Emitted
}

export interface ApiDescription {
  readonly collections: readonly CollectionDescription[]
  readonly actions: readonly Operation[]
  readonly queries: readonly Operation[]
}

interface Path {
  /** After `/api/v1/`. */
  readonly segments: readonly string[]
  readonly methods: UncheckedObject
}

function pathsOf(document: UncheckedObject): readonly Path[] {
  return Object.entries(objectAt(document, 'paths')).flatMap(([path, methods]) =>
    path.startsWith(prefix) && isObject(methods)
      ? [{ segments: path.slice(prefix.length).split('/'), methods }]
      : [],
  )
}

const jsonOf = (holder: UncheckedObject): UncheckedObject | undefined => {
  const { schema } = objectAt(holder, 'content', 'application/json')
  return isObject(schema) ? schema : undefined
}
const bodyOf = (operation: UncheckedObject) => jsonOf(objectAt(operation, 'requestBody'))

/** The schema of a response, which may be a reference to a response of `document` that operations share. */
function responseOf(
  document: UncheckedObject,
  operation: UncheckedObject,
  status: string,
): UncheckedObject | undefined {
  const response = objectAt(operation, 'responses', status)
  const name = /^#\/components\/responses\/([^/]+)$/.exec(textAt(response, '$ref'))?.[1]
  return jsonOf(name === undefined ? response : objectAt(document, 'components', 'responses', name))
}

/** The name in `#/components/schemas/{name}`. */
export function referenceOf(schema: unknown): string | undefined {
  const reference = isObject(schema) ? textAt(schema, '$ref') : ''
  return /^#\/components\/schemas\/([^/]+)$/.exec(reference)?.[1]
}

/** A schema, or the named one that it refers to. */
export function resolved(document: UncheckedObject, schema: UncheckedObject): UncheckedObject {
  const name = referenceOf(schema)
  return name === undefined ? schema : objectAt(document, 'components', 'schemas', name)
}

/** The description of an operation, without the access rule at its end. */
function operationText(operation: UncheckedObject): string {
  const [before = ''] = textAt(operation, 'description').split(/ ?Who may: /, 1)
  return before.trim() === '' ? textAt(operation, 'summary') : before
}

function actionOf(document: UncheckedObject, { segments, methods }: Path): Operation[] {
  const name = segments.at(-1) ?? ''
  const post = objectAt(methods, 'post')
  if (name.includes('{') || Object.keys(post).length === 0) return []
  const target = segments[1] === '{id}' ? 'item' : segments[0] === 'actions' ? 'none' : 'collection'
  const output = responseOf(document, post, '200')
  return [{ name, target, description: operationText(post), input: bodyOf(post), output }]
}

interface Parameter {
  readonly name: string
  readonly isRequired: boolean
  readonly schema: UncheckedObject
}

/** The parameters that the operation itself declares; `fields`, `include` and headers are references. */
function ownParameters(operation: UncheckedObject): readonly Parameter[] {
  return listAt(operation, 'parameters').flatMap(parameter =>
    isObject(parameter) && textAt(parameter, 'in') === 'query'
      ? [
          {
            name: textAt(parameter, 'name'),
            isRequired: parameter['required'] === true,
            schema: { ...objectAt(parameter, 'schema'), description: textAt(parameter, 'description') },
          },
        ]
      : [],
  )
}

function queryOf(document: UncheckedObject, { segments, methods }: Path): Operation[] {
  const get = objectAt(methods, 'get')
  if (Object.keys(get).length === 0) return []
  const parameters = ownParameters(get)
  const id = parameters.find(({ name, isRequired }) => name === 'id' && isRequired)
  const inputParameters = parameters.filter(parameter => parameter !== id)
  const input: UncheckedObject = {
    type: 'object',
    properties: Object.fromEntries(inputParameters.map(({ name, schema }) => [name, schema])),
    required: inputParameters.filter(({ isRequired }) => isRequired).map(({ name }) => name),
  }
  return [
    {
      name: segments.at(-1) ?? '',
      description: operationText(get),
      target: id === undefined ? 'none' : 'item',
      input: inputParameters.length === 0 ? undefined : input,
      output: responseOf(document, get, '200'),
    },
  ]
}

/** The paths of one collection. */
interface CollectionPaths {
  readonly name: string
  readonly list: UncheckedObject
  readonly item: UncheckedObject
  readonly actions: readonly Path[]
}

function collectionPaths(paths: readonly Path[]): readonly CollectionPaths[] {
  const pathsByName = Map.groupBy(paths, ({ segments: [name = ''] }) => name)
  const collections = [...pathsByName].filter(([name]) => !reserved.has(name))
  return collections.map(([name, ownPaths]) => {
    const methodsAt = (...rest: readonly string[]) =>
      ownPaths.find(({ segments }) => segments.join('/') === [name, ...rest].join('/'))?.methods ?? {}
    const isAction = ({ segments: [, second, third], ...path }: Path) =>
      path.methods['post'] !== undefined && (second === '{id}' ? third !== undefined : second !== undefined)
    const actions = ownPaths.filter(path => isAction(path) && path.segments.length <= 3)
    return { name, list: methodsAt(), item: methodsAt('{id}'), actions }
  })
}

function itemOf(document: UncheckedObject, { list, item }: CollectionPaths): UncheckedObject {
  const page = responseOf(document, objectAt(list, 'get'), '200')
  const listItem = page && objectAt(resolved(document, page), 'properties', 'data', 'items')
  const candidates = [
    responseOf(document, objectAt(item, 'get'), '200'),
    listItem,
    responseOf(document, objectAt(item, 'patch'), '200'),
    responseOf(document, objectAt(list, 'post'), '201'),
  ]
  return candidates.find(schema => schema !== undefined && Object.keys(schema).length > 0) ?? {}
}

/** A relation is a property that refers to the items of a collection: one item, an item or null, or a list. */
function relationsOf(
  document: UncheckedObject,
  item: UncheckedObject,
  collections: ReadonlyMap<string, string>,
): readonly Relation[] {
  const properties = objectAt(resolved(document, item), 'properties')
  return Object.entries(properties).flatMap(([name, property]) => {
    if (!isObject(property)) return []
    const references = [property, ...listAt(property, 'anyOf'), ...listAt(property, 'oneOf')].map(referenceOf)
    const listReference = referenceOf(objectAt(property, 'items'))
    const target = collections.get(
      [...references, listReference].find(name => collections.has(name ?? '')) ?? '',
    )
    if (target === undefined) return []
    return [
      { name, target, isMany: listReference !== undefined, description: textAt(property, 'description') },
    ]
  })
}

function computedOf(document: UncheckedObject, item: UncheckedObject): readonly string[] {
  const properties = Object.entries(objectAt(resolved(document, item), 'properties'))
  return properties
    .filter(([, property]) => isObject(property) && property['x-computed'] === true)
    .map(([name]) => name)
}

/** The response to a create has the item's schema and additional members. */
function revealedOf(
  document: UncheckedObject,
  post: UncheckedObject,
  item: UncheckedObject,
): UncheckedObject | undefined {
  const created = responseOf(document, post, '201')
  const parts = created && listAt(resolved(document, created), 'allOf').filter(isObject)
  if (!parts?.some(part => referenceOf(part) === referenceOf(item))) return undefined
  return parts.find(part => referenceOf(part) === undefined)
}

/** The schemas of events by collection. */
function eventsOf(document: UncheckedObject): ReadonlyMap<string, readonly UncheckedObject[]> {
  const page = objectAt(document, 'components', 'schemas', 'EventPage', 'properties')
  const events = listAt(resolved(document, objectAt(page, 'data', 'items')), 'oneOf')
    .filter(isObject)
    .map(schema => objectAt(resolved(document, schema), 'properties'))
  return Map.groupBy(events, properties => textAt(objectAt(properties, 'collection'), 'const'))
}

/** From the collection's event types; without events, from the scope that reads it. */
function singularOf(events: readonly UncheckedObject[], { name, list }: CollectionPaths): string {
  const types = events.map(properties => textAt(objectAt(properties, 'type'), 'const'))
  const created = types.find(type => type.endsWith('.created'))
  if (created !== undefined) return created.slice(0, -'.created'.length)
  const scopes = listAt(objectAt(list, 'get'), 'x-required-scopes').filter(scope => typeof scope === 'string')
  return scopes.find(scope => scope.startsWith('read:'))?.slice('read:'.length) ?? name
}

/** Only events that actions emit have values. */
function emittedBy(document: UncheckedObject, events: readonly UncheckedObject[]): Emitted {
  return new Map(
    events.flatMap(({ type, values }) =>
      isObject(type) && isObject(values)
        ? [[textAt(type, 'const'), resolved(document, values)] as const]
        : [],
    ),
  )
}

/** Describes a document, in its order. Throws a `DocumentError` for a document that no service can have. */
export function describeApi(document: UncheckedObject): ApiDescription {
  const paths = pathsOf(document)
  const collections = collectionPaths(paths).map(collection => ({
    ...collection,
    schema: itemOf(document, collection),
  }))
  const byItemSchema = new Map(
    collections.map(({ name, schema }) => [referenceOf(schema) ?? `/${name}`, name]),
  )
  if (collections.length - byItemSchema.size > maxCopies)
    throw new DocumentError(`More than ${maxCopies} collections of the document have the same items.`)
  const events = eventsOf(document)
  const tags = new Map(
    listAt(document, 'tags')
      .filter(isObject)
      .map(tag => [textAt(tag, 'name'), textAt(tag, 'description')]),
  )
  const inFolder = (folder: string) => paths.filter(({ segments }) => segments[0] === folder)
  return {
    collections: collections.map(collection => {
      const { name, list, item, actions, schema } = collection
      const ownEvents = events.get(name) ?? []
      return {
        name,
        singular: singularOf(ownEvents, collection),
        description: tags.get(name) ?? '',
        isDeprecated: objectAt(list, 'get')['deprecated'] === true,
        item: schema,
        create: bodyOf(objectAt(list, 'post')),
        update: bodyOf(objectAt(item, 'patch')),
        revealed: revealedOf(document, objectAt(list, 'post'), schema),
        computed: computedOf(document, schema),
        relations: relationsOf(document, schema, byItemSchema),
        actions: actions.flatMap(path => actionOf(document, path)),
        emits: emittedBy(document, ownEvents),
      }
    }),
    actions: inFolder('actions').flatMap(path => actionOf(document, path)),
    queries: inFolder('queries').flatMap(path => queryOf(document, path)),
  }
}
