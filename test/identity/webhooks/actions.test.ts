/** The actions of webhooks over HTTP, and how webhooks pause when their credential ends. */

import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { removeKey } from '../../../src/identity/keys/user-keys.ts'
import { WebhookSecrets } from '../../../src/identity/webhooks/secrets.ts'
import { chosen } from '../../chosen.ts'
import blog from '../../models/blog.ts'
import { postgresRowSecurity } from '../../setups/postgres.ts'
import { setups } from '../../setups/setups.ts'
import {
  clientCredentials,
  type Fixture,
  inOtherProcess,
  newTokens,
  post,
  withFixture,
} from '../conformance/server.ts'
import { callAction, createWebhook, delivery, narrowKey, path, postWebhook } from './webhooks.ts'

const settings = { autoMigrate: true, quotas: { keys: 1000 }, webhooks: { allowPrivate: true } }

async function stateOf({ call, ann }: Fixture, id: number) {
  const { status, json } = await call(`${path}/${id}`, { key: ann.key })
  assert.equal(status, 200)
  return { enabled: json.enabled, paused: json.paused_at !== null, reason: json.pause_reason }
}

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Runs `use` with the URL of an endpoint and the requests it has received. */
async function withReceiver(use: (url: string, received: readonly Received[]) => Promise<void>) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    received.push({ headers: request.headers, body: await text(request) })
    response.writeHead(200).end('thanks')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received)
  } finally {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
}

function verify(secret: unknown, { headers, body }: Received): Readonly<Record<string, unknown>> {
  return new Webhook(String(secret)).verify(body, headers as Record<string, string>) as Record<
    string,
    unknown
  >
}

function isSignedWith(secret: unknown, request: Received): boolean {
  try {
    verify(secret, request)
    return true
  } catch {
    return false
  }
}

const sending = { enabled: true, paused: false, reason: null }
const ended = /The credential that created this webhook has ended/

const cases: readonly [name: string, run: (fixture: Fixture) => Promise<void>][] = [
  [
    'a rotation shows the new secret once, and a retry with its Idempotency-Key shows the same secret',
    async fixture => {
      const { ann } = fixture
      const created = await postWebhook(fixture, ann.key)
      const action = `${created.json.id}/rotate_secret`
      const rotated = await callAction(fixture, ann.key, action)
      assert.equal(rotated.status, 200, rotated.text)
      assert.match(String(rotated.json.secret), /^whsec_[A-Za-z0-9+/]{43}=$/)
      assert.notEqual(rotated.json.secret, created.json.secret)
      assert.deepEqual([rotated.json.id, rotated.headers.get('cache-control')], [created.json.id, 'no-store'])
      const headers = { 'Idempotency-Key': `rotation-${created.json.id}` }
      const [first, again] = [
        await callAction(fixture, ann.key, action, headers),
        await callAction(fixture, ann.key, action, headers),
      ]
      assert.equal(first.status, 200, first.text)
      assert.equal(again.json.secret, first.json.secret)
      assert.equal(again.headers.get('idempotent-replayed'), 'true')
      const dump = await fixture.deployment.dump()
      for (const { json } of [created, rotated, first]) assert.ok(!dump.includes(String(json.secret)))
    },
  ],
  [
    'each of several concurrent rotations is refused, or returns a valid secret',
    async fixture => {
      const { ann } = fixture
      const id = await createWebhook(fixture, ann.key)
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => callAction(fixture, ann.key, `${id}/rotate_secret`)),
      )
      const done = answers.filter(({ status }) => status === 200)
      assert.ok(done.length >= 1)
      for (const { status, code, text } of answers) assert.ok(status === 200 || code === 'CONFLICT', text)
      assert.equal(new Set(done.map(({ json }) => json.secret)).size, done.length)
      const { json } = await callAction(fixture, ann.key, `${id}/rotate_secret`)
      assert.match(String(json.secret), /^whsec_/)
    },
  ],
  [
    'an action accepts only POST, an empty body and known parameters',
    async fixture => {
      const { call, ann } = fixture
      const id = await createWebhook(fixture, ann.key)
      const url = `${path}/${id}/enable`
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'HEAD']) {
        const refused = await call(url, { method, key: ann.key })
        assert.deepEqual([refused.status, refused.headers.get('allow')], [405, 'POST, OPTIONS'], method)
      }
      const request = { method: 'POST', key: ann.key }
      assert.equal((await call(url, { ...request, body: { x: 1 } })).code, 'BAD_REQUEST')
      assert.equal((await call(`${url}?x=1`, request)).code, 'BAD_REQUEST')
      assert.equal((await call(url, { ...request, body: {} })).status, 200)
      const some = await call(`${url}?fields=id,enabled`, request)
      assert.deepEqual(some.json, { id, enabled: true })
      for (const wrong of [
        `${url}/`,
        `${path}/${id}/nothing`,
        `${path}/0/enable`,
        `${path}/${id}/deliveries/enable`,
      ]) {
        assert.equal((await call(wrong, request)).status, 404, wrong)
      }
      const missing = await call(`${path}/999999/enable`, request)
      assert.deepEqual([missing.status, missing.code], [404, 'NOT_FOUND'])
      const options = await call(url, { method: 'OPTIONS', key: ann.key })
      assert.deepEqual([options.status, options.headers.get('allow')], [204, 'POST, OPTIONS'])
    },
  ],
  [
    'an action needs the scopes to change webhooks and to read its response',
    async fixture => {
      const { ann } = fixture
      const id = await createWebhook(fixture, ann.key)
      const n = await delivery(fixture, id)
      const actions = ['rotate_secret', 'enable', `deliveries/${n}/redeliver`, 'test']
      for (const scopes of [['read:webhook', 'read:webhook_delivery'], ['read:post']]) {
        const { key } = await narrowKey(fixture, ann.key, scopes)
        for (const action of actions) {
          const refused = await callAction(fixture, key, `${id}/${action}`)
          assert.deepEqual([refused.status, refused.code], [403, 'INSUFFICIENT_SCOPE'], action)
        }
      }
      const { key } = await narrowKey(fixture, ann.key, ['write:webhook'])
      assert.equal((await callAction(fixture, key, `${id}/enable`)).status, 200)
      for (const action of actions.slice(2)) {
        assert.equal((await callAction(fixture, key, `${id}/${action}`)).code, 'INSUFFICIENT_SCOPE', action)
      }
    },
  ],
  [
    'deliveries are listed by webhook, read by id, and redelivered',
    async fixture => {
      const { call, ann } = fixture
      // Nothing listens at this URL.
      const id = await createWebhook(fixture, ann.key, {
        url: 'http://127.0.0.1:9/',
        types: ['user.deleted'],
      })
      const other = await createWebhook(fixture, ann.key)
      const n = await delivery(fixture, id, { status: 'failed', attempt: 3, event_id: '1' })
      const list = await call(`${path}/${id}/deliveries`, { key: ann.key })
      const [row] = list.json.data as readonly Record<string, unknown>[]
      assert.deepEqual([row?.id, row?.status, row?.attempt, row?.event_id], [n, 'failed', 3, '1'])
      const value = await call(`${path}/${id}/deliveries/${n}?fields=id,status`, { key: ann.key })
      assert.deepEqual([value.status, value.json], [200, { id: n, status: 'failed' }])
      assert.ok(value.headers.get('etag'))
      for (const wrong of [`${path}/${other}/deliveries/${n}`, `${path}/${id}/deliveries/999999`]) {
        assert.equal((await call(wrong, { key: ann.key })).status, 404)
        assert.equal((await call(`${wrong}/redeliver`, { method: 'POST', key: ann.key })).status, 404)
      }
      const again = await callAction(fixture, ann.key, `${id}/deliveries/${n}/redeliver`)
      assert.equal(again.status, 200, again.text)
      assert.deepEqual([again.json.id, again.json.message_id], [n, 'msg_1'])
      const sample = await delivery(fixture, id, { event_id: null, type: 'webhook.test', status: 'failed' })
      assert.equal(
        (await callAction(fixture, ann.key, `${id}/deliveries/${sample}/redeliver`)).code,
        'CONFLICT',
      )
      await call(`${path}/${id}`, { method: 'PATCH', key: ann.key, body: { enabled: false } })
      const stopped = await callAction(fixture, ann.key, `${id}/deliveries/${n}/redeliver`)
      assert.deepEqual([stopped.status, stopped.code], [409, 'CONFLICT'])
      assert.match(stopped.text, /Enable it first/)
      assert.deepEqual((await callAction(fixture, ann.key, `${id}/enable`)).json.enabled, true)
    },
  ],
  [
    'a test, an event and its redelivery are signed, with both secrets after a rotation',
    fixture =>
      withReceiver(async (url, received) => {
        const { call, ann } = fixture
        const created = await postWebhook(fixture, ann.key, { url, types: ['post.created'] })
        const { id, secret } = created.json
        const tested = await callAction(fixture, ann.key, `${id}/test`)
        assert.equal(tested.status, 200, tested.text)
        assert.deepEqual([tested.json.status, tested.json.type], ['succeeded', 'webhook.test'])
        assert.deepEqual([tested.json.response_status, tested.json.response_excerpt], [200, 'thanks'])
        const [first] = received
        assert.ok(first && received.length === 1)
        assert.equal(verify(secret, first).type, 'webhook.test')
        const post = { method: 'POST', key: ann.key, body: { title: 'Signed', author_id: ann.id } }
        const { json: item } = await call('/api/v1/posts', post)
        const delivered = async (count: number) => {
          while (received.length < count) await setTimeout(20)
          return received[count - 1] as Received
        }
        const event = verify(secret, await delivered(2))
        assert.deepEqual([event.type, event.collection, event.item_id], ['post.created', 'posts', item.id])
        const { json: rotated } = await callAction(fixture, ann.key, `${id}/rotate_secret`)
        const settled = async () => {
          for (;;) {
            const { json } = await call(`${path}/${id}/deliveries?type=post.created`, { key: ann.key })
            const [row] = json.data as readonly { readonly id: number; readonly status: string }[]
            if (row?.status === 'succeeded') return row.id
            await setTimeout(20)
          }
        }
        const again = await callAction(fixture, ann.key, `${id}/deliveries/${await settled()}/redeliver`)
        assert.deepEqual([again.status, again.json.status], [200, 'pending'])
        // A node that loses its lease meanwhile may send the event twice: the redelivery is what both secrets sign.
        const redelivered = async () => {
          for (;;) {
            const signed = received.find(request => isSignedWith(rotated.secret, request))
            if (signed !== undefined) return signed
            await setTimeout(20)
          }
        }
        const third = await redelivered()
        assert.equal(third.headers['webhook-id'], received[1]?.headers['webhook-id'])
        for (const value of [secret, rotated.secret]) assert.deepEqual(verify(value, third), event)
        assert.throws(() => verify(rotated.secret, received[1] as Received))
      }),
  ],
  [
    'a webhook pauses when its API key is deleted, and resumes with another key that has its scopes',
    async fixture => {
      const { call, ann } = fixture
      const scopes = ['read:post', 'write:webhook']
      const maker = await narrowKey(fixture, ann.key, scopes)
      const id = await createWebhook(fixture, maker.key, { types: ['post.*'] })
      const own = await createWebhook(fixture, ann.key)
      assert.deepEqual(await stateOf(fixture, id), sending)
      const deleted = await call(`/api/v1/api_keys/${maker.id}`, { method: 'DELETE', key: ann.key })
      assert.equal(deleted.status, 204)
      const paused = await stateOf(fixture, id)
      assert.deepEqual([paused.enabled, paused.paused], [true, true])
      assert.match(String(paused.reason), ended)
      assert.deepEqual(await stateOf(fixture, own), sending)
      const narrower = await narrowKey(fixture, ann.key, ['write:webhook'])
      assert.equal((await callAction(fixture, narrower.key, `${id}/enable`)).code, 'INSUFFICIENT_SCOPE')
      const heir = await narrowKey(fixture, ann.key, [...scopes, 'read:user'])
      assert.equal((await callAction(fixture, heir.key, `${id}/enable`)).status, 200)
      assert.deepEqual(await stateOf(fixture, id), sending)
      const { json } = await call(`${path}/${id}`, { key: ann.key })
      assert.deepEqual(json.scopes, scopes)
      await call(`/api/v1/api_keys/${heir.id}`, { method: 'DELETE', key: ann.key })
      assert.equal((await stateOf(fixture, id)).paused, true)
    },
  ],
  [
    'a credential that the command line has ended is noticed at the next delivery',
    fixture =>
      withReceiver(async (url, received) => {
        const { call, ann } = fixture
        const maker = await narrowKey(fixture, ann.key, ['read:post', 'write:webhook'])
        const id = await createWebhook(fixture, maker.key, { url, types: ['post.created'] })
        const own = await createWebhook(fixture, ann.key, { url, types: ['post.created'] })
        await inOtherProcess(fixture, run => removeKey(run, maker.id))
        assert.deepEqual(await stateOf(fixture, id), sending)
        const body = { title: 'Unseen', author_id: ann.id }
        assert.equal((await call('/api/v1/posts', { method: 'POST', key: ann.key, body })).status, 201)
        while (!(await stateOf(fixture, id)).paused) await setTimeout(20)
        assert.match(String((await stateOf(fixture, id)).reason), ended)
        while (received.length === 0) await setTimeout(20)
        assert.equal(received.length, 1)
        assert.deepEqual(await stateOf(fixture, own), sending)
      }),
  ],
  [
    'a webhook pauses when the grant of its token is revoked',
    async fixture => {
      const { url, ann } = fixture
      for (const access_token_format of ['opaque', 'jwt']) {
        const app = await fixture.app({
          access_token_format,
          scopes: ['read:post', 'write:webhook', 'offline_access', 'openid'],
        })
        const tokens = await newTokens(fixture, app, {
          browser: fixture.browser(),
          person: ann,
          scope: 'openid offline_access read:post write:webhook',
          parameters: { prompt: 'consent' },
        })
        const id = await createWebhook(fixture, String(tokens.access_token), { types: ['post.*'] })
        assert.deepEqual(await stateOf(fixture, id), sending)
        const revoked = await post(`${url}/oauth/revoke`, {
          ...clientCredentials(app),
          token: String(tokens.refresh_token),
        })
        assert.equal(revoked.status, 200)
        const paused = await stateOf(fixture, id)
        assert.match(String(paused.reason), ended)
      }
    },
  ],
]

for (const setup of chosen(new Set([...setups, postgresRowSecurity]))) {
  test(`actions of webhooks (${setup.name})`, async t => {
    const use = async (fixture: Fixture) => {
      for (const [name, run] of cases) await t.test(name, () => run(fixture))
    }
    await withFixture(settings, use, blog, setup)
  })
}

test('at most four replaced secrets sign, until their overlap ends', async () => {
  let payload = ''
  let now = 1000
  const records = {
    get: (kind: string, id: string) => {
      const rest = { expiresAt: null, consumedAt: null, grant: null, alias: null, owner: '1' }
      return payload === '' ? undefined : { kind, id, payload, ...rest }
    },
    version: () => 0,
  }
  const secrets = new WebhookSecrets(records, 60, () => now)
  assert.deepEqual(await secrets.current(1), [])
  assert.throws(() => secrets.rotation(1, 1), /NOT_FOUND|nothing here/)
  payload = JSON.stringify({ secret: 'whsec_first', version: 0, previous: [] })
  const seen = ['whsec_first']
  for (let count = 0; count < 6; count++) {
    const { secret, replaces, record } = await secrets.rotation(1, 1)
    assert.equal(replaces, count)
    payload = record.payload
    seen.unshift(secret)
    now += 1000
  }
  assert.deepEqual(await secrets.current(1), seen.slice(0, 5))
  now = 64_500
  assert.deepEqual(await secrets.current(1), seen.slice(0, 3))
  now += 60_000
  assert.deepEqual(await secrets.current(1), seen.slice(0, 1))
})
