/** Helpers for the tests of webhooks. */
import assert from 'node:assert/strict'
import { createBySystem } from '../../../src/identity/bootstrap.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Answer } from '../../server/serve/service.ts'
import { type Fixture, inOtherProcess } from '../conformance/server.ts'

export const path = '/api/v1/webhooks'

type Values = Readonly<Record<string, JsonValue>>

export function postWebhook({ call }: Fixture, key: string, values: Values = {}): Promise<Answer> {
  const body = { url: 'https://example.com/hook', types: ['*'], ...values }
  return call(path, { method: 'POST', key, body })
}

/** Creates a webhook and returns its id. */
export async function createWebhook(fixture: Fixture, key: string, values: Values = {}): Promise<number> {
  const created = await postWebhook(fixture, key, values)
  assert.equal(created.status, 201, created.text)
  return Number(created.json.id)
}

/** Creates an API key of the same user that is limited to scopes. */
export async function narrowKey(
  { call }: Fixture,
  key: string,
  scopes: readonly string[],
  values: Values = {},
): Promise<{ readonly id: number; readonly key: string }> {
  const body = { name: 'narrow', scopes, ...values }
  const { status, text, json } = await call('/api/v1/api_keys', { method: 'POST', key, body })
  assert.equal(status, 201, text)
  return { id: Number(json.id), key: String(json.key) }
}

export function callAction({ call }: Fixture, key: string, action: string, headers?: Record<string, string>) {
  return call(`${path}/${action}`, { method: 'POST', key, headers })
}

/** Stores a delivery as the sender does, and returns its id. */
export function delivery(fixture: Fixture, webhookId: number, values: Values = {}): Promise<number> {
  const all = { webhook_id: webhookId, type: 'post.created', message_id: 'msg_1', event_id: '1', ...values }
  return inOtherProcess(fixture, run => createBySystem(run, 'webhook_deliveries', {}, all))
}
