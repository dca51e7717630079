/** Rate limits of the authorization server: a tight one for failed requests, and the app’s own for authenticated ones. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { earlyInMinute } from '../../engine/cluster/window.ts'
import {
  type App,
  clientCredentials,
  type Fixture,
  post,
  type TokenAnswer,
  withFixture,
} from '../conformance/server.ts'

function ownToken({ url }: Fixture, app: App, more: Readonly<Record<string, string>> = {}) {
  return post(`${url}/oauth/token`, {
    grant_type: 'client_credentials',
    scope: 'read:post',
    ...clientCredentials(app),
    ...more,
  })
}

const wrong = { client_secret: 'ps_guess' }

function countOf(answers: readonly TokenAnswer[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

const times = <T>(count: number, make: (at: number) => T) =>
  Array.from({ length: count }, (_, at) => make(at))

test('a busy app is not limited by the budget for failed requests, however many requests are concurrent', async () => {
  await withFixture({ rateLimit: { user: 1000, address: 1000, token: 8 } }, async fixture => {
    await earlyInMinute()
    const app = await fixture.app()
    const answers = await Promise.all(times(200, () => ownToken(fixture, app)))
    assert.deepEqual(countOf(answers), { 200: 200 })
    assert.equal(answers[0]?.headers.get('x-ratelimit-limit'), '1000')
  })
})

test('of many concurrent guesses, exactly as many are checked as the budget allows', async () => {
  await withFixture({ rateLimit: { user: 1000, address: 1000, token: 20 } }, async fixture => {
    await earlyInMinute()
    const app = await fixture.app()
    await Promise.all(times(30, () => ownToken(fixture, app)))
    const answers = await Promise.all(times(300, () => ownToken(fixture, app, wrong)))
    assert.deepEqual(countOf(answers), { 401: 20, 429: 280 })
    assert.equal(
      (await ownToken(fixture, app)).status,
      429,
      'the right secret is not distinguished after them',
    )
  })
})

test('guesses in the name of an app do not use up its budget', async () => {
  await withFixture({ rateLimit: { user: 10, address: 10, token: 100 } }, async fixture => {
    await earlyInMinute()
    const app = await fixture.app()
    for (const answer of await Promise.all(times(30, () => ownToken(fixture, app, wrong)))) {
      assert.ok(answer.status === 401 || answer.status === 429)
    }
    assert.deepEqual(countOf(await Promise.all(times(10, () => ownToken(fixture, app)))), { 200: 10 })
    const last = await ownToken(fixture, app)
    assert.deepEqual([last.status, last.headers.get('x-ratelimit-limit')], [429, '10'])
  })
})

test('an app draws from its own budget whether its secret is in the header or in the form', async () => {
  await withFixture({ rateLimit: { user: 50, address: 2 } }, async fixture => {
    await earlyInMinute()
    const app = await fixture.app()
    const basic = Buffer.from(`${app.client_id}:${app.client_secret}`).toString('base64')
    const form = { grant_type: 'client_credentials', scope: 'read:post' }
    const limitOf = ({ headers }: TokenAnswer) => headers.get('x-ratelimit-limit')
    const byHeader = await post(`${fixture.url}/oauth/token`, form, { Authorization: `Basic ${basic}` })
    const byForm = await ownToken(fixture, app)
    assert.deepEqual([byHeader, byForm].map(limitOf), ['50', '50'])
    assert.equal(byForm.headers.get('x-ratelimit-remaining'), '48')
  })
})

test('a request without a secret draws from its address’s budget, and a client id alone from no app’s', async () => {
  await withFixture({ rateLimit: { user: 50, address: 3 } }, async fixture => {
    await earlyInMinute()
    const app = await fixture.app({ type: 'public' })
    const form = { client_id: app.client_id, scope: 'read:post' }
    const pretended = await post(`${fixture.url}/oauth/device`, { ...form, client_secret: 'ps_none' })
    assert.equal(pretended.status, 401, 'a public app has no secret')
    const send = () => post(`${fixture.url}/oauth/device`, form)
    const answers = [await send(), await send(), await send(), await send()]
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 429],
    )
    assert.equal(answers[0]?.headers.get('x-ratelimit-limit'), '3')
  })
})

test('polling with a pending device code does not count as a guess', async () => {
  await withFixture({ rateLimit: { user: 1000, address: 1000, token: 4 } }, async fixture => {
    await earlyInMinute()
    const app = await fixture.app({ type: 'public' })
    const { client_id } = app
    const { json } = await post(`${fixture.url}/oauth/device`, { client_id, scope: 'read:post' })
    const form = {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id,
      device_code: String(json.device_code),
    }
    for (let poll = 0; poll < 20; poll++) {
      const answer = await post(`${fixture.url}/oauth/token`, form)
      const error = poll === 0 ? 'authorization_pending' : 'slow_down'
      assert.deepEqual([answer.status, answer.json.error], [400, error])
    }
    const guesses = await Promise.all(
      times(10, at => post(`${fixture.url}/oauth/token`, { ...form, device_code: `guess ${at}` })),
    )
    assert.deepEqual(countOf(guesses), { 400: 4, 429: 6 })
  })
})

test('a request that is too large to read draws from the tight budget', async () => {
  await withFixture({ rateLimit: { user: 1000, address: 1000, token: 2 } }, async fixture => {
    await earlyInMinute()
    const huge = () => post(`${fixture.url}/oauth/token`, { code: 'x'.repeat(70_000) })
    const statuses = [await huge(), await huge(), await huge()].map(({ status }) => status)
    assert.deepEqual(statuses, [413, 413, 429])
  })
})

test('a rate-limited app does not use up the budget of its address', async () => {
  await withFixture({ rateLimit: { user: 3, address: 1000, token: 2 } }, async fixture => {
    await earlyInMinute()
    const [one, other] = [await fixture.app(), await fixture.app()]
    const answers = await Promise.all(times(20, () => ownToken(fixture, one)))
    assert.deepEqual(countOf(answers), { 200: 3, 429: 17 })
    assert.equal((await ownToken(fixture, other)).status, 200)
  })
})
