/** Revocation by the user takes effect on every process, for every token format, and on open connections. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { serve } from '../../../../src/server/serve/serve.ts'
import blog from '../../../models/blog.ts'
import { portico } from '../../../system/processes/command.ts'
import type { Browser } from '../browser.ts'
import {
  type App,
  clientCredentials,
  type Fixture,
  formWith,
  newTokens,
  type Person,
  post,
  withFixture,
} from '../server.ts'

/** Two processes on one database. */
const baseUrl = 'http://api.example.com'
const scope = 'openid offline_access read:user read:post'

async function withTwo(use: (fixture: Fixture, otherUrl: string) => Promise<void>): Promise<void> {
  await withFixture({ baseUrl }, async fixture => {
    const otherService = await serve(blog, {
      port: 0,
      host: '127.0.0.1',
      ...fixture.deployment.settings,
      logLevel: 'silent',
      rateLimit: 'off',
      baseUrl,
    })
    try {
      await use(fixture, otherService.url)
    } finally {
      await otherService.close()
    }
  })
}

const statusAt = async (url: string, token: string) =>
  (await fetch(`${url}/api/v1/me`, { headers: { Authorization: `Bearer ${token}` } })).status

/** Waits up to a second, the promised bound. */
async function becomes(expected: number, current: () => Promise<number>): Promise<void> {
  const until = Date.now() + 1000
  let status = await current()
  while (status !== expected && Date.now() < until) {
    await wait(20)
    status = await current()
  }
  assert.equal(status, expected)
}

interface Subscription {
  /** The code and reason of the close. */
  readonly closed: Promise<string>
  readonly socket: WebSocket
}

async function subscribe(url: string, token: string): Promise<Subscription> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  const closed = new Promise<string>(resolve => {
    socket.on('close', (code, reason) => resolve(`${code} ${reason}`))
    socket.on('message', data => {
      const { type } = JSON.parse(String(data))
      if (type === 'error' || type === 'complete') resolve(String(data))
    })
  })
  await new Promise((resolve, reject) => {
    socket.on('open', resolve)
    socket.on('error', reject)
  })
  const acknowledged = new Promise(resolve => socket.once('message', resolve))
  socket.send(JSON.stringify({ type: 'connection_init', payload: { Authorization: `Bearer ${token}` } }))
  assert.match(String(await acknowledged), /connection_ack/)
  const payload = { query: 'subscription { newPost { id } }' }
  socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload }))
  return { closed, socket }
}

async function revokeOnPage(browser: Browser, { url }: Fixture, person: Person): Promise<void> {
  let page = await browser.open(`${url}/account/apps`)
  assert.ok(!('location' in page))
  const signIn = formWith(page, 'password')
  if (signIn) page = await browser.submit(signIn, { email: person.email, password: person.password })
  assert.ok(!('location' in page))
  const form = page.forms.find(({ buttons }) =>
    buttons.some(({ label }) => /revoke|remove|disconnect/i.test(label)),
  )
  assert.ok(form, page.text)
  const after = await browser.submit(form)
  assert.ok(!('location' in after) && after.status === 200, 'text' in after ? after.text : '')
}

async function assertRevoked(
  { url }: Fixture,
  app: App,
  tokens: Readonly<Record<string, string>>,
): Promise<void> {
  const refreshed = await post(`${url}/oauth/token`, {
    grant_type: 'refresh_token',
    refresh_token: tokens.refresh_token ?? '',
    ...clientCredentials(app),
  })
  assert.deepEqual([refreshed.status, refreshed.json.error], [400, 'invalid_grant'])
}

for (const format of ['opaque', 'jwt'] as const) {
  test(`revoking an app on the page ends its tokens and connections on every process (${format})`, async () => {
    await withTwo(async (fixture, otherUrl) => {
      const app = await fixture.app({ access_token_format: format })
      const browser = fixture.browser()
      const tokens = await newTokens(fixture, app, {
        browser,
        person: fixture.ann,
        scope,
        parameters: { prompt: 'consent' },
      })
      const { access_token = '' } = tokens
      const sockets = [await subscribe(fixture.url, access_token), await subscribe(otherUrl, access_token)]
      for (const url of [fixture.url, otherUrl]) assert.equal(await statusAt(url, access_token), 200)

      await revokeOnPage(browser, fixture, fixture.ann)
      assert.equal(await statusAt(fixture.url, access_token), 401)
      await becomes(401, () => statusAt(otherUrl, access_token))
      for (const { closed, socket } of sockets) {
        const ending = await Promise.race([closed, wait(5000, 'still open')])
        assert.notEqual(ending, 'still open')
        socket.terminate()
      }
      await assertRevoked(fixture, app, tokens)
    })
  })
}

test('a revocation by one user does not affect others', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const [anns, bens] = [fixture.browser(), fixture.browser()]
    const ofAnn = await newTokens(fixture, app, { browser: anns, person: fixture.ann, scope: 'read:user' })
    const ofBen = await newTokens(fixture, app, { browser: bens, person: fixture.ben, scope: 'read:user' })
    await revokeOnPage(anns, fixture, fixture.ann)
    assert.equal(await statusAt(fixture.url, ofAnn.access_token ?? ''), 401)
    assert.equal(await statusAt(fixture.url, ofBen.access_token ?? ''), 200)
  })
})

test('deleting an app or a user revokes their tokens', async () => {
  await withFixture({}, async fixture => {
    const [app, other] = [await fixture.app(), await fixture.app({ name: 'Other' })]
    const browser = fixture.browser()
    const first = await newTokens(fixture, app, { browser, person: fixture.ben, scope: 'read:user' })
    const second = await newTokens(fixture, other, { browser, person: fixture.ben, scope: 'read:user' })
    const deletion = await fixture.call(`/api/v1/oauth_apps/${app.id}`, {
      method: 'DELETE',
      key: fixture.ann.key,
    })
    assert.equal(deletion.status, 204, deletion.text)
    assert.equal(await statusAt(fixture.url, first.access_token ?? ''), 401)
    assert.equal(await statusAt(fixture.url, second.access_token ?? ''), 200)
    const user = await fixture.call(`/api/v1/users/${fixture.ben.id}`, {
      method: 'DELETE',
      key: fixture.admin.key,
    })
    assert.equal(user.status, 204, user.text)
    assert.equal(await statusAt(fixture.url, second.access_token ?? ''), 401)
  })
})

test('a changed role applies at once to existing tokens', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({
      scopes: ['read:user', 'write:post'],
      default_scopes: null,
      access_token_format: 'jwt',
    })
    const { access_token = '' } = await newTokens(fixture, app, {
      browser: fixture.browser(),
      person: fixture.admin,
      scope: 'read:user write:post',
    })
    const created = await fixture.call('/api/v1/posts', {
      method: 'POST',
      key: fixture.ann.key,
      body: { title: 'Ann’s' },
    })
    const change = () =>
      fixture.call(`/api/v1/posts/${created.json.id}`, {
        method: 'PATCH',
        key: access_token,
        body: { title: 'x' },
      })
    assert.equal((await change()).status, 200)
    const users = (person: Person) => `/api/v1/users/${person.id}`
    const other = { method: 'PATCH', key: fixture.admin.key, body: { role: 'admin' } }
    assert.equal((await fixture.call(users(fixture.cleo), other)).status, 200)
    const body = { role: 'user' }
    const demoted = await fixture.call(`/api/v1/users/${fixture.admin.id}`, {
      method: 'PATCH',
      key: fixture.admin.key,
      body,
    })
    assert.equal(demoted.status, 200, demoted.text)
    assert.equal((await change()).status, 403)
  })
})

interface Jwks {
  readonly keys: readonly { readonly kid: string }[]
}

test('new signing keys keep existing tokens valid', async () => {
  await withFixture({ 'oauth.accessTokenFormat': 'jwt' }, async fixture => {
    const app = await fixture.app()
    const browser = fixture.browser()
    const options = { browser, person: fixture.ann, scope: 'openid read:user' }
    const kidOf = (token = '') =>
      JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid
    const kids = async () =>
      ((await (await fetch(`${fixture.url}/oauth/jwks`)).json()) as Jwks).keys.map(({ kid }) => kid)
    const old = await newTokens(fixture, app, options)
    const before = await kids()
    assert.ok(before.includes(kidOf(old.access_token)))
    const { code, err } = await portico(['keys', 'rotate'], { environment: fixture.deployment.environment })
    assert.equal(code, 0, err)
    await becomes(1, async () => Number((await kids()).some(kid => !before.includes(kid))))
    const fresh = await newTokens(fixture, app, options)
    for (const name of ['access_token', 'id_token']) {
      assert.notEqual(kidOf(fresh[name]), kidOf(old[name]), name)
      assert.ok((await kids()).includes(kidOf(fresh[name])), name)
      assert.ok((await kids()).includes(kidOf(old[name])), name)
    }
    for (const { access_token = '' } of [old, fresh])
      assert.equal(await statusAt(fixture.url, access_token), 200)
  })
})
