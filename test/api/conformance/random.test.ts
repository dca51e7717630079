/** Several thousand random requests: no 5xx, only documented responses, and no change by a refused request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { openapi } from '../../../src/api/rest/openapi/document.ts'
import type { Reply } from '../../../src/base/call.ts'
import { anonymous, user } from '../../../src/base/principal.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { Declaration } from '../../../src/model/declaration.ts'
import type { Model } from '../../../src/model/model.ts'
import { caseCount, isWhole, seed as randomSeed, seeded } from '../../cases.ts'
import blog from '../../models/blog.ts'
import rich from '../../models/rich.ts'
import { databaseKinds, openStore, sqlite } from '../contract/rest/databases.ts'
import { type Harness, type OpenHarness, openHarness, type Request } from '../contract/rest/harness.ts'
import { openHttpHarness } from '../contract/rest/http-harness.ts'
import { type Document, Generator, type Operation, operationsOf, resolve } from './generate.ts'

interface Transport {
  readonly where: string
  readonly open: OpenHarness
  readonly requests: number
  readonly hasSecrets: boolean
}

const transports: readonly Transport[] = [
  ...databaseKinds.map(kind => ({
    where: `REST without HTTP on ${kind.name}`,
    open: (model: Model) => openHarness(model, model => openStore(kind, model)),
    requests: kind === sqlite ? caseCount(3000, 1800) : caseCount(2000, 1200),
    hasSecrets: false,
  })),
  // The headers that HTTP adds do not depend on the database.
  ...databaseKinds
    .filter(kind => kind === sqlite || isWhole)
    .map(kind => ({
      where: `HTTP on ${kind.name}`,
      open: (model: Model) => openHttpHarness(model, kind),
      requests: caseCount(3000, 1800),
      hasSecrets: true,
    })),
]
const principals = [
  anonymous('192.0.2.1'),
  user(1, 'admin', 'all'),
  user(1, 'admin', 'all'),
  user(2, 'user', 'all'),
  user(3, 'accountant', 'all'),
  user(2, 'user', new Set(['read:post', 'write:task', 'read:project', '*'])),
  user(3, 'user', new Set(['read:user'])),
]

function createAjv(document: Document): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, validateFormats: true })
  formats.default(ajv)
  return ajv.addSchema({ ...document, $id: 'document:' }, 'document:')
}

/** Makes properties optional that the document describes as missing with `fields` or without read access. */
function withoutRequired(document: Document): Document {
  const copy = structuredClone(document)
  for (const schema of Object.values<Document>(copy.components.schemas)) {
    for (const part of [schema, ...(schema.allOf ?? [])]) {
      if (String(part.description).startsWith('With `fields`')) delete part.required
    }
  }
  return copy
}

/** Secrets are added to responses by the server, not by REST. */
function withoutSecrets(document: Document): Document {
  const copy = structuredClone(document)
  for (const schema of Object.values<Document>(copy.components.schemas)) {
    for (const part of schema.allOf ?? []) delete part.required
  }
  return copy
}

/** Compiles the schema that a reference names. */
function createChecker(document: Document) {
  const ajv = createAjv(document)
  const validators = new Map<string, ValidateFunction>()
  return (reference: string): ValidateFunction => {
    const validator = validators.get(reference) ?? ajv.compile({ $ref: `document:${reference}` })
    validators.set(reference, validator)
    return validator
  }
}

function schemaReference(document: Document, { operation }: Operation, status: number): string | undefined {
  const response = resolve(document, operation.responses[status])
  return response?.content?.['application/json']?.schema?.$ref
}

/** The response of this status. The default response lists its statuses. */
function responseOf(document: Document, { operation }: Operation, status: number): Document {
  const other = resolve(document, operation.responses.default)
  const response = operation.responses[status] ?? (other['x-statuses'].includes(status) ? other : undefined)
  return resolve(document, response)
}

function contentType({ headers }: Reply): string | undefined {
  return headers[headers.indexOf('Content-Type') + 1]
}

type Fill = (harness: Harness) => Promise<void>

async function seed(harness: Harness): Promise<void> {
  for (const [name, role] of [
    ['Root', 'admin'],
    ['Ann', 'user'],
    ['Ben', 'accountant'],
  ] as const) {
    await harness.seed('users', { name, email: `${name.toLowerCase()}@example.org`, role })
  }
}

async function seedRich(harness: Harness): Promise<void> {
  await seed(harness)
  for (const n of [1, 2, 3]) {
    await harness.seed('projects', {
      name: `P${n}`,
      slug: `p-${n}`,
      owner_id: n,
      visibility: n === 1 ? 'open' : 'members',
      budget: 10,
    })
    await harness.seed('memberships', { project_id: n, user_id: (n % 3) + 1 })
    await harness.seed('labels', { name: `L${n}` })
    for (const m of [1, 2, 3])
      await harness.seed('tasks', { title: `T${n}${m}`, project_id: n, assignee_id: m })
    await harness.seed('task_labels', { task_id: n, label_id: n })
    await harness.seed('contacts', { owner_id: n, email: `c${n}@example.org`, passphrase: 'correct horse' })
    await harness.seed('notices', {
      title: `N${n}`,
      published_at: n === 3 ? null : '2026-01-01T00:00:00.000Z',
    })
  }
}

async function seedBlog(harness: Harness): Promise<void> {
  await seed(harness)
  for (let n = 1; n <= 12; n += 1) await harness.seed('posts', { title: `T${n}`, author_id: (n % 3) + 1 })
}

function show(request: Request, reply: Reply): string {
  return `${JSON.stringify(request)} → ${reply.status} ${reply.body}`
}

interface Run {
  readonly harness: Harness
  readonly document: Document
  readonly check: (reference: string) => ValidateFunction
  readonly checkPart: (reference: string) => ValidateFunction
  readonly statuses: Map<number, number>
}

/** Whether the request is one for the operation: the generator changes some methods and paths. */
function isForOperation({ method, path }: Operation, request: Request): boolean {
  const [requestPath = ''] = request.url.split('?')
  return request.method === method && new RegExp(`^${path.replace('{id}', '[^/]+')}$`).test(requestPath)
}

/** The status and the headers; the harness removes those that only the transport adds. */
function assertAnswerDocumented(run: Run, operation: Operation, reply: Reply, details: string): void {
  const documented = responseOf(run.document, operation, reply.status)
  assert.ok(documented, `not documented: ${details}`)
  const { headers = {} } = documented
  const common = Object.keys(run.document['x-common-headers'])
  const names = new Set([...common, ...Object.keys(headers), 'Content-Type'])
  for (const name of reply.headers.filter((_, index) => index % 2 === 0)) {
    assert.ok(names.has(name), `${name} is not documented: ${details}`)
  }
}

function assertDocumented(run: Run, operation: Operation, request: Request, reply: Reply): void {
  const details = show(request, reply)
  assert.ok(reply.status < 500, details)
  if (isForOperation(operation, request)) assertAnswerDocumented(run, operation, reply, details)
  if (reply.status >= 400) {
    assert.equal(contentType(reply), 'application/json', details)
    if (request.method === 'HEAD' && reply.body === null) return
    assert.ok(run.check('#/components/schemas/ErrorResponse')(JSON.parse(String(reply.body))), details)
    return
  }
  if (request.method !== operation.method) return
  const reference = schemaReference(run.document, operation, reply.status)
  if (reference === undefined) return
  const isPart = request.url.includes('fields=') || /^\{"id":\d+\}$/.test(String(reply.body))
  const validate = isPart ? run.checkPart(reference) : run.check(reference)
  assert.ok(validate(JSON.parse(String(reply.body))), `${details} ${JSON.stringify(validate.errors)}`)
}

async function assertUnchanged(
  run: Run,
  before: ReadonlyMap<string, string>,
  details: string,
): Promise<void> {
  assert.deepEqual(await run.harness.dump(), before, `refused, but something is stored: ${details}`)
}

async function runRequests(run: Run, generator: Generator, requests: number): Promise<void> {
  const operations = operationsOf(run.document)
  let before = await run.harness.dump()
  for (let n = 0; n < requests; n += 1) {
    let operation = generator.pick(operations)
    // Deletes are rarer than reads, so that rows remain.
    if (operation.method === 'DELETE' && generator.chance(0.8)) operation = generator.pick(operations)
    const request = generator.request(operation)
    const reply = await run.harness.send(request, generator.pick(principals))
    run.statuses.set(reply.status, (run.statuses.get(reply.status) ?? 0) + 1)
    assertDocumented(run, operation, request, reply)
    const written = reply.status < 300 && request.method !== 'GET'
    if (written) before = await run.harness.dump()
    else if (request.method !== 'GET' || n % 50 === 0)
      await assertUnchanged(run, before, show(request, reply))
  }
}

async function sendRandomRequests(
  declaration: Declaration,
  fill: Fill,
  { open, requests, hasSecrets }: Transport,
) {
  const model = checkModel(declaration)
  const wholeDocument = JSON.parse(JSON.stringify(openapi(model, undefined)))
  const document = hasSecrets ? wholeDocument : withoutSecrets(wholeDocument)
  const harness = await open(model)
  const statuses = new Map<number, number>()
  try {
    await fill(harness)
    const check = createChecker(document)
    const run = {
      harness: harness,
      document,
      check,
      checkPart: createChecker(withoutRequired(document)),
      statuses,
    }
    await runRequests(run, new Generator(document, seeded(randomSeed + requests)), requests)
  } finally {
    await harness.close()
  }
  return statuses
}

for (const [name, declaration, fill] of [
  ['blog', blog, seedBlog],
  ['rich', rich, seedRich],
] as const) {
  for (const transport of transports) {
    const { where, requests } = transport
    test(`${requests} random requests to ${name} by ${where} get documented responses, seed ${randomSeed}`, async t => {
      const statuses = await sendRandomRequests(declaration, fill, transport)
      t.diagnostic(JSON.stringify([...statuses].sort()))
      // The requests are useful only if many succeed and many are refused.
      for (const status of [200, 201, 204, 400, 403, 404])
        assert.ok((statuses.get(status) ?? 0) > caseCount(5, 1), `${status}`)
    })
  }
}
