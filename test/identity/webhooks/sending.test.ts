/** The deliveries of webhooks of owners and of apps, and the events that end them. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import blog from '../../models/blog.ts'
import { sqlite } from '../../setups/sqlite.ts'
import { clientCredentials, type Fixture, newTokens, post, withFixture } from '../conformance/server.ts'
import { withSmtp } from '../smtp.ts'
import { callAction, createWebhook, narrowKey, path, postWebhook } from './webhooks.ts'

const settings = { autoMigrate: true, quotas: { keys: 1000 }, webhooks: { allowPrivate: true } }

interface Message {
  readonly headers: Record<string, string>
  readonly text: string
  readonly event: Readonly<Record<string, unknown>>
}

interface WebhooksFixture extends Fixture {
  /** The URL that receives messages; `gone` responds with 410 until `state.isGone` is false. */
  readonly hooks: string
  readonly state: { isGone: boolean }
  /** The messages that a path has received. */
  at(name: string): readonly Message[]
  /** Creates a post of Ann’s. */
  write(title: string): Promise<number>
}

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + 120_000
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`never: ${what}`)
    await sleep(30)
  }
}

async function within(use: (fixture: WebhooksFixture) => Promise<void>, more: object = {}): Promise<void> {
  const messages: { readonly path: string; readonly message: Message }[] = []
  const state = { isGone: true }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const headers = request.headers as Record<string, string>
    messages.push({ path: request.url ?? '', message: { headers, text, event: JSON.parse(text) } })
    response.writeHead(request.url === '/gone' && state.isGone ? 410 : 200).end('taken')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const hooks = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const withServer = (fixture: Fixture) =>
    use({
      ...fixture,
      hooks,
      state,
      at: name => messages.filter(entry => entry.path === `/${name}`).map(({ message }) => message),
      async write(title) {
        const body = { title, body: 'text' }
        const { status, text, json } = await fixture.call('/api/v1/posts', {
          method: 'POST',
          key: fixture.ann.key,
          body,
        })
        assert.equal(status, 201, text)
        return Number(json.id)
      },
    })
  try {
    await withFixture({ ...settings, ...more }, withServer, blog, sqlite)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const titles = (messages: readonly Message[]) =>
  messages.map(({ event }) => (event['data'] as { title?: string }).title)

test('an owner gets events and tests, signed with the secrets that were shown', () =>
  within(async fixture => {
    const { ann, call, hooks, at, write } = fixture
    const created = await postWebhook(fixture, ann.key, { url: `${hooks}/own`, types: ['post.created'] })
    assert.equal(created.status, 201, created.text)
    const id = Number(created.json.id)
    const item = await write('first')
    await until(() => at('own').length === 1, 'the event is sent')
    const [first] = at('own')
    assert.ok(first)
    new Webhook(String(created.json.secret)).verify(first.text, first.headers)
    assert.equal(first.event['item_id'], item)
    assert.deepEqual(first.event['actor'], { user_id: ann.id, app_id: null })
    assert.ok(!('user_id' in first.event))
    const rotated = await callAction(fixture, ann.key, `${id}/rotate_secret`)
    const tested = await callAction(fixture, ann.key, `${id}/test`)
    assert.equal(tested.json.status, 'succeeded', tested.text)
    const [, second] = at('own')
    assert.ok(second)
    for (const { json } of [created, rotated])
      new Webhook(String(json.secret)).verify(second.text, second.headers)
    await until(async () => {
      const { json } = await call(`${path}/${id}/deliveries?status=succeeded`, { key: ann.key })
      return (json.data as unknown[]).length === 2
    }, 'both deliveries are recorded')
  }))

test('an app gets events of each user whose grant covers them, until the user revokes it', () =>
  within(async fixture => {
    const { ann, ben, cleo, url, hooks, at, write } = fixture
    const app = await fixture.app({ scopes: ['read:post', 'read:user', 'offline_access', 'openid'] })
    await createWebhook(fixture, ann.key, { url: `${hooks}/app`, types: ['post.created'], app_id: app.id })
    const grantOf = (person: Fixture['ben'], scope: string) =>
      newTokens(fixture, app, {
        browser: fixture.browser(),
        person,
        scope,
        parameters: { prompt: 'consent' },
      })
    const tokens = await grantOf(ben, 'openid offline_access read:post')
    // Anyone may read posts, but a token needs the scope.
    await grantOf(cleo, 'openid offline_access read:user')
    await until(async () => {
      await write('probe')
      await sleep(300)
      return at('app').length > 0
    }, 'an event is sent for the grant')
    assert.deepEqual(new Set(at('app').map(({ event }) => event['user_id'])), new Set([ben.id]))
    const revoked = await post(`${url}/oauth/revoke`, {
      ...clientCredentials(app),
      token: String(tokens.refresh_token),
    })
    assert.equal(revoked.status, 200)
    await createWebhook(fixture, ann.key, { url: `${hooks}/after`, types: ['post.created'] })
    await write('after')
    await until(() => titles(at('after')).includes('after'), 'another webhook gets it')
    assert.ok(!titles(at('app')).includes('after'))
  }))

test('a webhook stops sending when the key that created it is deleted', () =>
  within(async fixture => {
    const { ann, call, hooks, at, write } = fixture
    const narrow = await narrowKey(fixture, ann.key, ['read:post', 'write:webhook'])
    await createWebhook(fixture, narrow.key, { url: `${hooks}/narrow`, types: ['post.*'] })
    await createWebhook(fixture, ann.key, { url: `${hooks}/all`, types: ['post.created'] })
    await write('before')
    await until(() => at('narrow').length === 1, 'the event is sent')
    assert.equal(
      (await call(`/api/v1/api_keys/${narrow.id}`, { method: 'DELETE', key: ann.key })).status,
      204,
    )
    await write('after')
    await until(() => titles(at('all')).includes('after'), 'another webhook gets it')
    assert.deepEqual(titles(at('narrow')), ['before'])
  }))

test('an endpoint that responds with 410 pauses its webhook, which continues where it stopped once it is enabled', () =>
  within(async fixture => {
    const { ann, call, hooks, at, write, state } = fixture
    const id = await createWebhook(fixture, ann.key, { url: `${hooks}/gone`, types: ['post.created'] })
    await write('one')
    await until(
      async () => (await call(`${path}/${id}`, { key: ann.key })).json.paused_at !== null,
      'the webhook is paused',
    )
    await write('two')
    state.isGone = false
    assert.equal((await callAction(fixture, ann.key, `${id}/enable`)).status, 200)
    await write('three')
    await until(() => at('gone').length === 3, 'the remaining events are sent')
    assert.deepEqual(titles(at('gone')).sort(), ['one', 'three', 'two'])
  }))

test('the owner of a paused webhook gets one mail, with the reason and how to resume it', () =>
  withSmtp((smtp, received) =>
    within(
      async fixture => {
        const { ann, call, hooks, write } = fixture
        const id = await createWebhook(fixture, ann.key, { url: `${hooks}/gone`, types: ['post.created'] })
        await write('one')
        await write('two')
        const mails = () => received.commands.filter(command => command.startsWith('RCPT')).length
        await until(() => received.data.includes(`webhooks/${id}/enable`), 'a mail is sent')
        const owner = (await call('/api/v1/me', { key: ann.key })).json
        assert.deepEqual(
          received.commands.filter(command => command.startsWith('RCPT')),
          [`RCPT TO:<${owner.email}>`],
        )
        assert.match(received.data, /Subject: A webhook at .+ was paused/)
        assert.match(received.data, /410 Gone/)
        assert.match(received.data, /127\.0\.0\.1:\d+/)
        assert.doesNotMatch(received.data, /\/gone/)
        assert.equal(mails(), 1)
      },
      { mail: { smtp, from: 'Portico <portico@example.com>' } },
    ),
  ))
