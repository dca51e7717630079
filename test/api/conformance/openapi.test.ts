import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Validator } from '@seriousme/openapi-schema-validator'
import { openapi } from '../../../src/api/rest/openapi/document.ts'
import { collection, model, nobody, signedIn, string } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { JsonSchema } from '../../../src/model/fields/type.ts'
import blog from '../../models/blog.ts'
import rich from '../../models/rich.ts'
import tracker from '../../models/tracker.ts'
import { filtersOf, operationsOf, resolve } from './generate.ts'

function documentOf(declaration: Parameters<typeof checkModel>[0]) {
  return JSON.parse(JSON.stringify(openapi(checkModel(declaration), undefined)))
}

function methods(path: JsonSchema | undefined): string[] {
  return Object.keys(path ?? {}).filter(key => key !== 'parameters' && key !== 'description')
}

for (const [name, declaration] of Object.entries({ blog, rich })) {
  test(`the document of ${name} is valid against the OpenAPI 3.1 schema`, async () => {
    const { valid, errors } = await new Validator().validate(documentOf(declaration))
    assert.ok(valid, JSON.stringify(errors))
  })

  test(`every reference in the document of ${name} resolves`, () => {
    const document = documentOf(declaration)
    for (const [, reference = ''] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const target = reference.split('/').reduce((node, key) => node?.[key], document)
      assert.ok(target, reference)
    }
  })

  test(`the operation ids of ${name} are unique`, () => {
    const ids = [...JSON.stringify(documentOf(declaration)).matchAll(/"operationId":"([^"]+)"/g)].map(
      ([, id]) => id,
    )
    assert.equal(new Set(ids).size, ids.length)
    assert.ok(ids.length > 10)
  })
}

test('the reference model has exactly these paths', () => {
  const { paths } = documentOf(blog)
  assert.deepEqual(Object.keys(paths).sort(), [
    '/account',
    '/account/passkeys/get',
    '/account/reset',
    '/account/sign-in',
    '/account/sign-out',
    '/account/sign-up',
    '/api/v1/api_keys',
    '/api/v1/api_keys/aggregate',
    '/api/v1/api_keys/{id}',
    '/api/v1/batch',
    '/api/v1/events',
    '/api/v1/explain',
    '/api/v1/me',
    '/api/v1/oauth_app_secrets',
    '/api/v1/oauth_app_secrets/aggregate',
    '/api/v1/oauth_app_secrets/{id}',
    '/api/v1/oauth_apps',
    '/api/v1/oauth_apps/aggregate',
    '/api/v1/oauth_apps/{id}',
    '/api/v1/oauth_apps/{id}/secrets',
    '/api/v1/oauth_apps/{id}/secrets/aggregate',
    '/api/v1/oauth_apps/{id}/webhooks',
    '/api/v1/oauth_apps/{id}/webhooks/aggregate',
    '/api/v1/openapi.json',
    '/api/v1/posts',
    '/api/v1/posts/aggregate',
    '/api/v1/posts/{id}',
    '/api/v1/users',
    '/api/v1/users/aggregate',
    '/api/v1/users/{id}',
    '/api/v1/users/{id}/api_keys',
    '/api/v1/users/{id}/api_keys/aggregate',
    '/api/v1/users/{id}/erase',
    '/api/v1/users/{id}/grants',
    '/api/v1/users/{id}/grants/{client_id}',
    '/api/v1/users/{id}/oauth_apps',
    '/api/v1/users/{id}/oauth_apps/aggregate',
    '/api/v1/users/{id}/personal_data',
    '/api/v1/users/{id}/posts',
    '/api/v1/users/{id}/posts/aggregate',
    '/api/v1/users/{id}/sessions',
    '/api/v1/users/{id}/sessions/{session}',
    '/api/v1/users/{id}/set_password',
    '/api/v1/users/{id}/webhooks',
    '/api/v1/users/{id}/webhooks/aggregate',
    '/api/v1/webhook_deliveries',
    '/api/v1/webhook_deliveries/aggregate',
    '/api/v1/webhook_deliveries/{id}',
    '/api/v1/webhooks',
    '/api/v1/webhooks/aggregate',
    '/api/v1/webhooks/{id}',
    '/api/v1/webhooks/{id}/deliveries',
    '/api/v1/webhooks/{id}/deliveries/aggregate',
    '/api/v1/webhooks/{id}/deliveries/{n}',
    '/api/v1/webhooks/{id}/deliveries/{n}/redeliver',
    '/api/v1/webhooks/{id}/enable',
    '/api/v1/webhooks/{id}/rotate_secret',
    '/api/v1/webhooks/{id}/test',
  ])
  assert.deepEqual(methods(paths['/api/v1/posts']), ['get', 'post'])
  assert.deepEqual(methods(paths['/api/v1/posts/{id}']), ['get', 'put', 'patch', 'delete'])
})

test('an operation that no caller can use is omitted', () => {
  const { paths } = documentOf(rich)
  assert.deepEqual(methods(paths['/api/v1/task_labels/{id}']), ['get', 'delete'])
})

test('a field that no caller can read is omitted', () => {
  const text = JSON.stringify(documentOf(rich))
  for (const hidden of ['password_hash', '"ticket"']) assert.ok(!text.includes(hidden), hidden)
  const { Contact, ContactCreate } = documentOf(rich).components.schemas
  assert.equal(Contact.properties.passphrase, undefined)
  assert.ok(ContactCreate.properties.passphrase)
})

test('each operation names its scopes, and whether it is open to anonymous callers', () => {
  const { paths } = documentOf(blog)
  const { get, post } = paths['/api/v1/posts']
  assert.deepEqual(get.security, [{}, { bearer: [] }])
  assert.deepEqual(get['x-required-scopes'], ['read:post'])
  assert.deepEqual(post.security[0], { bearer: [] })
  assert.deepEqual(post['x-required-scopes'], ['write:post'])
  assert.match(post.description, /`author_id` is the caller, or role admin/)
})

test('the security schemes are exactly those that operations name', () => {
  const { paths, components } = documentOf(rich)
  const operations = Object.values<object>(paths).flatMap(path =>
    Object.values<{ security?: object[] }>({ ...path }),
  )
  const namedSchemes = operations.flatMap(({ security = [] }) =>
    security.flatMap(requirement => Object.keys(requirement)),
  )
  assert.deepEqual([...new Set(namedSchemes)].sort(), Object.keys(components.securitySchemes).sort())
  // https://www.iana.org/assignments/http-authschemes: REST accepts either scheme in the same header.
  const schemes = Object.values<{ scheme?: string }>(components.securitySchemes).map(({ scheme }) => scheme)
  assert.deepEqual(schemes, ['bearer'])
  // Some generators send a token by every declared scheme, even in the URL.
  assert.match(components.securitySchemes.bearer.description, /`X-API-Key`.*`api_key`.*`DPoP`/)
})

test('deprecated fields and operations are marked', () => {
  const { paths, components } = documentOf(rich)
  assert.equal(paths['/api/v1/notices'].get.deprecated, true)
  assert.equal(components.schemas.Task.properties.colour.deprecated, true)
  assert.equal(paths['/api/v1/tasks'].get.deprecated, undefined)
})

test('every filter operator is a parameter', () => {
  const document = documentOf(blog)
  const filters = filtersOf(document, document.paths['/api/v1/posts'].get.parameters)
  for (const name of ['author_id', 'author_id[in]', 'title[contains]', 'created_at[gte]', 'body[null]']) {
    assert.ok(filters.has(name), name)
  }
  assert.ok(!filters.has('title[null]'), 'title is never null')
})

test('q is a parameter if the collection has a search', () => {
  const document = documentOf(rich)
  const has = (path: string) =>
    document.paths[path].get.parameters.some((parameter: object) => resolve(document, parameter).name === 'q')
  assert.ok(has('/api/v1/tasks'))
  assert.ok(!has('/api/v1/users'))
})

/** The names by which client generators call functions and types. */
function namesOf(document: ReturnType<typeof documentOf>) {
  const tags = ['tasks', 'projects', 'organizations']
  const ids = operationsOf(document)
    .filter(({ operation }) => tags.includes(operation.tags[0]))
    .map(({ operation }) => operation.operationId)
  const schemas = Object.keys(document.components.schemas).filter(name => /^(?:Task(?!L)|Project)/.test(name))
  return { ids: ids.sort(), schemas: schemas.sort() }
}

test('operations and schemas have readable names', () => {
  assert.deepEqual(namesOf(documentOf(tracker)), {
    ids: [
      ...['aggregateOrganizations', 'aggregateProjects', 'aggregateProjectsOfOrganization', 'aggregateTasks'],
      ...['aggregateTasksOfMembership', 'aggregateTasksOfProject', 'archiveProject', 'createProject'],
      ...['createTask', 'deleteOrganization', 'deleteProject', 'foundOrganization', 'getOrganization'],
      ...['getProject', 'getTask', 'listOrganizations', 'listProjects', 'listProjectsOfOrganization'],
      ...[
        'listTasks',
        'listTasksOfMembership',
        'listTasksOfProject',
        'replaceOrganization',
        'replaceProject',
      ],
      ...['replaceTask', 'reportOfOrganization', 'restoreTask', 'trashTask', 'updateOrganization'],
      ...['updateProject', 'updateTask'],
    ],
    schemas: [
      ...['Project', 'ProjectArchivedEvent', 'ProjectArchivedValues', 'ProjectCreate', 'ProjectCreatedEvent'],
      ...[
        'ProjectDeletedEvent',
        'ProjectFilter',
        'ProjectList',
        'ProjectReplace',
        'ProjectUpdate',
        'ProjectUpdatedEvent',
      ],
      ...[
        'Task',
        'TaskCreate',
        'TaskCreatedEvent',
        'TaskDeletedEvent',
        'TaskFilter',
        'TaskReplace',
        'TaskStatus',
      ],
      ...['TaskUpdate', 'TaskUpdatedEvent'],
    ],
  })
})

test('a document grows linearly with the fields of a collection', () => {
  const bytes = (declaration: Parameters<typeof checkModel>[0]) =>
    JSON.stringify(openapi(checkModel(declaration), undefined)).length
  const notes = (count: number) => {
    const fields = Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`field_${index}`, string()]),
    )
    return model({ notes: collection({ fields }) })
  }
  const field = (bytes(notes(40)) - bytes(notes(20))) / 20
  assert.ok(field < 850, `${field} bytes for a field`)
})

test('the sizes of the example documents are about those that docs/rest.md states', () => {
  const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'rest.md'), 'utf8')
  const [, ...stated] =
    /`examples\/blog` is (\d+) kB \((\d+) kB compressed\), of `examples\/tracker` (\d+) kB \((\d+) kB\)/.exec(
      page,
    ) ?? []
  const measured = [blog, tracker].flatMap(declaration => {
    const text = JSON.stringify(openapi(checkModel(declaration), 'http://localhost:3000'))
    return [text.length, gzipSync(text).length].map(bytes => Math.round(bytes / 1_000))
  })
  assert.equal(stated.length, 4)
  for (const [index, kilobytes] of measured.entries())
    assert.ok(
      Math.abs(Number(stated[index]) / kilobytes - 1) < 0.05,
      `docs/rest.md: ${measured.join(', ')} kB`,
    )
})

test('request schemas omit a field that no caller can write, and item schemas have it', () => {
  const state = string({ default: 'new', access: { write: nobody } })
  const notes = collection({ fields: { title: string(), state }, access: { create: signedIn } })
  const { schemas } = documentOf(model({ notes })).components
  for (const name of ['NoteCreate', 'NoteReplace', 'NoteUpdate'])
    assert.deepEqual(Object.keys(schemas[name].properties), ['title'], name)
  assert.ok(schemas.Note.properties.state)
})
