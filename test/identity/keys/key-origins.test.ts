/** A key ends with the OAuth grant that it descends from, however many keys are in between. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chosen } from '../../chosen.ts'
import { call } from '../../server/serve/service.ts'
import { postgres } from '../../setups/postgres.ts'
import { sqlite } from '../../setups/sqlite.ts'
import type { Browser } from '../conformance/browser.ts'
import {
  type App,
  clientCredentials,
  type Fixture,
  newTokens,
  post,
  sharedFixtures,
} from '../conformance/server.ts'

const scopes = ['read:user', 'read:post', 'write:api_key', 'write:webhook']

interface Created {
  readonly id: number
  readonly key: string
}

async function keyBy(url: string, credential: string, body: object = {}): Promise<Created> {
  const created = await call(`${url}/api/v1/api_keys`, {
    method: 'POST',
    key: credential,
    body: { name: 'made', ...body },
  })
  assert.equal(created.status, 201, created.text)
  return created.json as unknown as Created
}

const statusOf = async (url: string, key: string) => (await call(`${url}/api/v1/me`, { key })).status

interface Chain {
  readonly app: App
  readonly browser: Browser
  readonly tokens: Readonly<Record<string, string>>
  /** Made with the token of the app, and each further one with the key before. */
  readonly keys: readonly Created[]
}

/** Ben allows an app, which makes a key, which makes another. */
async function chainOf(fixture: Fixture): Promise<Chain> {
  const { url, ben } = fixture
  const app = await fixture.app({ scopes: ['openid', 'offline_access', ...scopes] })
  const browser = fixture.browser()
  const options = { browser, person: ben, scope: ['openid offline_access', ...scopes].join(' ') }
  const tokens = await newTokens(fixture, app, { ...options, parameters: { prompt: 'consent' } })
  const first = await keyBy(url, tokens.access_token ?? '')
  const second = await keyBy(url, first.key)
  assert.deepEqual([await statusOf(url, first.key), await statusOf(url, second.key)], [200, 200])
  return { app, browser, tokens, keys: [first, second] }
}

async function submit(browser: Browser, path: string, label: RegExp): Promise<void> {
  const page = await browser.open(path)
  assert.ok(!('location' in page))
  const buttons = page.forms.flatMap(form => form.buttons.map(button => ({ form, button })))
  const found = buttons.find(({ button }) => label.test(button.label))
  assert.ok(found, page.text)
  await browser.submit(found.form, {}, found.button)
}

async function revoke({ url }: Fixture, { app }: Chain, token = ''): Promise<void> {
  assert.equal((await post(`${url}/oauth/revoke`, { token, ...clientCredentials(app) })).status, 200)
}

const ends: Readonly<Record<string, (fixture: Fixture, chain: Chain) => Promise<unknown>>> = {
  'the user disconnects the app': (_, { browser }) => submit(browser, '/account/apps', /disconnect/i),
  'an administrator ends the grant': async ({ url, admin, ben }, { app }) => {
    const path = `${url}/api/v1/users/${ben.id}/grants/${app.client_id}`
    assert.equal((await call(path, { method: 'DELETE', key: admin.key })).status, 204)
  },
  'the app is deleted': async ({ url, ann }, { app }) => {
    const path = `${url}/api/v1/oauth_apps/${app.id}`
    assert.equal((await call(path, { method: 'DELETE', key: ann.key })).status, 204)
  },
  'the app signs out by revoking its refresh token': (fixture, chain) =>
    revoke(fixture, chain, chain.tokens.refresh_token),
  'the app signs out by revoking its access token': (fixture, chain) =>
    revoke(fixture, chain, chain.tokens.access_token),
}

for (const setup of chosen([sqlite, postgres])) {
  describe(`keys that an app made, on ${setup.name}`, () => {
    const withFixture = sharedFixtures(setup)
    for (const [title, end] of Object.entries(ends)) {
      test(`they end, and are gone, when ${title}`, async () => {
        await withFixture(async fixture => {
          const { url, ben } = fixture
          const chain = await chainOf(fixture)
          await end(fixture, chain)
          for (const { id, key } of chain.keys) {
            assert.equal(await statusOf(url, key), 401)
            assert.equal((await call(`${url}/api/v1/api_keys/${id}`, { key: ben.key })).status, 404)
          }
        })
      })
    }

    test('a key loses the scopes that the app may no longer request', async () => {
      await withFixture(async fixture => {
        const { url, ann } = fixture
        const { app, keys } = await chainOf(fixture)
        const path = `${url}/api/v1/oauth_apps/${app.id}`
        const body = { scopes: ['openid', 'offline_access', 'read:post', 'write:api_key'] }
        assert.equal((await call(path, { method: 'PATCH', key: ann.key, body })).status, 200)
        for (const { key } of keys) assert.equal(await statusOf(url, key), 403)
      })
    })

    test('a webhook of such a key is paused with it', async () => {
      await withFixture(async fixture => {
        const { url, ben } = fixture
        const chain = await chainOf(fixture)
        const webhook = await call(`${url}/api/v1/webhooks`, {
          method: 'POST',
          key: chain.keys[1]?.key ?? '',
          body: { url: 'https://example.com/hook', types: ['post.*'] },
        })
        assert.equal(webhook.status, 201, webhook.text)
        await submit(chain.browser, '/account/apps', /disconnect/i)
        const { json } = await call(`${url}/api/v1/webhooks/${webhook.json.id}`, { key: ben.key })
        assert.notEqual(json.paused_at, null)
      })
    })

    test('a key that a user’s own key made survives it, so that keys can be rotated', async () => {
      await withFixture(async fixture => {
        const { url, ben } = fixture
        const first = await keyBy(url, ben.key, { scopes: ['read:user', 'write:api_key'] })
        const second = await keyBy(url, first.key)
        const path = `${url}/api/v1/api_keys/${first.id}`
        assert.equal((await call(path, { method: 'DELETE', key: second.key })).status, 204)
        assert.deepEqual([await statusOf(url, first.key), await statusOf(url, second.key)], [401, 200])
      })
    })
  })
}
