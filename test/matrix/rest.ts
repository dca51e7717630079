/** Sends the requests of every operation with a credential, and holds the answers to the reference. */
import assert from 'node:assert/strict'
import { catalogue, type ErrorCode } from '../../src/errors.ts'
import type { JsonValue } from '../../src/model/fields/type.ts'
import type { Plan, ReadShape, WriteShape } from '../../src/plan/plan.ts'
import type { Principal } from '../../src/principal.ts'
import {
  type Data,
  maySee,
  Evaluation as Reference,
  readReference,
  writeReference,
} from '../plan/reference.ts'
import { type Context, model, same } from './context.ts'
import type { Credential } from './credentials.ts'
import { type Asked, operations, requestsOf } from './operations.ts'

export interface Sent {
  readonly status: number
  readonly text: string
  readonly json: { readonly [name: string]: JsonValue }
}

export type Send = (
  asked: { method: string; path: string; body: unknown },
  headers: Credential['headers'],
) => Promise<Sent>

/** How often each outcome was met: a matrix of one colour shows little. */
export class Tally {
  readonly counts = new Map<string, number>()

  add(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }
}

function assertRefused(expected: ReadonlySet<ErrorCode>, sent: Sent, told: string): void {
  const { code } = (sent.json.error ?? {}) as { code?: ErrorCode }
  assert.ok(code !== undefined && expected.has(code), `${told}: expected ${[...expected]}`)
  assert.equal(sent.status, catalogue[code].status, told)
}

function checkRead(asked: Asked, data: Data, who: Principal, sent: Sent, told: string): string {
  if (asked.path === '/api/v1/me' && who.userId === null) {
    assert.ok(sent.status === 401 || sent.status === 403, told)
    return 'refused'
  }
  const expected = readReference(model, data, who, asked.plan as Plan<ReadShape>)
  if ('errors' in expected) {
    assertRefused(expected.errors, sent, told)
    return 'refused'
  }
  const none = 'item' in expected ? expected.item === null : expected.list === null
  if (none) {
    assertRefused(new Set(['NOT_FOUND']), sent, told)
    return 'not found'
  }
  assert.equal(sent.status, 200, told)
  if ('item' in expected) assert.deepEqual(sent.json, expected.item, told)
  else {
    assert.deepEqual(sent.json.data, expected.list, told)
    assert.equal((sent.json.meta as { total?: number }).total, expected.total, told)
  }
  return 'read'
}

/** The answer to a write tells of the row only what its caller may see. */
function assertShown({ of }: Asked, data: Data, who: Principal, sent: Sent, id: number, told: string): void {
  const row = data[of.name]?.find(each => each.id === id)
  assert.ok(row, told)
  const context = new Reference(model, data, who, [])
  context.mustRead(of)
  const visible = context.errors.size === 0 && context.visible(of).includes(row)
  for (const [name, value] of Object.entries(sent.json)) {
    if (name === 'id') continue
    assert.ok(visible && context.exists(of, name), `${told}: shows ${name}`)
    assert.deepEqual(value, maySee(model, data, who, of, row, name) ? row[name] : null, `${told}: ${name}`)
  }
}

/** Puts back what a write has changed. */
export async function undo(context: Context, asked: Asked, before: Data, id: number): Promise<void> {
  const { kind } = asked.plan.shape
  const old = before[asked.of.name]?.find(row => row.id === id)
  if (kind === 'create') return context.remove(asked.of.name, id)
  assert.ok(old)
  const { id: _, ...values } = old
  if (kind === 'update') return context.update(asked.of.name, id, values)
  await context.insert(asked.of.name, values)
}

interface Bench {
  readonly context: Context
  readonly send: Send
  readonly tally: Tally
}

/** The collections whose rows a deletion may take along: their parents are not deleted in earnest. */
export const parents = new Set(['users', 'projects', 'tasks', 'labels', 'oauth_apps'])

async function checkWrite(bench: Bench, asked: Asked, data: Data, by: Credential): Promise<void> {
  const { context, send, tally } = bench
  const plan = asked.plan as Plan<WriteShape>
  const expected = writeReference(model, data, by.who, plan)
  const allowed = !('errors' in expected)
  if (allowed && plan.shape.kind === 'delete' && parents.has(asked.of.name)) return
  const sent = await send(asked, by.headers)
  const told = `${by.what}: ${asked.what} → ${sent.status} ${sent.text}`
  const after = await context.snapshot()
  if (!allowed) {
    if (asked.opaque) assert.ok(sent.status >= 400 && sent.status < 500, told)
    else assertRefused(expected.errors, sent, told)
    assert.ok(after === data || same(after, data), `${told}: something has changed`)
    tally.add('write refused')
    return
  }
  if (asked.opaque && sent.status >= 400) {
    // Beyond the rules, a key may not have more scopes than what makes it.
    assert.ok([400, 403].includes(sent.status) && same(after, data), told)
    tally.add('hook refused')
    return
  }
  assert.equal(sent.status, { create: 201, update: 200, delete: 204 }[plan.shape.kind], told)
  const id = plan.shape.kind === 'create' ? Number(sent.json.id) : expected.id
  if (!asked.opaque) assertAsExpected(expected.data, after, asked, expected.id, id, told)
  if (plan.shape.kind !== 'delete') {
    const { key: _key, client_secret: _secret, secret: _other, ...shown } = sent.json
    assertShown(asked, after, by.who, { ...sent, json: shown }, id, told)
  }
  await undo(context, asked, data, id)
  tally.add('written')
}

/** The id of a new row is the database's to choose. */
function assertAsExpected(
  expected: Data,
  after: Data,
  { of }: Asked,
  expectedId: number,
  id: number,
  told: string,
) {
  const renamed = (expected[of.name] ?? []).map(row => (row.id === expectedId ? { ...row, id } : row))
  assert.ok(same({ ...expected, [of.name]: renamed }, after), `${told}: not what the rules say`)
}

/** Every operation at every row. */
export async function checkRest(bench: Bench, by: Credential): Promise<void> {
  for (const operation of operations()) {
    const data = await bench.context.snapshot()
    for (const asked of requestsOf(operation, data, by.who)) {
      if (asked.method !== 'GET') {
        await checkWrite(bench, asked, await bench.context.snapshot(), by)
        continue
      }
      const sent = await bench.send(asked, by.headers)
      bench.tally.add(
        checkRead(asked, data, by.who, sent, `${by.what}: ${asked.what} → ${sent.status} ${sent.text}`),
      )
    }
  }
}
