/** Every operation of the OpenAPI document, as requests with plans for the reference. */

import assert from 'node:assert/strict'
import { openapi } from '../../../src/api/rest/openapi/document.ts'
import type { Principal } from '../../../src/base/principal.ts'
import { orderById } from '../../../src/engine/plan/order.ts'
import type { Plan, ReadShape, WriteShape } from '../../../src/engine/plan/plan.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Collection, Field } from '../../../src/model/model.ts'
import { type Data, Evaluation as Reference, type Row } from '../../engine/plan/reference.ts'
import { model, type Values } from './context.ts'

type Kind = 'list' | 'item' | 'related' | 'create' | 'replace' | 'merge' | 'delete' | 'me'

export interface Operation {
  readonly kind: Kind
  readonly collection: Collection
  /** The to-many relation of a sub-collection. */
  readonly relation: string | undefined
  readonly scopes: readonly string[]
}

export interface PlannedRequest {
  readonly description: string
  readonly method: string
  readonly path: string
  readonly body: Values | undefined
  readonly collection: Collection
  readonly plan: Plan<ReadShape> | Plan<WriteShape>
  /** The operation computes values, so the reference knows only whether it is allowed. */
  readonly opaque: boolean
}

interface PathItem {
  readonly [method: string]: { readonly 'x-required-scopes'?: readonly string[] }
}

const methods: Readonly<Record<string, Kind>> = {
  post: 'create',
  put: 'replace',
  patch: 'merge',
  delete: 'delete',
}

function collectionOf(name: string): Collection {
  const collection = model.collections.get(name)
  assert.ok(collection, name)
  return collection
}

function operationsAt(path: string, item: PathItem): Operation[] {
  if (!path.startsWith('/api/')) return []
  if (['/api/v1/openapi.json', '/api/v1/events', '/api/v1/batch', '/api/v1/explain'].includes(path)) return []
  if (path.startsWith('/api/v1/events/runs')) return []
  const [, , , name = '', id, relation, ...below] = path.split('/')
  // No plan describes actions and items within items: `test/identity/webhooks` tests them.
  if (below.length > 0 || (relation !== undefined && 'post' in item)) return []
  // `test/identity/administration.test.ts` tests the sessions and grants of an account.
  if (relation !== undefined && !collectionOf(name).relations.has(relation)) return []
  return Object.entries(item).flatMap(([method, operation]) => {
    if (!['get', 'post', 'put', 'patch', 'delete'].includes(method)) return []
    const scopes = operation['x-required-scopes'] ?? []
    if (name === 'me') return [{ kind: 'me' as const, collection: collectionOf('users'), relation, scopes }]
    const reading: Kind = id === undefined ? 'list' : relation === undefined ? 'item' : 'related'
    return [{ kind: methods[method] ?? reading, collection: collectionOf(name), relation, scopes }]
  })
}

/** The operations in the document. */
export function operations(): readonly Operation[] {
  const { paths } = JSON.parse(JSON.stringify(openapi(model, undefined))) as {
    paths: Record<string, PathItem>
  }
  return Object.entries(paths).flatMap(([path, item]) => operationsAt(path, item))
}

/** The collections whose creation computes values, such as secrets. */
export const opaque: ReadonlySet<string> = new Set([
  'api_keys',
  'oauth_apps',
  'oauth_app_secrets',
  'webhooks',
])

let count = 0
const unique = () => `x${process.pid.toString(36)}${(count++).toString(36)}`

const special: Readonly<Record<string, () => JsonValue>> = {
  'projects.slug': unique,
  'projects.code': () => 'ABCD',
  'projects.settings': () => ({ theme: 'dark' }),
  'labels.name': unique,
  'labels.shade': () => '#00ff00',
  'users.phone': () => '+99 9',
  'contacts.passphrase': () => 'a long passphrase',
  'api_keys.scopes': () => ['read:label'],
  'oauth_apps.redirect_uris': () => ['https://app.example.com/callback'],
  'oauth_apps.scopes': () => ['read:label'],
  'oauth_apps.default_scopes': () => ['read:label'],
  'oauth_apps.scope_separator': () => ' ',
  'webhooks.types': () => ['label.created'],
  'webhooks.collections': () => ['labels'],
}

const byType: Readonly<Record<string, () => JsonValue>> = {
  string: () => 'written',
  text: () => 'written at length',
  integer: () => 2,
  number: () => 2.5,
  boolean: () => true,
  date: () => '2026-02-02',
  datetime: () => '2026-02-02T00:00:00.000Z',
  email: () => `${unique()}@example.org`,
  url: () => 'https://example.org/x',
  uuid: () => crypto.randomUUID(),
  json: () => ({ written: true }),
}

export function sampleOf(collection: Collection, { name, type }: Field, reference: number): JsonValue {
  const value = special[`${collection.name}.${name}`] ?? byType[type.name]
  if (value) return value()
  if (type.name === 'relation') return reference
  const { enum: values } = type.schema as { enum?: readonly JsonValue[] }
  assert.ok(values?.[0] !== undefined, `${collection.name}.${name}: ${type.name}`)
  return values[values.length - 1] ?? null
}

function isWritable(field: Field, existing: boolean): boolean {
  return field.name !== 'id' && !field.readOnly && !field.internal && !(existing && field.immutable)
}

const fieldsOf = (collection: Collection) => [...collection.fields.values()]

/** Without an owner field the caller becomes the owner; with it, the named user. */
function bodies(
  collection: Collection,
  kind: 'create' | 'replace' | 'merge',
  row: Row | undefined,
): readonly Values[] {
  const existing = kind !== 'create'
  const open = fieldsOf(collection).filter(field => isWritable(field, existing))
  const needed = (field: Field) => !field.optional && field.default === undefined
  const all = (reference: number, expected: (field: Field) => boolean): Values =>
    Object.fromEntries(
      open.filter(expected).map(field => [field.name, sampleOf(collection, field, reference)]),
    )
  const plain = (field: Field) => field.access.write.kind === 'anyone' && field.reference === undefined
  // References stay unchanged in an existing row; a uuid is always set, because the reference cannot know its default.
  const references = Object.fromEntries(
    open.filter(field => field.reference && row).map(({ name }) => [name, row?.[name] ?? null]),
  )
  // The email stays unchanged: it takes effect only once it is proven, which test/identity/accounts covers.
  const address = collection.name === 'users' && row ? { email: row.email ?? null } : {}
  const certain = (field: Field) => needed(field) || field.type.name === 'uuid'
  if (kind === 'create') {
    return [2, 3, 4]
      .map(reference => all(reference, field => certain(field) || field.reference?.kind === 'one'))
      .concat([all(2, certain), all(2, () => true)])
  }
  if (kind === 'replace')
    return [
      { ...all(2, field => certain(field) || plain(field)), ...references, ...address },
      { ...all(3, () => true), ...address },
    ]
  const [first] = open.filter(plain)
  const single = open
    .filter(field => !plain(field))
    .map(field => ({ [field.name]: sampleOf(collection, field, 3) }))
  const innocent = first ? [{ [first.name]: sampleOf(collection, first, 2) }] : []
  return [...innocent, ...single, ...(row ? [{ ...references, ...innocent[0] }] : [])]
}

/** Whether a hook of the collection sets the field. */
function isSetByHook({ name, readOnly, internal, optional, default: standard }: Field): boolean {
  return name !== 'id' && (readOnly || internal) && !optional && standard === undefined
}

function writePlan(
  collection: Collection,
  kind: 'create' | 'replace' | 'merge',
  id: number,
  body: Values,
): Plan<WriteShape> {
  const set = Object.keys(body).map((field, index) => ({ field, param: index + 1 }))
  const args = [id, ...Object.values(body)]
  if (kind === 'create') {
    const computedFields = fieldsOf(collection).filter(
      field => opaque.has(collection.name) && isSetByHook(field),
    )
    const computed = computedFields.map(({ name }, index) => ({ field: name, param: args.length + index }))
    const shape = { kind, collection: collection.name, set, computed, select: [] } as const
    return { shape, args: [...args, ...computedFields.map(unique)] }
  }
  const documents = kind === 'merge' ? 'merge' : 'replace'
  const common = {
    collection: collection.name,
    id: 0,
    set,
    documents,
    ifMatch: undefined,
    select: [],
  } as const
  return { shape: { kind: 'update', mode: kind, ...common }, args }
}

/** The selection of a response without `fields`: every field that exists for the caller. */
export function selectionFor(who: Principal, collection: Collection) {
  const context = new Reference(model, {}, who, [])
  return fieldsOf(collection)
    .filter(({ name }) => context.exists(collection, name))
    .map(({ name }) => ({ kind: 'field', key: name, field: name }) as const)
}

function listPlan(
  who: Principal,
  collection: Collection,
  within: { collection: string; relation: string; id: 2 } | undefined,
  id = 0,
): Plan<ReadShape> {
  return {
    shape: {
      kind: 'list',
      collection: collection.name,
      within,
      filter: undefined,
      search: undefined,
      sort: orderById,
      window: { kind: 'page', offset: 0, limit: 1, total: 'exact' },
      select: selectionFor(who, collection),
    },
    args: [0, 100, id],
  }
}

function itemPlan(who: Principal, collection: Collection, id: number): Plan<ReadShape> {
  return {
    shape: { kind: 'item', collection: collection.name, id: 0, select: selectionFor(who, collection) },
    args: [id],
  }
}

const missing = 4_000_000

/** The requests of an operation: for every existing row, and for one that does not exist. */
export function* requestsOf(
  { kind, collection, relation }: Operation,
  data: Data,
  who: Principal,
): Iterable<PlannedRequest> {
  const path = `/api/v1/${collection.name}`
  const request = (
    method: string,
    target: string,
    plan: PlannedRequest['plan'],
    body?: Values,
  ): PlannedRequest => ({
    description: `${method} ${target} ${body ? JSON.stringify(body) : ''}`,
    method,
    path: target,
    body,
    collection,
    plan,
    opaque: opaque.has(collection.name) && method !== 'GET' && method !== 'DELETE',
  })
  const ids = [...(data[collection.name] ?? []).map(row => Number(row.id)), missing]
  if (kind === 'list') yield request('GET', `${path}?per_page=100`, listPlan(who, collection, undefined))
  else if (kind === 'me') yield request('GET', '/api/v1/me', itemPlan(who, collection, who.userId ?? missing))
  else if (kind === 'create') {
    for (const body of bodies(collection, kind, undefined))
      yield request('POST', path, writePlan(collection, kind, 0, body), body)
  } else {
    for (const id of ids) {
      const itemPath = `${path}/${id}`
      const row = data[collection.name]?.find(other => other.id === id)
      if (kind === 'item') yield request('GET', itemPath, itemPlan(who, collection, id))
      else if (kind === 'related') {
        const target = collection.relations.get(relation ?? '')?.target ?? ''
        const within = { collection: collection.name, relation: relation ?? '', id: 2 } as const
        yield {
          ...request(
            'GET',
            `${itemPath}/${relation}?per_page=100`,
            listPlan(who, collectionOf(target), within, id),
          ),
          collection: collectionOf(target),
        }
      } else if (kind === 'delete') {
        yield request('DELETE', itemPath, {
          shape: { kind, collection: collection.name, id: 0, ifMatch: undefined },
          args: [id],
        })
      } else {
        for (const body of bodies(collection, kind, row))
          yield request(
            kind === 'merge' ? 'PATCH' : 'PUT',
            itemPath,
            writePlan(collection, kind, id, body),
            body,
          )
      }
    }
  }
}
