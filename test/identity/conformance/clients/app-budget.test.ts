/** The requests that an app may send in a minute for all of its users together. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { earlyInMinute } from '../../../engine/cluster/window.ts'
import { type App, type Fixture, newTokens, withFixture } from '../server.ts'

const limit = 5
const scopes = ['read:post', 'write:api_key']

type Key = { readonly key: string }

async function tokenOf(fixture: Fixture, app: App, person: Fixture['ann']): Promise<Key> {
  const options = { browser: fixture.browser(), person, scope: scopes.join(' ') }
  const { access_token: key } = await newTokens(fixture, app, options)
  return { key: String(key) }
}

const remainingOf = ({ headers }: Awaited<ReturnType<Fixture['call']>>) =>
  Number(headers.get('x-ratelimit-remaining'))

test('all users of an app draw from its limit, also by keys that the app has created; without the app they do not', () =>
  withFixture({ rateLimit: { app: limit } }, async fixture => {
    const { call, ann, ben } = fixture
    // Ann's own key creates the app, so its creation is in the counts.
    await earlyInMinute(30)
    const app = await fixture.app({ scopes })
    const [ofAnn, ofBen] = [await tokenOf(fixture, app, ann), await tokenOf(fixture, app, ben)]
    const created = await call('/api/v1/api_keys', { method: 'POST', ...ofAnn, body: { name: 'Of the app' } })
    assert.equal(created.status, 201, created.text)
    const ofKey = { key: String(created.json.key) }
    const first = await call('/api/v1/posts', ofAnn)
    // Of the two budgets, the headers state the one with fewer requests left.
    assert.equal(first.headers.get('x-ratelimit-limit'), String(limit))
    assert.match(first.headers.get('ratelimit') ?? '', /^"app";r=3;/)
    assert.deepEqual([remainingOf(first), remainingOf(await call('/api/v1/posts', ofBen))], [3, 2])
    assert.equal(remainingOf(await call('/api/v1/posts', ofKey)), 1)
    assert.equal(remainingOf(await call('/api/v1/posts', ofBen)), 0)
    for (const credential of [ofAnn, ofBen, ofKey]) {
      const refused = await call('/api/v1/posts', credential)
      assert.equal(refused.status, 429)
      assert.match(
        refused.text,
        /The limit of 5 requests per minute of the app for all of its users is used up/,
      )
      assert.ok(Number(refused.headers.get('retry-after')) >= 1)
    }
    // Ann's own budget has paid for the creation of the app, for one request by the app's key, and now for this: not for the refused one.
    const own = await call('/api/v1/posts', { key: ann.key })
    assert.equal(own.status, 200)
    assert.equal(remainingOf(own), 997)
    const other = await tokenOf(fixture, await fixture.app({ scopes }), ben)
    assert.equal((await call('/api/v1/posts', other)).status, 200)
  }))

test('administrators give an app a limit of its own, and its owner does not', () =>
  withFixture({ rateLimit: { app: limit } }, async fixture => {
    const { call, ann, admin } = fixture
    const app = await fixture.app({ scopes })
    const path = `/api/v1/oauth_apps/${app.id}`
    const patch = (key: string, requests_per_minute: unknown) =>
      call(path, { method: 'PATCH', key, body: { requests_per_minute } })
    const stored = async () => (await call(path, { key: admin.key })).json.requests_per_minute
    assert.equal((await patch(ann.key, 1000)).status, 403)
    assert.equal(await stored(), null)
    assert.equal((await patch(admin.key, 0)).status, 400)
    assert.equal((await patch(admin.key, 7)).status, 200)
    const token = await tokenOf(fixture, app, ann)
    await earlyInMinute(20)
    assert.equal(remainingOf(await call('/api/v1/posts', token)), 6)
    // The change applies to tokens that exist.
    assert.equal((await patch(admin.key, 3)).status, 200)
    const answer = await call('/api/v1/posts', token)
    assert.deepEqual([answer.headers.get('x-ratelimit-limit'), remainingOf(answer)], ['3', 1])
    // A replacement by the owner, who cannot write the field, keeps it.
    const replaced = await call(path, {
      method: 'PUT',
      key: ann.key,
      body: { name: 'Renamed', redirect_uris: app.redirect_uris },
    })
    assert.equal(replaced.status, 200, replaced.text)
    assert.equal(await stored(), 3)
  }))

test('an app of the service itself has no limit for all of its users, nor has any where limits are off', async () => {
  await withFixture({ rateLimit: { app: 1 } }, async fixture => {
    const { call, admin, ann } = fixture
    const app = await fixture.app({ scopes })
    const token = await tokenOf(fixture, app, ann)
    const path = `/api/v1/oauth_apps/${app.id}`
    const marked = await call(path, { method: 'PATCH', key: admin.key, body: { first_party: true } })
    assert.equal(marked.status, 200)
    for (let n = 0; n < 3; n++) assert.equal((await call('/api/v1/posts', token)).status, 200)
  })
  await withFixture({ rateLimit: 'off' }, async fixture => {
    const { call, admin, ann } = fixture
    const app = await fixture.app({ scopes })
    const token = await tokenOf(fixture, app, ann)
    await call(`/api/v1/oauth_apps/${app.id}`, {
      ...{ method: 'PATCH', key: admin.key, body: { requests_per_minute: 1 } },
    })
    for (let n = 0; n < 3; n++) assert.equal((await call('/api/v1/posts', token)).status, 200)
  })
})

test("explanations of an app's keys name its limit", () =>
  withFixture({ rateLimit: { app: limit } }, async fixture => {
    const { call, ann, admin } = fixture
    const app = await fixture.app({ scopes })
    const ofAnn = await tokenOf(fixture, app, ann)
    const { json: key } = await call('/api/v1/api_keys', {
      method: 'POST',
      ...ofAnn,
      body: { name: 'Of the app' },
    })
    const explained = async () => {
      const body = { api_key: key.id, path: '/posts' }
      const { json } = await call('/api/v1/explain', { method: 'POST', key: admin.key, body })
      const real = await call('/api/v1/posts', { key: String(key.key) })
      assert.equal(json.status, real.status)
      // biome-ignore lint/suspicious/noExplicitAny: the test checks the structure.
      return json as any
    }
    const inForce = await explained()
    assert.deepEqual(inForce.limits, [
      { name: 'user', requests: 1000, seconds: 60 },
      { name: 'app', requests: limit, seconds: 60 },
    ])
    assert.deepEqual(inForce.as.scopes, [...scopes].sort())
    const [first = ''] = scopes
    for (const subject of [{ as: ann.id }, {}]) {
      const explainApp = async (further: object) => {
        const body = { ...subject, app: app.id, path: '/posts', ...further }
        return (await call('/api/v1/explain', { method: 'POST', key: admin.key, body })).json
      }
      const throughApp = await explainApp({})
      // biome-ignore lint/suspicious/noExplicitAny: the test checks the structure.
      const { limits, as } = throughApp as any
      assert.deepEqual([limits.at(-1), as.scopes], [inForce.limits[1], [...scopes].sort()])
      // biome-ignore lint/suspicious/noExplicitAny: the test checks the structure.
      const narrowed = (await explainApp({ scopes: [first, 'write:user'] })) as any
      assert.deepEqual(narrowed.as.scopes, [first])
      assert.equal(
        ((await explainApp({ app: 999 })) as { error?: { code: string } }).error?.code,
        'VALIDATION_FAILED',
      )
      assert.equal(
        ((await explainApp({ api_key: key.id })) as { error?: { code: string } }).error?.code,
        'VALIDATION_FAILED',
      )
    }
  }))
