/** With refreshReplay set, a repeated refresh gets the same response on every node. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Context } from 'oidc-provider'
import type { Records } from '../../../../src/base/records.ts'
import { withRequestState } from '../../../../src/identity/server/provider/request-state.ts'
import { parseForm } from '../../../../src/identity/server/requests/form.ts'
import { replayRefreshes } from '../../../../src/identity/server/tokens/refresh-replay.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { chosen } from '../../../chosen.ts'
import blog from '../../../models/blog.ts'
import { postgresNodes, postgresRowSecurity } from '../../../setups/postgres.ts'
import { sqlite } from '../../../setups/sqlite.ts'
import {
  type App,
  clientCredentials,
  type Fixture,
  newTokens,
  post,
  sharedFixtures,
  withFixture,
} from '../../conformance/server.ts'

const scope = 'openid offline_access read:post read:user'

async function refreshForm(fixture: Fixture, app: App): Promise<Record<string, string>> {
  const options = { browser: fixture.browser(), person: fixture.ann, scope }
  const { refresh_token } = await newTokens(fixture, app, options)
  assert.ok(refresh_token)
  return { grant_type: 'refresh_token', refresh_token, ...clientCredentials(app) }
}

/** The stored responses. */
async function storedResponses({ deployment }: Fixture): Promise<readonly string[]> {
  const store = await deployment.openStore(checkModel(blog))
  const found = await store.records.all('RefreshReplay')
  await store.close()
  return found.map(({ payload }) => payload)
}

const refresh = ({ url }: { readonly url: string }, form: Readonly<Record<string, string>>) =>
  post(`${url}/oauth/token`, form)

const settings = { 'oauth.refreshReplay': '60 s' } as const

for (const setup of chosen([sqlite, postgresRowSecurity, postgresNodes])) {
  const withShared = sharedFixtures(setup, settings)
  const testOn = (title: string, use: (fixture: Fixture) => Promise<void>) =>
    test(`${title} (${setup.name})`, () => withShared(use))

  testOn('of twenty concurrent refreshes one is performed, and all get its tokens', async fixture => {
    const { urls } = fixture
    const form = await refreshForm(fixture, await fixture.app())
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, at) => refresh({ url: urls[at % urls.length] ?? '' }, form)),
    )
    for (const { status, json } of all) {
      assert.equal(status, 200, JSON.stringify(json))
      assert.deepEqual(json, all[0]?.json)
    }
    const headers = { Authorization: `Bearer ${all[0]?.json.access_token}` }
    const statuses = () =>
      Promise.all(urls.map(async url => (await fetch(`${url}/api/v1/posts`, { headers })).status))
    assert.deepEqual(new Set(await statuses()), new Set([200]))
    // Any other request with that token is treated as theft, and ends the grant.
    const other = await refresh(fixture, { ...form, scope: 'read:post' })
    assert.deepEqual([other.status, other.json.error], [400, 'invalid_grant'])
    assert.deepEqual(new Set(await statuses()), new Set([401]))
  })

  testOn('after a restart a refresh is replayed, but only with the same client secret', async fixture => {
    const form = await refreshForm(fixture, await fixture.app())
    const first = await refresh(fixture, form)
    assert.equal(first.status, 200)
    await fixture.restart()
    assert.deepEqual((await refresh(fixture, form)).json, first.json)
    const wrong = await refresh(fixture, { ...form, client_secret: 'ps_guess' })
    assert.deepEqual([wrong.status, wrong.json.error], [401, 'invalid_client'])
    assert.deepEqual((await refresh(fixture, form)).json, first.json)
  })
}

/** These tests do not depend on the number of nodes. */
for (const setup of chosen([sqlite, postgresRowSecurity])) {
  const testOn = (title: string, use: (fixture: Fixture) => Promise<void>) =>
    test(`${title} (${setup.name})`, () => withFixture(settings, use, blog, setup))

  testOn('a refusal is not stored, and is repeated', async fixture => {
    const form = { ...(await refreshForm(fixture, await fixture.app())), refresh_token: 'x'.repeat(43) }
    for (let count = 0; count < 2; count++) {
      const answer = await refresh(fixture, form)
      assert.deepEqual([answer.status, answer.json.error], [400, 'invalid_grant'])
    }
    assert.deepEqual(await storedResponses(fixture), [])
  })

  testOn('the tokens of a stored response cannot be read from the database', async fixture => {
    const { json } = await refresh(fixture, await refreshForm(fixture, await fixture.app()))
    const [payload = '', ...others] = await storedResponses(fixture)
    assert.ok(payload.length > 100 && others.length === 0)
    const bytes = Buffer.from(payload, 'base64url').toString('latin1')
    for (const secret of [json.access_token, json.refresh_token, json.id_token].map(String)) {
      assert.ok(!payload.includes(secret) && !bytes.includes(secret))
    }
    assert.doesNotMatch(bytes, /access_token/)
  })
}

const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'r'.repeat(43) }).toString()

/** As much of oidc-provider’s context as the middleware uses. */
function contextOf() {
  const ctx = {
    path: '/oauth/token',
    status: 404,
    type: '',
    body: undefined as unknown,
    get: () => '',
    set() {},
  }
  const refreshed = async () => {
    Object.assign(ctx, { status: 200, type: 'application/json', body: { access_token: 'a' } })
  }
  return { ctx: ctx as unknown as Context, refreshed }
}

for (const failing of ['get', 'add', 'put'] as const) {
  test(`a refresh succeeds even if records fail (${failing})`, async () => {
    const deployment = await sqlite.open()
    const store = await deployment.openStore(checkModel(blog))
    const faults: unknown[] = []
    const broken = new Proxy(store.records, {
      get(target, name) {
        if (name === failing) return async () => Promise.reject(new Error('the disk is full'))
        const value = target[name as keyof Records]
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const replay = replayRefreshes({
      records: broken,
      seconds: 60,
      onFault: fault => faults.push(fault),
    })
    try {
      const { ctx, refreshed } = contextOf()
      const state = { browser: { userAgent: '', address: '' }, form: parseForm(form) }
      await withRequestState(state, async () => replay(ctx, refreshed))
      assert.deepEqual([ctx.status, ctx.body, faults.length], [200, { access_token: 'a' }, 1])
    } finally {
      await store.close()
      await deployment.close()
    }
  })
}
