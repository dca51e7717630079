/** The quick way of exchange and refresh answers, stores and refuses as the library does. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { mock, test } from 'node:test'
import { QuickGrants } from '../../../src/auth/server/quick-grants.ts'
import {
  type App,
  type Fixture,
  newCode,
  newTokens,
  post,
  redirectUri,
  secretOf,
  type TokenAnswer,
  withFixture,
} from '../../conformance/oauth/server.ts'

const spy = mock.method(QuickGrants.prototype, 'answer')

/** How many requests the quick way has answered since it was last asked. */
async function quickAnswers(): Promise<number> {
  const answers = await Promise.all(spy.mock.calls.map(({ result }) => result))
  spy.mock.resetCalls()
  return answers.filter(answer => answer !== undefined).length
}

const changing = ['date', 'x-request-id', 'connection', 'keep-alive']
const verifier = 'v'.repeat(50)
const pkce = { code_challenge: hash('sha256', verifier, 'base64url'), code_challenge_method: 'S256' }

/** What is the same each time. A token stands for its form. */
function shapeOf({ status, headers, json, text }: TokenAnswer) {
  const kept = [...headers].filter(([name]) => !changing.includes(name))
  const formOf = (value: unknown) =>
    String(value).includes('.') ? 'jwt' : /^[A-Za-z0-9_-]{43}$/.test(String(value)) ? 'opaque' : String(value)
  const shown = Object.entries(json).map(([name, value]) => [name, formOf(value)])
  return { status, headers: Object.fromEntries(kept), shown, length: text.length }
}

const keptMinutes: Readonly<Record<string, number>> = { AuthorizationCode: 10, RefreshToken: 24 * 60 }

interface Row {
  readonly kind: string
  readonly payload: string
  readonly [column: string]: unknown
}

/** The records of one consent, without what is random, and with times as how long they last. */
function recordsOf(file: string, grant: string): readonly object[] {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const rows = database.prepare('SELECT * FROM _records WHERE grant_id = ?').all(grant) as unknown as Row[]
    const known = rows.map(
      ({ id: _id, payload, consumed_at: consumed, expires_at: end, grant_id, ...row }) => {
        const { iat, exp, authTime, iiat, grantId, sessionUid, ...rest } = JSON.parse(payload)
        assert.equal(grantId, grant)
        assert.equal(grant_id, grant)
        // Codes and refresh tokens stay for a while, so that who comes too late is told so.
        assert.equal(Number(end) - exp * 1000, (keptMinutes[row.kind] ?? 0) * 60_000)
        assert.ok(iiat === undefined || (iiat <= iat && iiat > iat - 60))
        const there = [typeof authTime, typeof iiat, typeof sessionUid].join()
        return {
          ...row,
          life: exp - iat,
          isUsed: consumed !== null,
          there,
          members: Object.keys(JSON.parse(payload)),
          ...rest,
        }
      },
    )
    return known
      .map(row => ({ ...row, members: row.members.sort() }))
      .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  } finally {
    database.close()
  }
}

function newestGrant(file: string): string {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const row = database
      .prepare(`SELECT id FROM _records WHERE kind = 'Grant' ORDER BY rowid DESC LIMIT 1`)
      .get()
    return String(row?.id)
  } finally {
    database.close()
  }
}

type Ask = (
  form: Readonly<Record<string, string>>,
  headers?: Readonly<Record<string, string>>,
) => Promise<TokenAnswer>

/** Both ways. The library looks away from a parameter that it does not know; the quick way leaves it alone. */
const waysOf = ({ url }: Fixture): Readonly<Record<'quick' | 'slow', Ask>> => ({
  quick: (form, headers) => post(`${url}/oauth/token`, form, headers),
  slow: (form, headers) => post(`${url}/oauth/token`, { ...form, unknown: 'x' }, headers),
})

const basicOf = ({ client_id: id, client_secret: secret }: App) => ({
  Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})

const cases = [
  { scope: 'read:post', values: {}, parameters: {}, shown: 'form' },
  { scope: 'offline_access read:post write:post', values: {}, parameters: {}, shown: 'form' },
  {
    scope: 'offline_access read:user',
    values: { access_token_format: 'jwt' },
    parameters: pkce,
    shown: 'basic',
  },
  {
    scope: 'offline_access read:user read:post',
    values: { scope_separator: ' ' },
    parameters: pkce,
    shown: 'form',
  },
  { scope: 'openid offline_access read:user', values: {}, parameters: {}, shown: 'basic' },
  { scope: 'offline_access read:post', values: {}, parameters: { nonce: undefined }, shown: 'short' },
] as const

for (const [index, { scope, values, parameters, shown }] of cases.entries()) {
  test(`exchange and five refreshes, quick, slow and mixed, answer and store the same: ${index} ${scope}`, async () => {
    await withFixture({}, async fixture => {
      const app = await fixture.app(values)
      const ways = waysOf(fixture)
      const browser = fixture.browser()
      const told: unknown[] = []
      for (const order of [['quick'], ['slow'], ['quick', 'slow'], ['slow', 'quick']] as const) {
        const asked = Object.fromEntries(
          Object.entries(parameters).filter(([, value]) => value !== undefined),
        )
        const code = await newCode(fixture, app, {
          browser,
          person: fixture.ann,
          scope,
          parameters: { prompt: 'consent', ...(asked as Record<string, string>) },
        })
        const grant = newestGrant(fixture.place.database)
        const credentials = shown === 'basic' ? {} : secretOf(app)
        const headers = shown === 'basic' ? basicOf(app) : {}
        await quickAnswers()
        const exchange = {
          ...(shown === 'short' ? {} : { grant_type: 'authorization_code' }),
          code,
          redirect_uri: redirectUri,
          ...('code_challenge' in parameters ? { code_verifier: verifier } : {}),
          ...credentials,
        }
        let answer = await ways[order[0]](exchange, headers)
        assert.equal(answer.status, 200, answer.text)
        const answers = [shapeOf(answer)]
        for (let turn = 1; turn <= 5 && typeof answer.json.refresh_token === 'string'; turn++) {
          const token = answer.json.refresh_token
          const form = { grant_type: 'refresh_token', refresh_token: token, ...credentials }
          answer = await ways[order[turn % order.length] ?? 'quick'](form, headers)
          assert.equal(answer.status, 200, answer.text)
          answers.push(shapeOf(answer))
        }
        const isQuick = (turn: number) => order[turn % order.length] === 'quick'
        const quickTurns = answers.filter((_, turn) => isQuick(turn)).length
        // An ID token is the library's to make.
        assert.equal(await quickAnswers(), scope.startsWith('openid') ? 0 : quickTurns)
        const key = String(answer.json.access_token)
        const { status } = await fixture.call('/api/v1/posts', { key })
        assert.equal(status, scope.includes('post') ? 200 : 403)
        told.push({ answers, records: recordsOf(fixture.place.database, grant) })
      }
      const [quick, ...others] = told
      for (const other of others) assert.deepEqual(other, quick)
    })
  })
}

test('where refreshes are answered again, exchanges are quick all the same', async () => {
  await withFixture({ 'oauth.refreshReplay': 60 }, async fixture => {
    const app = await fixture.app()
    const browser = fixture.browser()
    await quickAnswers()
    const tokens = await newTokens(fixture, app, {
      browser,
      person: fixture.ann,
      scope: 'offline_access read:post',
    })
    assert.equal(await quickAnswers(), 1)
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '', ...secretOf(app) }
    const [one, two] = [
      await post(`${fixture.url}/oauth/token`, form),
      await post(`${fixture.url}/oauth/token`, form),
    ]
    assert.deepEqual([one.status, two.text], [200, one.text])
    assert.equal(await quickAnswers(), 0)
  })
})

type Wrong = (form: Record<string, string>, other: App) => void

const wrongs: Readonly<Record<string, Wrong>> = {
  'another app’s': (form, other) => Object.assign(form, secretOf(other)),
  'a wrong secret': form => Object.assign(form, { client_secret: 'wrong' }),
  'no secret': form => delete form.client_secret,
  'another redirect URI': form => Object.assign(form, { redirect_uri: `${redirectUri}/x` }),
  'no redirect URI': form => delete form.redirect_uri,
  'a wrong verifier': form => Object.assign(form, { code_verifier: 'w'.repeat(50) }),
  'a short verifier': form => Object.assign(form, { code_verifier: 'v' }),
  'no verifier': form => delete form.code_verifier,
  'an unknown code': form => Object.assign(form, { code: 'a'.repeat(43) }),
  'no code': form => delete form.code,
  'an empty code': form => Object.assign(form, { code: '' }),
  'the wrong grant': form => Object.assign(form, { grant_type: 'refresh_token' }),
  'no grant': form => Object.assign(form, { grant_type: 'password' }),
  'a resource of others': form => Object.assign(form, { resource: 'https://other.example' }),
  'a scope in an exchange': form => Object.assign(form, { scope: 'read:user' }),
}

test('what is wrong with an exchange is told, and has the same effect, either way', async () => {
  await withFixture({}, async fixture => {
    const [app, other] = [await fixture.app(), await fixture.app({ name: 'Other' })]
    const ways = waysOf(fixture)
    const browser = fixture.browser()
    for (const [what, spoil] of Object.entries(wrongs)) {
      const told = []
      for (const ask of [ways.quick, ways.slow]) {
        const code = await newCode(fixture, app, {
          browser,
          person: fixture.ann,
          scope: 'offline_access read:post',
          parameters: { prompt: 'consent', ...pkce },
        })
        const grant = newestGrant(fixture.place.database)
        const right = {
          grant_type: 'authorization_code',
          code,
          redirect_uri: redirectUri,
          code_verifier: verifier,
          ...secretOf(app),
        }
        const form: Record<string, string> = { ...right }
        spoil(form, other)
        const wrong = shapeOf(await ask(form))
        const records = recordsOf(fixture.place.database, grant)
        told.push({
          wrong,
          records,
          later: shapeOf(await ask(right)),
          after: recordsOf(fixture.place.database, grant),
        })
      }
      assert.deepEqual(told[0], told[1], what)
    }
  })
})

test('a refresh of what is used up, revoked, narrowed, another’s or without its user is refused either way', async () => {
  const spoils: Readonly<
    Record<string, (fixture: Fixture, app: App, form: Record<string, string>, ask: Ask) => Promise<unknown>>
  > = {
    'used up': (_fixture, _app, form, ask) => ask(form),
    revoked: ({ url }, app, form) =>
      post(`${url}/oauth/revoke`, { token: form.refresh_token ?? '', ...secretOf(app) }),
    'another app’s': async (fixture, _app, form) => Object.assign(form, secretOf(await fixture.app())),
    unknown: async (_fixture, _app, form) => Object.assign(form, { refresh_token: 'a'.repeat(43) }),
    narrower: async (_fixture, _app, form) => Object.assign(form, { scope: 'read:post' }),
    beyond: async (_fixture, _app, form) => Object.assign(form, { scope: 'read:user' }),
    'of an app that lost the scope': ({ call, ann }, app) =>
      call(`/api/v1/oauth_apps/${app.id}`, {
        method: 'PATCH',
        key: ann.key,
        body: { scopes: ['offline_access', 'read:post'], default_scopes: null },
      }),
    'of an app that is gone': ({ call, ann }, app) =>
      call(`/api/v1/oauth_apps/${app.id}`, { method: 'DELETE', key: ann.key }),
  }
  await withFixture({}, async fixture => {
    const ways = waysOf(fixture)
    const browser = fixture.browser()
    for (const [what, spoil] of Object.entries(spoils)) {
      const told = []
      for (const ask of [ways.quick, ways.slow]) {
        const app = await fixture.app({ redirect_uris: [redirectUri] })
        const person = fixture.ann
        const tokens = await newTokens(fixture, app, { browser, person, scope: 'offline_access write:post' })
        const grant = newestGrant(fixture.place.database)
        const { refresh_token = '' } = tokens
        const form: Record<string, string> = { grant_type: 'refresh_token', refresh_token, ...secretOf(app) }
        await spoil(fixture, app, form, ask)
        const answer = shapeOf(await ask(form))
        const records = recordsOf(fixture.place.database, grant).map(row => ({ ...row, clientId: 'the app' }))
        told.push({ answer, records })
      }
      assert.deepEqual(told[0], told[1], what)
    }
  })
})

test('a user who is deleted has no tokens refreshed, either way', async () => {
  await withFixture({}, async fixture => {
    const { url, call, admin, ben } = fixture
    const app = await fixture.app()
    const tokens = await newTokens(fixture, app, {
      browser: fixture.browser(),
      person: ben,
      scope: 'offline_access read:post',
    })
    assert.equal((await call(`/api/v1/users/${ben.id}`, { method: 'DELETE', key: admin.key })).status, 204)
    for (const more of [{}, { unknown: 'x' }]) {
      const form = {
        grant_type: 'refresh_token',
        refresh_token: tokens.refresh_token ?? '',
        ...secretOf(app),
      }
      const { status, json } = await post(`${url}/oauth/token`, { ...form, ...more })
      assert.deepEqual([status, json.error], [400, 'invalid_grant'])
    }
  })
})
