/** Sends the requests of every operation with a credential, and compares the responses with the reference. */
import assert from 'node:assert/strict'
import { catalogue, type ErrorCode } from '../../../src/base/errors.ts'
import type { Principal } from '../../../src/base/principal.ts'
import type { Plan, ReadShape, WriteShape } from '../../../src/engine/plan/plan.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import { sampled } from '../../cases.ts'
import {
  type Data,
  maySee,
  Evaluation as Reference,
  readReference,
  writeReference,
} from '../../engine/plan/reference.ts'
import { type Context, equalData, model } from './context.ts'
import type { Credential } from './credentials.ts'
import { operations, type PlannedRequest, requestsOf } from './operations.ts'

export interface SentRequest {
  readonly status: number
  readonly text: string
  readonly json: { readonly [name: string]: JsonValue }
}

export type Send = (
  request: { method: string; path: string; body: unknown },
  headers: Credential['headers'],
) => Promise<SentRequest>

/** The number of requests with each outcome: the matrix is useful only if each occurs. */
export class Tally {
  readonly counts = new Map<string, number>()

  add(outcome: string): void {
    this.counts.set(outcome, (this.counts.get(outcome) ?? 0) + 1)
  }
}

function assertRefused(expected: ReadonlySet<ErrorCode>, sent: SentRequest, details: string): void {
  const { code } = (sent.json.error ?? {}) as { code?: ErrorCode }
  assert.ok(code !== undefined && expected.has(code), `${details}: expected ${[...expected]}`)
  assert.equal(sent.status, catalogue[code].status, details)
}

function checkRead(
  request: PlannedRequest,
  data: Data,
  who: Principal,
  sent: SentRequest,
  details: string,
): string {
  if (request.path === '/api/v1/me' && who.userId === null) {
    assert.ok(sent.status === 401 || sent.status === 403, details)
    return 'refused'
  }
  const expected = readReference(model, data, who, request.plan as Plan<ReadShape>)
  if ('errors' in expected) {
    assertRefused(expected.errors, sent, details)
    return 'refused'
  }
  const none = 'item' in expected ? expected.item === null : expected.list === null
  if (none) {
    assertRefused(new Set(['NOT_FOUND']), sent, details)
    return 'not found'
  }
  assert.equal(sent.status, 200, details)
  if ('item' in expected) assert.deepEqual(sent.json, expected.item, details)
  else {
    assert.deepEqual(sent.json.data, expected.list, details)
    assert.equal((sent.json.meta as { total?: number }).total, expected.total, details)
  }
  return 'read'
}

/** The response to a write contains only what its caller may see of the row. */
function assertShown(
  { collection }: PlannedRequest,
  data: Data,
  who: Principal,
  sent: SentRequest,
  id: number,
  details: string,
): void {
  const row = data[collection.name]?.find(other => other.id === id)
  assert.ok(row, details)
  const context = new Reference(model, data, who, [])
  context.mustRead(collection)
  const visible = context.errors.size === 0 && context.visible(collection).includes(row)
  for (const [name, value] of Object.entries(sent.json)) {
    if (name === 'id') continue
    assert.ok(visible && context.exists(collection, name), `${details}: shows ${name}`)
    assert.deepEqual(
      value,
      maySee(model, data, who, collection, row, name) ? row[name] : null,
      `${details}: ${name}`,
    )
  }
}

/** Reverts a write. */
export async function undo(
  context: Context,
  request: PlannedRequest,
  before: Data,
  id: number,
): Promise<void> {
  const { kind } = request.plan.shape
  const old = before[request.collection.name]?.find(row => row.id === id)
  if (kind === 'create') return context.remove(request.collection.name, id)
  assert.ok(old)
  const { id: _, ...values } = old
  if (kind === 'update') return context.update(request.collection.name, id, values)
  await context.insert(request.collection.name, values)
}

/** The service that a check sends its requests to, and the count of the outcomes. */
export interface MatrixRun {
  readonly context: Context
  readonly send: Send
  readonly tally: Tally
}

/** Collections whose deletion may cascade: an allowed deletion of their rows is not sent. */
export const parents = new Set(['users', 'projects', 'tasks', 'labels', 'oauth_apps'])

async function checkWrite(
  run: MatrixRun,
  request: PlannedRequest,
  data: Data,
  credential: Credential,
): Promise<void> {
  const { context, send, tally } = run
  const plan = request.plan as Plan<WriteShape>
  const expected = writeReference(model, data, credential.who, plan)
  const allowed = !('errors' in expected)
  if (allowed && plan.shape.kind === 'delete' && parents.has(request.collection.name)) return
  const sent = await send(request, credential.headers)
  const details = `${credential.name}: ${request.description} → ${sent.status} ${sent.text}`
  const after = await context.snapshot()
  if (!allowed) {
    if (request.opaque) assert.ok(sent.status >= 400 && sent.status < 500, details)
    else assertRefused(expected.errors, sent, details)
    assert.ok(after === data || equalData(after, data), `${details}: something has changed`)
    tally.add('write refused')
    return
  }
  if (request.opaque && sent.status >= 400) {
    // Beyond the rules, a key may not have more scopes than its creator.
    assert.ok([400, 403].includes(sent.status) && equalData(after, data), details)
    tally.add('hook refused')
    return
  }
  assert.equal(sent.status, { create: 201, update: 200, delete: 204 }[plan.shape.kind], details)
  const id = plan.shape.kind === 'create' ? Number(sent.json.id) : expected.id
  if (!request.opaque) assertAsExpected(expected.data, after, request, expected.id, id, details)
  if (plan.shape.kind !== 'delete') {
    const { key: _key, client_secret: _secret, secret: _other, ...shown } = sent.json
    assertShown(request, after, credential.who, { ...sent, json: shown }, id, details)
  }
  await undo(context, request, data, id)
  tally.add('written')
}

/** The database chooses the id of a new row. */
function assertAsExpected(
  expected: Data,
  after: Data,
  { collection }: PlannedRequest,
  expectedId: number,
  id: number,
  details: string,
) {
  const renamed = (expected[collection.name] ?? []).map(row => (row.id === expectedId ? { ...row, id } : row))
  assert.ok(
    equalData({ ...expected, [collection.name]: renamed }, after),
    `${details}: not what the rules say`,
  )
}

/** A list as NDJSON has the rows that the rules allow, and no others. */
async function checkExport(
  { send, tally }: MatrixRun,
  request: PlannedRequest,
  data: Data,
  { who, headers, name }: Credential,
): Promise<void> {
  const path = request.path.replace(/\?per_page=\d+$/, '')
  const sent = await send({ ...request, path }, { ...headers, Accept: 'application/x-ndjson' })
  const details = `${name}: the export of ${path} → ${sent.status} ${sent.text}`
  const expected = readReference(model, data, who, request.plan as Plan<ReadShape>)
  if ('errors' in expected) return assertRefused(expected.errors, sent, details)
  if ('item' in expected || expected.list === null)
    return assertRefused(new Set(['NOT_FOUND']), sent, details)
  assert.equal(sent.status, 200, details)
  const lines = sent.text.split('\n').filter(line => line !== '')
  assert.deepEqual(
    lines.map(line => JSON.parse(line)),
    expected.list,
    details,
  )
  tally.add('exported')
}

/** Checks every operation, on rows of a sample. */
export async function checkRest(run: MatrixRun, credential: Credential): Promise<void> {
  for (const operation of operations()) {
    const data = await run.context.snapshot()
    for (const request of sampled(requestsOf(operation, data, credential.who))) {
      if (request.method !== 'GET') {
        await checkWrite(run, request, await run.context.snapshot(), credential)
        continue
      }
      const sent = await run.send(request, credential.headers)
      run.tally.add(
        checkRead(
          request,
          data,
          credential.who,
          sent,
          `${credential.name}: ${request.description} → ${sent.status} ${sent.text}`,
        ),
      )
      if (request.plan.shape.kind === 'list') await checkExport(run, request, data, credential)
    }
  }
}
