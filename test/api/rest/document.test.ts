/** Requests check that the OpenAPI document describes what REST does. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import tracker from '../../../examples/tracker/model.ts'
import { createSchema } from '../../../src/api/graphql/schema/schema.ts'
import { openapi } from '../../../src/api/rest/openapi/document.ts'
import { referenceDocument } from '../../../src/api/rest/openapi/reference/reference.ts'
import type { Reply } from '../../../src/base/call.ts'
import { anonymous, app, type Principal, user } from '../../../src/base/principal.ts'
import {
  anyone,
  atMost,
  choice,
  collection,
  datetime,
  field,
  integer,
  json,
  model,
  nobody,
  noOverlap,
  relation,
  role,
  signedIn,
  string,
  users,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import rich from '../../models/rich.ts'
import values from '../../models/values.ts'
import {
  answerOf,
  type Document,
  filtersOf,
  type Operation,
  operationsOf,
  resolve,
} from '../conformance/generate.ts'
import { databaseKinds, openStore } from '../contract/rest/databases.ts'
import { type Harness, openHarness } from '../contract/rest/harness.ts'

const [sqlite] = databaseKinds
assert.ok(sqlite)

/** Names and rules that are hard to describe. */
const awkward = model({
  tasks: collection({
    fields: {
      title: string({ optional: true }),
      task_list_id: relation('task_lists', { inverse: 'tasks', optional: true }),
      /** No caller can read these, so no caller can follow relations to them. */
      judge_id: relation('users', { inverse: 'judged', optional: true, internal: true }),
      vault_id: relation('vaults', { inverse: 'kept', optional: true }),
    },
    access: { read: anyone, create: signedIn },
  }),
  task_lists: collection({ fields: { label: string() }, access: { read: anyone } }),
  vaults: collection({ fields: { code: string() }, access: { read: nobody, create: role('admin') } }),
  problems: collection({ fields: { cause: string() }, access: { read: anyone } }),
  errors: collection({
    fields: { place: string(), total: integer({ optional: true }) },
    access: { read: anyone },
  }),
  tasks_of_task_list: collection({ singular: 'tasks_of', fields: { size: string() } }),
})

const declared = { rich, awkward, values }

function documentOf(declaration: Parameters<typeof checkModel>[0]): Document {
  return JSON.parse(JSON.stringify(openapi(checkModel(declaration), undefined)))
}

const documents = { rich: documentOf(rich), awkward: documentOf(awkward), values: documentOf(values) }
const harnesses = new Map<string, Harness>()

before(async () => {
  for (const [name, declaration] of Object.entries(declared)) {
    const harness = await openHarness(checkModel(declaration), model => openStore(sqlite, model))
    harnesses.set(name, harness)
    await harness.seed('users', { name: 'Root', email: 'root@example.com', role: 'admin' })
  }
})

after(async () => {
  for (const harness of harnesses.values()) await harness.close()
})

function harnessOf(name: string): Harness {
  const harness = harnesses.get(name)
  assert.ok(harness)
  return harness
}

const admin = user(1, 'admin', 'all')
const urlOf = ({ path }: Operation) => path.replace(/\{[a-z_]+\}/g, '1')
const codeOf = ({ body }: Reply) => JSON.parse(String(body ?? '{}')).error?.code

function sendOperation(name: string, operation: Operation, principal: Principal): Promise<Reply> {
  return harnessOf(name).send({ method: operation.method, url: urlOf(operation) }, principal)
}

for (const [name, document] of Object.entries(documents)) {
  test(`the operations of ${name} without security are exactly those open to anonymous callers`, async () => {
    for (const operation of operationsOf(document)) {
      const open = operation.operation.security.some(
        (requirement: object) => Object.keys(requirement).length === 0,
      )
      const reply = await sendOperation(name, operation, anonymous('192.0.2.1'))
      const label = `${operation.method} ${operation.path}: ${reply.status}`
      assert.equal(codeOf(reply) !== 'UNAUTHORIZED', open, label)
    }
  })

  test(`the scopes of each operation of ${name} are necessary and sufficient`, async () => {
    for (const operation of operationsOf(document)) {
      const scopes: readonly string[] = operation.operation['x-required-scopes'] ?? []
      // A user who has just deleted their account could do nothing more.
      if (operation.method === 'DELETE') continue
      // Needs any one of its scopes, and more for named collections: see `test/api/events/service.test.ts`.
      if (operation.path === '/api/v1/events') continue
      for (const missing of [undefined, ...scopes]) {
        const scopesHeld = new Set(scopes.filter(scope => scope !== missing))
        const reply = await sendOperation(name, operation, user(1, 'admin', scopesHeld))
        const label = `${operation.method} ${operation.path} without ${missing}: ${reply.body}`
        assert.equal(codeOf(reply) === 'INSUFFICIENT_SCOPE', missing !== undefined, label)
      }
    }
  })

  test(`each operation of ${name} has its own id and schemas`, () => {
    const ids = operationsOf(document).map(({ operation }) => operation.operationId)
    assert.equal(new Set(ids).size, ids.length)
    for (const collection of checkModel(declared[name as keyof typeof declared]).collections.values()) {
      const path = document.paths[`/api/v1/${collection.name}`]
      const answer = answerOf(document, path?.get)
      if (answer === undefined) continue
      const item = resolve(document, answer.properties.data.items)
      for (const field of collection.fields.values()) {
        const isVisible = !field.internal && !field.writeOnly
        assert.equal(item.properties[field.name] !== undefined, isVisible, `${collection.name}.${field.name}`)
      }
    }
    const { ErrorResponse: error, Problem: problem } = document.components.schemas
    assert.ok(error.properties.error && problem.properties.detail)
  })
}

test('relations that no caller can follow are missing from the document and from the API', async () => {
  const { schemas } = documents.awkward.components
  assert.equal(schemas.Task.properties.judge, undefined)
  assert.equal(schemas.Task.properties.vault, undefined)
  assert.equal(schemas.User.properties.judged, undefined)
  assert.ok(schemas.Task.properties.task_list)
  const harness = harnessOf('awkward')
  for (const include of ['judge', 'vault', 'nothing']) {
    const { status, body } = await harness.send({ url: `/api/v1/tasks?include=${include}` }, admin)
    assert.equal(status, 400, include)
    assert.match(String(body), /which is not a relation of tasks/)
  }
  for (const url of ['/api/v1/users/1/judged', '/api/v1/vaults/1/kept', '/api/v1/users/1/nothing']) {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST']) {
      assert.equal((await harness.send({ method, url }, admin)).status, 404, `${method} ${url}`)
    }
  }
})

test('/me does not exist when no caller can read users', async () => {
  const hidden = model({ users: users({ access: { read: nobody } }) })
  assert.equal(documentOf(hidden).paths['/api/v1/me'], undefined)
  const harness = await openHarness(checkModel(hidden), model => openStore(sqlite, model))
  try {
    for (const method of ['GET', 'OPTIONS', 'POST'])
      assert.equal((await harness.send({ method, url: '/api/v1/me' }, admin)).status, 404, method)
  } finally {
    await harness.close()
  }
})

test('an app without a user has no account to read at /me', async () => {
  const reply = await harnessOf('rich').send({ url: '/api/v1/me' }, app('some-app', new Set(['read:user'])))
  assert.equal(codeOf(reply), 'FORBIDDEN')
})

const texts = [
  ...['', '0', '-1', '6', '1001', '1.5', '-0.5', '9007199254740991', '9007199254740993', '1e999'],
  ...['x', 'ABC', 'Ünï', 'true', 'false', 'open', 'doing', 'open,doing', '1,2', '1,x', 'a,b'],
  ...['2026-01-01', '2026-02-30', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00+02:00', '2026-01-01 00:00'],
  ...['00000000-0000-4000-8000-000000000000', '00000000', 'https://example.com/', 'javascript:alert(1)'],
  ...['a@example.com', 'A@', 'x'.repeat(300), 'two\nlines'],
]

/** Their allowed names are in the description. */
const structural: ReadonlySet<string> = new Set(['fields', 'sort', 'include', 'cursor'])

/** The parameters of a list and its filters, by name: the schema of one value, or of several separated by commas. */
function queryOf(document: Document, path: string): ReadonlyMap<string, Document> {
  const { parameters } = document.paths[path].get
  const parameterList = (parameters as readonly Document[]).map(parameter => resolve(document, parameter))
  const plain = parameterList.filter(
    parameter => parameter.in === 'query' && parameter.style === undefined && !structural.has(parameter.name),
  )
  const all = [
    ...plain.map(({ name, schema }) => [name, schema] as const),
    ...filtersOf(document, parameters),
  ]
  const schemas = new Map(all.map(([name, schema]) => [name, resolve(document, schema)]))
  return new Map(
    [...schemas].map(([name, schema]) => {
      const items = name.endsWith('[in]') ? schemas.get(name.slice(0, -'[in]'.length)) : undefined
      return [name, items ? { type: 'array', items, minItems: 1, maxItems: 100 } : schema]
    }),
  )
}

/** The JSON value that a client would send as this text. */
function jsonValueOf({ type }: { type?: unknown }, text: string): unknown {
  if ((type === 'integer' || type === 'number') && /^-?(0|[1-9][0-9]*)([.][0-9]+)?(e[0-9]+)?$/.test(text))
    return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

test('a parameter accepts exactly the values of its schema', async () => {
  const ajv = new Ajv2020({ strict: false, strictNumbers: true, validateFormats: true })
  formats.default(ajv)
  let acceptedCount = 0
  for (const path of ['/api/v1/tasks', '/api/v1/contacts', '/api/v1/users', '/api/v1/projects']) {
    for (const [name, schema] of queryOf(documents.rich, path)) {
      const validate = ajv.compile(schema)
      for (const text of texts) {
        const listed = text === '' ? [] : text.split(',')
        const { items } = schema
        const valid = validate(
          items ? listed.map(item => jsonValueOf(items, item)) : jsonValueOf(schema, text),
        )
        const url = `${path}?${encodeURIComponent(name)}=${encodeURIComponent(text)}`
        const { status, body } = await harnessOf('rich').send({ url }, admin)
        assert.equal(status, valid ? 200 : 400, `${name}=${text}: ${body}`)
        if (valid) acceptedCount += 1
      }
    }
  }
  assert.ok(acceptedCount > 500, String(acceptedCount))
})

test('optional members of a body have the documented default', () => {
  const { schemas } = documents.rich.components
  assert.equal(schemas.TaskCreate.properties.state.default, 'open')
  assert.equal(schemas.TaskReplace.properties.state.default, 'open')
  // A PATCH keeps omitted fields, and so does a PUT if some callers cannot write them.
  assert.equal(schemas.TaskUpdate.properties.state.default, undefined)
  assert.equal(schemas.ContactReplace.properties.blocked.default, undefined)
  // An item may lack a field because `fields` does not select it.
  assert.equal(schemas.Task.properties.state.default, undefined)
})

test('fields that every reader sees are required, and the document explains `fields`', () => {
  const { schemas, parameters } = documents.rich.components
  const { id, title, extra, ticket } = schemas.Task.properties
  assert.ok(id && title && extra && !ticket)
  for (const name of ['id', 'title', 'state', 'extra', 'created_at'])
    assert.ok(schemas.Task.required.includes(name), name)
  // Present only with `include`, or only for some callers.
  assert.ok(!schemas.Task.required.includes('project'))
  const visible = new Set(Object.keys(schemas.User.properties))
  for (const name of schemas.User.required) assert.ok(visible.has(name), name)
  assert.match(parameters.FieldsParam.description, /only these, whatever their schema requires/)
  assert.match(schemas.Task.description, /`fields`/)
  // A create in a collection that no caller can read returns the id.
  assert.deepEqual(Object.keys(documents.awkward.components.schemas.Vault.properties), ['id'])
})

test('a list offers only the relations and measures that its collection has', async () => {
  let included = 0
  for (const [name, { paths, components }] of Object.entries(documents)) {
    for (const [path, { get }] of Object.entries<Document>(paths)) {
      if (get === undefined || path.includes('{')) continue
      for (const { $ref = '' } of get.parameters ?? []) {
        const parameter = components.parameters[$ref.split('/').at(-1)]
        const [, relation] = /Relations: `(\w+)`/.exec(parameter?.description ?? '') ?? []
        if (parameter?.name !== 'include') continue
        const url = `${path}?include=${relation}`
        const { status, body } = await harnessOf(name).send({ url }, admin)
        assert.equal(status, 200, `${name} ${url}: ${body}`)
        included += 1
      }
    }
  }
  assert.ok(included > 5, String(included))
  const measures = (path: string) => JSON.stringify(documents.rich.paths[path].get.parameters)
  assert.doesNotMatch(measures('/api/v1/users/aggregate'), /SumParam/)
  assert.match(measures('/api/v1/webhook_deliveries/aggregate'), /SumParam/)
})

test('a field called total is a filter, and the list has no other parameter with that name', async () => {
  const { paths, components } = documents.awkward
  const parameters: readonly Document[] = paths['/api/v1/errors'].get.parameters
  assert.ok(filtersOf(documents.awkward, parameters).has('total[gte]'))
  assert.ok(!JSON.stringify(parameters).includes('/TotalParam'))
  assert.ok(JSON.stringify(paths['/api/v1/problems'].get.parameters).includes('parameters/TotalParam'))
  assert.deepEqual(components.schemas.TotalMode.enum, ['exact', 'estimate', 'none'])
  const listErrors = (query: string) => harnessOf('awkward').send({ url: `/api/v1/errors?${query}` }, admin)
  const { status, body } = await listErrors('total=3')
  assert.equal(status, 200)
  assert.equal(JSON.parse(String(body)).meta.total, 0)
  assert.equal((await listErrors('total=none')).status, 400)
  assert.equal((await listErrors('total[gt]=3&cursor=')).status, 200)
})

test('filters along relations share one parameter of their own, and list parameters keep their names', () => {
  const parameters: readonly Document[] = documents.rich.paths['/api/v1/tasks'].get.parameters
  const names = parameters.map(parameter => resolve(documents.rich, parameter).name)
  assert.equal(new Set(names).size, names.length)
  assert.ok(names.includes('filter') && names.includes('more_filters'))
  const { description, schema } = documents.rich.components.parameters.MoreFiltersParam
  assert.match(description, /`author\.name\[contains\]`.*`not\[status\]`.*`or\[1\]\[status\]`/)
  assert.equal(resolve(documents.rich, schema).additionalProperties.type, 'string')
  assert.match(documents.rich.info.description, /`author\.name\[contains\]=Ann`/)
})

test('page has no default, so that clients that send defaults can use cursor', async () => {
  const { parameters } = documents.rich.components
  const defaults = Object.values<Document>(parameters).filter(({ schema }) => schema.default !== undefined)
  assert.deepEqual(
    defaults.map(({ name }) => name),
    ['per_page'],
  )
  const sent = defaults.map(({ name, schema }) => `&${name}=${schema.default}`).join('')
  const { status, body } = await harnessOf('rich').send({ url: `/api/v1/tasks?cursor=${sent}` }, admin)
  assert.equal(status, 200, String(body))
})

test('enumerations have named schemas, in bodies, items and filters', () => {
  const { components, paths } = documents.rich
  const reference = { $ref: '#/components/schemas/TaskState' }
  assert.deepEqual(components.schemas.TaskState.enum, ['open', 'doing', 'done'])
  assert.deepEqual(components.schemas.Task.properties.state, reference)
  assert.deepEqual(components.schemas.TaskCreate.properties.state, { ...reference, default: 'open' })
  const filters = filtersOf(documents.rich, paths['/api/v1/tasks'].get.parameters)
  assert.deepEqual(filters.get('state'), reference)
  assert.deepEqual(filters.get('state[ne]'), reference)
  for (const [name, schema] of Object.entries<Document>(components.schemas)) {
    assert.equal(JSON.stringify(schema).split('"enum":').length - 1, schema.enum === undefined ? 0 : 1, name)
  }
  assert.deepEqual(components.schemas.OauthApp.properties.access_token_format.anyOf, [
    { $ref: '#/components/schemas/OauthAppAccessTokenFormat' },
    { type: 'null' },
  ])
})

/** All schemas in the document. */
function schemasOf(value: Document, schemas: Document[] = []): readonly Document[] {
  if (typeof value !== 'object' || value === null) return schemas
  if (!Array.isArray(value) && value.type !== undefined) schemas.push(value)
  for (const part of Object.values(value)) schemasOf(part, schemas)
  return schemas
}

test('the constants of enumerations have names, which are unique in the whole document', () => {
  const spelled = choice(['open', 'NOT_SET', 'toBe', 'x86-64', 'x_86_64'])
  const signs = json({ schema: { enum: ['<', '<=', 'é', 'a b', 'A-B', '', '1st'] } })
  const { schemas } = documentOf(
    model({
      limits: collection({ fields: { state: spelled, sign: signs }, access: { read: anyone } }),
      bounds: collection({ fields: { state: spelled, sign: signs }, access: { read: anyone } }),
    }),
  ).components
  const namesOf = (name: string) => schemas[name]?.['x-enum-varnames']
  const ofStates = ['Open', 'NotSet', 'ToBe', 'X8664', 'X86642']
  assert.deepEqual(
    namesOf('LimitState'),
    ofStates.map(name => `LimitState${name}`),
  )
  const ofSigns = ['U003C', 'U003CU003D', 'U00E9', 'AB', 'AB2', 'Empty', '1st']
  assert.deepEqual(
    namesOf('LimitSign'),
    ofSigns.map(name => `LimitSign${name}`),
  )
  const { OauthAppScopeSeparator: separator } = schemas
  assert.deepEqual(separator?.enum, [',', ' '])
  assert.deepEqual(namesOf('OauthAppScopeSeparator'), [
    'OauthAppScopeSeparatorComma',
    'OauthAppScopeSeparatorSpace',
  ])
  const enumerations = Object.values<Document>(schemas).filter(schema => schema.enum !== undefined)
  const all: readonly string[] = enumerations.flatMap(schema => schema['x-enum-varnames'])
  for (const name of all) assert.match(name, /^[A-Z][A-Za-z0-9]*$/)
  assert.equal(new Set([...all, ...Object.keys(schemas)]).size, all.length + Object.keys(schemas).length)
})

test('only the document of the pages describes the requests that webhooks receive', () => {
  assert.equal(documents.rich.webhooks, undefined)
  const reference: Document = referenceDocument(checkModel(rich), undefined, 'https://example.com')
  assert.equal(reference.webhooks.event.post.operationId, 'receiveEvent')
})

test('every integer has a range, every array has items, and no schema has several types', () => {
  const all = schemasOf(documents.rich)
  assert.ok(all.length > 500)
  for (const schema of all.filter(({ type }) => typeof type === 'string' || Array.isArray(type))) {
    const types = [schema.type].flat().filter(type => type !== 'null')
    const label = JSON.stringify(schema)
    assert.ok(types.length <= 1, label)
    if (types[0] === 'integer') assert.match(schema.format, /^int(32|64)$/, label)
    if (types[0] === 'integer') assert.equal(schema.format === 'int64', schema.maximum >= 2 ** 31, label)
    if (types[0] === 'number') assert.equal(schema.format, 'double', label)
    if (types[0] === 'array') assert.ok(schema.items, label)
  }
})

test('the service accepts exactly the URLs and addresses that other validators accept by the schema', async () => {
  const ajv = new Ajv2020({ strict: false })
  formats.default(ajv)
  const { mail, link } = documents.values.components.schemas.ThingCreate.properties
  const cases = {
    link: [
      ...[
        'http://e.com',
        'https://e.com:1/x?y#z',
        'http:///x',
        'https://a:/',
        'http://%41/',
        'http://1.2.3/',
      ],
      ...[
        'http://127.0.0.1/',
        'http://256.0.0.1/',
        'ftp://e.com',
        'http://e.com/[',
        'http://e.com:65536/',
        'http://a b/',
      ],
      ...[
        'http://[::1]/',
        'http://',
        'http://e.com/#a#b',
        'http://e.com./',
        'http://e..com/',
        'HTTP://e.com/',
        '//e.com',
      ],
    ],
    mail: [
      ...[
        'a@b.co',
        'A.B+c@d-e.example',
        'a@localhost',
        '"a b"@e.com',
        'a@[127.0.0.1]',
        'a..b@e.com',
        '.a@e.com',
      ],
      ...['a@e.com.', 'a@-e.com', 'a b@e.com', 'a@e.com\n', 'ä@e.com', `${'a'.repeat(65)}@e.com`, '', 'a@'],
    ],
  }
  for (const [name, schema] of Object.entries({ link, mail })) {
    for (const [index, text] of cases[name as keyof typeof cases].entries()) {
      const body = { name: `${name} of others ${index}`, [name]: text }
      const reply = await harnessOf('values').send({ method: 'POST', url: '/api/v1/things', body }, admin)
      assert.equal(reply.status === 201, ajv.validate(schema, text), `${text}: ${reply.body}`)
    }
  }
})

/** By field, JSON values that a body may or may not contain. */
const candidates: readonly unknown[] = [
  null,
  true,
  1,
  1.5,
  'low',
  'x',
  [],
  ['x'],
  [1],
  {},
  { width: 1 },
  { x: null },
]

test('a body accepts exactly what its schema allows, merged objects included', async () => {
  const ajv = new Ajv2020({ strict: false })
  formats.default(ajv)
  ajv.addSchema({ ...documents.values, $id: 'document:' }, 'document:')
  const harness = harnessOf('values')
  const names = ['payload', 'anything', 'tags', 'list', 'shape', 'either', 'level', 'state', 'mood', 'body']
  let acceptedCount = 0
  for (const [index, value] of candidates.entries()) {
    for (const name of names) {
      const requests = [
        {
          method: 'POST',
          url: '/api/v1/things',
          body: { name: `${name} ${index}`, [name]: value },
          kind: 'Create',
        },
        { method: 'PATCH', url: '/api/v1/things/1', body: { [name]: value }, kind: 'Update' },
      ]
      if (index + names.indexOf(name) === 0)
        await harness.send({ method: 'POST', url: '/api/v1/things', body: { name: 'first' } }, admin)
      for (const { kind, ...request } of requests) {
        const valid = ajv.validate({ $ref: `document:#/components/schemas/Thing${kind}` }, request.body)
        const { status, body } = await harness.send(request, admin)
        // A merge is validated as a whole: an object without `width` may have one already.
        const mayLack = kind === 'Update' && /shape must have `width`/.test(String(body))
        if (!mayLack) assert.equal(status < 300, valid, `${JSON.stringify(request)}: ${status} ${body}`)
        if (valid) acceptedCount += 1
      }
    }
  }
  assert.ok(acceptedCount > 80, String(acceptedCount))
})

test('an object is refused for a field that cannot hold one, and the document does not offer it', async () => {
  for (const name of ['redirect_uris', 'scopes', 'default_scopes', 'scope_separator']) {
    const text = JSON.stringify(documents.rich.components.schemas.OauthAppUpdate.properties[name])
    assert.ok(!text.includes('"object"'), text)
  }
  const request = { method: 'PATCH', url: '/api/v1/things/1', body: { tags: { 0: 'x' } } }
  const { body } = await harnessOf('values').send(request, admin)
  assert.match(String(body), /tags must be an array/)
})

test('every example matches its schema', () => {
  const ajv = new Ajv2020({ strict: false })
  formats.default(ajv)
  ajv.addSchema({ ...documents.rich, $id: 'document:' }, 'document:')
  let count = 0
  const visit = (value: Document): void => {
    if (typeof value !== 'object' || value === null) return
    if (value.example !== undefined && value.schema !== undefined) {
      const schema = value.schema.$ref ? { $ref: `document:${value.schema.$ref}` } : value.schema
      assert.ok(ajv.validate(schema, value.example), JSON.stringify(value))
      count += 1
    }
    for (const part of Object.values(value)) visit(part)
  }
  visit(documents.rich)
  assert.ok(count > 10, String(count))
})

test('a value revealed once is in the schema of that response only', async () => {
  const bodies = {
    api_keys: { name: 'x' },
    oauth_apps: { name: 'x', redirect_uris: ['https://example.com/'] },
    oauth_app_secrets: { app_id: 1 },
  }
  for (const [name, body] of Object.entries(bodies)) {
    const path = documents.rich.paths[`/api/v1/${name}`]
    const parts: readonly Document[] = answerOf(documents.rich, path.post).allOf
    const properties = parts.flatMap(part => Object.keys(resolve(documents.rich, part).properties))
    const reply = await harnessOf('rich').send({ method: 'POST', url: `/api/v1/${name}`, body }, admin)
    assert.equal(reply.status, 201, String(reply.body))
    for (const key of Object.keys(JSON.parse(String(reply.body)))) assert.ok(properties.includes(key), key)
    const secret = name === 'api_keys' ? 'key' : 'client_secret'
    assert.ok(String(reply.body).includes(`"${secret}"`))
    const item = resolve(documents.rich, answerOf(documents.rich, path.get).properties.data.items)
    assert.equal(item.properties[secret], undefined)
  }
})

test('a write that could set nothing is neither documented nor offered', async () => {
  const links = model({
    tags: collection({ fields: { name: string() } }),
    links: collection({
      fields: {
        tag_id: relation('tags', { immutable: true, inverse: 'links' }),
        origin: string({ readOnly: true, optional: true }),
      },
      access: { read: anyone, create: signedIn, update: signedIn, delete: signedIn },
    }),
  })
  const { paths } = documentOf(links)
  assert.deepEqual(Object.keys(paths['/api/v1/links/{id}']), ['parameters', 'get', 'delete'])
  const harness = await openHarness(checkModel(links), checked => openStore(sqlite, checked))
  try {
    await harness.seed('users', { name: 'Root', email: 'root@example.com', role: 'admin' })
    for (const method of ['PATCH', 'PUT']) {
      const refused = await harness.send({ method, url: '/api/v1/links/1', body: {} }, admin)
      assert.equal(refused.status, 405)
      assert.equal(refused.headers[refused.headers.indexOf('Allow') + 1], 'GET, HEAD, DELETE, OPTIONS')
    }
  } finally {
    await harness.close()
  }
  const tracked = documentOf(tracker)
  const merges = Object.entries(tracked.components.schemas).filter(([name]) => name.endsWith('Update'))
  assert.ok(merges.length >= 5, `${merges.length} schemas`)
  for (const [name, { properties }] of merges as [string, Document][])
    assert.notEqual(Object.keys(properties ?? {}).length, 0, name)
})

test('the operations that create and change items say what the limits of their collection refuse', () => {
  const checked = checkModel(
    model({
      rooms: collection({ fields: { seats: integer() }, access: { read: anyone } }),
      bookings: collection({
        fields: {
          room_id: relation('rooms', { inverse: 'bookings' }),
          state: choice(['open', 'done']),
          starts_at: datetime(),
          ends_at: datetime({ optional: true }),
        },
        limits: [
          atMost(100, { where: field('state').ne('done') }),
          atMost(field('room.seats'), { per: 'room_id' }),
          noOverlap('starts_at', 'ends_at', { per: 'room_id' }),
        ],
        access: { read: anyone, create: anyone, update: anyone, delete: anyone },
      }),
    }),
  )
  const sentence =
    'Refused with 409: more items than 100, where `state` is not "done"; more items than `room.seats` with the same `room_id`; overlaps of `starts_at` to `ends_at` with the same `room_id`.'
  const { paths } = openapi(checked, 'https://api.example.com') as Document
  const describedBy = (path: string, method: string) =>
    String(Object(paths[path])[method].description).includes(sentence)
  for (const [path, method, isLimited] of [
    ['/api/v1/bookings', 'post', true],
    ['/api/v1/bookings/{id}', 'put', true],
    ['/api/v1/bookings/{id}', 'patch', true],
    ['/api/v1/bookings/{id}', 'delete', false],
    ['/api/v1/bookings', 'get', false],
  ] as const)
    assert.equal(describedBy(path, method), isLimited, `${method} ${path}`)
  const mutation = createSchema(checked, 100).schema.getMutationType()?.getFields()
  assert.equal(mutation?.createBooking?.description, sentence)
  assert.ok(mutation?.updateBooking?.description?.endsWith(` ${sentence}`))
  assert.equal(mutation?.deleteBooking?.description?.includes(sentence), false)
})
