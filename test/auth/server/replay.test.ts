/** A refresh that comes twice gets the same answer, whichever node is asked, where the service is set so. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { serve } from '../../../src/serve.ts'
import {
  type App,
  type Fixture,
  newTokens,
  post,
  secretOf,
  withFixture,
} from '../../conformance/oauth/server.ts'
import blog from '../../models/blog.ts'

const replay = { 'oauth.refreshReplay': 60 } as const
const scope = 'openid offline_access read:post read:user'

/** The addresses of three nodes on one database. */
async function withNodes(
  use: (fixture: Fixture, urls: readonly string[]) => Promise<void>,
  settings: object = replay,
): Promise<void> {
  await withFixture(settings, async fixture => {
    const others = await Promise.all(
      [1, 2].map(() =>
        serve(blog, {
          host: '127.0.0.1',
          port: 0,
          baseUrl: fixture.url,
          database: fixture.file,
          logLevel: 'silent',
          rateLimit: 'off',
          ...settings,
        }),
      ),
    )
    try {
      await use(fixture, [fixture.url, ...others.map(({ url }) => url)])
    } finally {
      await Promise.all(others.map(service => service.close()))
    }
  })
}

async function refreshForm(fixture: Fixture, app: App): Promise<Record<string, string>> {
  const { refresh_token } = await newTokens(fixture, app, {
    browser: fixture.browser(),
    person: fixture.ann,
    scope,
  })
  assert.ok(refresh_token)
  return { grant_type: 'refresh_token', refresh_token, ...secretOf(app) }
}

test('twenty at once over three nodes: one refresh, and everybody gets its tokens', async () => {
  await withNodes(async (fixture, urls) => {
    const app = await fixture.app()
    const form = await refreshForm(fixture, app)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => post(`${urls[at % 3]}/oauth/token`, form)),
    )
    for (const { status, json } of answers) {
      assert.equal(status, 200, JSON.stringify(json))
      assert.deepEqual(json, answers[0]?.json)
    }
    const headers = { Authorization: `Bearer ${answers[0]?.json.access_token}` }
    for (const url of urls) assert.equal((await fetch(`${url}/api/v1/posts`, { headers })).status, 200)
    // Anything else with that token is a theft: it ends the grant.
    const other = await post(`${urls[1]}/oauth/token`, { ...form, scope: 'read:post' })
    assert.deepEqual([other.status, other.json.error], [400, 'invalid_grant'])
    for (const url of urls) assert.equal((await fetch(`${url}/api/v1/posts`, { headers })).status, 401)
  })
})

test('after a restart it is answered again, and only to who proves the same', async () => {
  await withFixture(replay, async fixture => {
    const app = await fixture.app()
    const form = await refreshForm(fixture, app)
    const first = await post(`${fixture.url}/oauth/token`, form)
    assert.equal(first.status, 200)
    await fixture.restart()
    assert.deepEqual((await post(`${fixture.url}/oauth/token`, form)).json, first.json)
    const wrong = await post(`${fixture.url}/oauth/token`, { ...form, client_secret: 'ps_guess' })
    assert.deepEqual([wrong.status, wrong.json.error], [401, 'invalid_client'])
    assert.deepEqual((await post(`${fixture.url}/oauth/token`, form)).json, first.json)
  })
})

test('what was refused is not kept, and is refused again', async () => {
  await withFixture(replay, async fixture => {
    const app = await fixture.app()
    const form = { ...(await refreshForm(fixture, app)), refresh_token: 'x'.repeat(43) }
    for (let count = 0; count < 2; count++) {
      const answer = await post(`${fixture.url}/oauth/token`, form)
      assert.deepEqual([answer.status, answer.json.error], [400, 'invalid_grant'])
    }
    assert.deepEqual(kept(fixture.file), [])
  })
})

function kept(file: string): readonly string[] {
  const database = new DatabaseSync(file, { readOnly: true })
  const rows = database.prepare(`SELECT "payload" FROM "_records" WHERE "kind" = 'RefreshReplay'`).all()
  database.close()
  return rows.map(({ payload }) => String(payload))
}

test('the database does not tell the tokens of an answer', async () => {
  await withFixture(replay, async fixture => {
    const app = await fixture.app()
    const { json } = await post(`${fixture.url}/oauth/token`, await refreshForm(fixture, app))
    const [payload = '', ...others] = kept(fixture.file)
    assert.ok(payload.length > 100 && others.length === 0)
    const bytes = Buffer.from(payload, 'base64url').toString('latin1')
    for (const secret of [json.access_token, json.refresh_token, json.id_token].map(String)) {
      assert.ok(!payload.includes(secret) && !bytes.includes(secret))
    }
    assert.doesNotMatch(bytes, /access_token/)
  })
})
