/** Code exchange (RFC 6749, 4.1.3) and refresh (6): the responses, the stored records, and the refusals with their effects. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sqlite } from '../../../setups/sqlite.ts'
import {
  type App,
  clientCredentials,
  type Fixture,
  newCode,
  newTokens,
  post,
  redirectUri,
  sharedFixtures,
  type TokenAnswer,
} from '../../conformance/server.ts'

const withFixture = sharedFixtures(sqlite)

type Form = Record<string, string>

const verifier = 'v'.repeat(50)
const pkce = { code_challenge: hash('sha256', verifier, 'base64url'), code_challenge_method: 'S256' }
const tokenRequest = ({ url }: Fixture, form: Form, headers?: Readonly<Record<string, string>>) =>
  post(`${url}/oauth/token`, form, headers)

const opaque = /^[A-Za-z0-9_-]{43}$/
const jwt = /^[\w-]+\.[\w-]+\.[\w-]+$/
const keptAfterExpiryMs: Readonly<Record<string, number>> = {
  AccessToken: 0,
  Grant: 0,
  AuthorizationCode: 600_000,
  RefreshToken: 86_400_000,
}

interface Stored {
  readonly kind: string
  readonly isConsumed: boolean
  readonly payload: Readonly<Record<string, unknown>>
}

function rows(file: string, sql: string, ...values: string[]): readonly Record<string, unknown>[] {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return database.prepare(sql).all(...values) as Record<string, unknown>[]
  } finally {
    database.close()
  }
}

function newestGrant({ deployment }: Fixture): string {
  const [found] = rows(
    deployment.database,
    `SELECT id FROM _records WHERE kind = 'Grant' ORDER BY rowid DESC LIMIT 1`,
  )
  return String(found?.id)
}

/** The codes and tokens of a grant, oldest first. */
function recordsOf({ deployment }: Fixture, grant: string): readonly Stored[] {
  const sql = 'SELECT kind, payload, expires_at, consumed_at FROM _records WHERE grant_id = ? ORDER BY rowid'
  return rows(deployment.database, sql, grant).map(
    ({ kind, payload, expires_at: end, consumed_at: consumed }) => {
      const stored = JSON.parse(String(payload))
      // Codes and refresh tokens outlive their expiry for a while, so that clients get an error that says so.
      assert.equal(Number(end) - stored.exp * 1000, keptAfterExpiryMs[String(kind)])
      assert.equal(stored.grantId, grant)
      return { kind: String(kind), isConsumed: consumed !== null, payload: stored }
    },
  )
}

const cases = [
  { scope: 'read:post', values: {}, parameters: {}, sent: 'form' },
  { scope: 'offline_access read:post write:post', values: {}, parameters: {}, sent: 'form' },
  {
    scope: 'offline_access read:user',
    values: { access_token_format: 'jwt' },
    parameters: pkce,
    sent: 'basic',
  },
  {
    scope: 'offline_access read:user read:post',
    values: { scope_separator: ' ' },
    parameters: pkce,
    sent: 'form',
  },
  { scope: 'openid offline_access read:user', values: {}, parameters: {}, sent: 'basic' },
  { scope: 'offline_access read:post', values: {}, parameters: {}, sent: 'short' },
] as const

for (const { scope, values, parameters, sent } of cases) {
  test(`a code for ${scope} returns tokens, and each refresh returns the next ones (${sent})`, () =>
    withFixture(async fixture => {
      const app = await fixture.app(values)
      const request = {
        browser: fixture.browser(),
        person: fixture.ann,
        scope,
        parameters: { prompt: 'consent', ...parameters },
      }
      const code = await newCode(fixture, app, request)
      const grant = newestGrant(fixture)
      const basic = Buffer.from(`${app.client_id}:${app.client_secret}`).toString('base64')
      const headers: Record<string, string> = sent === 'basic' ? { Authorization: `Basic ${basic}` } : {}
      const credentials = sent === 'basic' ? {} : clientCredentials(app)
      const exchange: Form = { code, redirect_uri: redirectUri, ...credentials }
      if (sent !== 'short') exchange.grant_type = 'authorization_code'
      if ('code_challenge' in parameters) exchange.code_verifier = verifier
      const isLasting = scope.includes('offline_access')
      let answer = await tokenRequest(fixture, exchange, headers)
      for (let turn = 0; turn <= (isLasting ? 3 : 0); turn++) {
        if (turn > 0) {
          const token = String(answer.json.refresh_token)
          const form = { grant_type: 'refresh_token', refresh_token: token, ...credentials }
          answer = await tokenRequest(fixture, form, headers)
        }
        requireTokens(answer, { scope, ...values })
        requireStored(recordsOf(fixture, grant), isLasting ? turn : undefined, scope)
      }
      const { status } = await fixture.call('/api/v1/posts', { key: String(answer.json.access_token) })
      assert.equal(status, scope.includes('post') ? 200 : 403)
    }))
}

interface Expected {
  readonly scope: string
  readonly access_token_format?: string
  readonly scope_separator?: string
}

function requireTokens({ status, json, headers, text }: TokenAnswer, expected: Expected): void {
  assert.equal(status, 200, text)
  const { scope, access_token_format: format, scope_separator: separator = ',' } = expected
  assert.match(String(json.access_token), format === 'jwt' ? jwt : opaque)
  assert.equal(json.refresh_token !== undefined, scope.includes('offline_access'))
  assert.equal(json.id_token !== undefined, scope.includes('openid'))
  assert.deepEqual([json.token_type, json.expires_in], ['bearer', 3600])
  assert.equal(json.scope, scope.replaceAll(' ', separator))
  assert.equal(headers.get('cache-control'), 'no-store')
}

/** `turn`: the number of refreshes; undefined if there is no refresh token. */
function requireStored(records: readonly Stored[], turn: number | undefined, scope: string): void {
  const of = (kind: string) => records.filter(record => record.kind === kind)
  assert.ok(of('AuthorizationCode').every(({ isConsumed }) => isConsumed))
  assert.equal(of('AccessToken').length, (turn ?? 0) + 1)
  assert.equal(of('RefreshToken').length, turn === undefined ? 0 : turn + 1)
  const [first] = of('RefreshToken')
  for (const [rotations, { isConsumed, payload }] of of('RefreshToken').entries()) {
    assert.equal(isConsumed, rotations !== turn)
    const gty = rotations === 0 ? 'authorization_code' : 'authorization_code refresh_token'
    assert.deepEqual([payload.rotations, payload.gty, payload.scope], [rotations, gty, scope])
    // A rotation does not extend the lifetime of the chain.
    assert.deepEqual([payload.iiat, payload.authTime], [first?.payload.iiat, first?.payload.authTime])
    assert.equal(Number(payload.exp) - Number(payload.iat), 30 * 24 * 3600)
  }
  for (const { payload } of of('AccessToken')) assert.equal(Number(payload.exp) - Number(payload.iat), 3600)
}

type Spoil = (form: Form, other: App) => unknown

/** The change to the request, the error, and whether the code can be exchanged afterwards. */
const wrongExchanges: Readonly<Record<string, readonly [Spoil, error: string | undefined, later: number]>> = {
  'another app’s': [(form, other) => Object.assign(form, clientCredentials(other)), 'invalid_grant', 200],
  'a wrong secret': [form => Object.assign(form, { client_secret: 'wrong' }), 'invalid_client', 200],
  'no secret': [form => delete form.client_secret, 'invalid_client', 200],
  'another redirect URI': [
    form => Object.assign(form, { redirect_uri: `${redirectUri}/x` }),
    'invalid_grant',
    200,
  ],
  'no redirect URI': [form => delete form.redirect_uri, 'invalid_request', 200],
  'a wrong verifier': [form => Object.assign(form, { code_verifier: 'w'.repeat(50) }), 'invalid_grant', 200],
  'a short verifier': [form => Object.assign(form, { code_verifier: 'v' }), 'invalid_request', 200],
  'no verifier': [form => delete form.code_verifier, 'invalid_grant', 200],
  'an unknown code': [form => Object.assign(form, { code: 'a'.repeat(43) }), 'invalid_grant', 200],
  'no code': [form => delete form.code, 'invalid_request', 200],
  'an empty code': [form => Object.assign(form, { code: '' }), 'invalid_request', 200],
  'the wrong grant type': [
    form => Object.assign(form, { grant_type: 'refresh_token' }),
    'invalid_request',
    200,
  ],
  'an unsupported grant type': [
    form => Object.assign(form, { grant_type: 'password' }),
    'unsupported_grant_type',
    200,
  ],
  'the resource of another server': [
    form => Object.assign(form, { resource: 'https://other.example' }),
    'invalid_target',
    400,
  ],
  'a scope, which is ignored': [form => Object.assign(form, { scope: 'read:user' }), undefined, 400],
}

for (const [what, [spoil, error, later]] of Object.entries(wrongExchanges)) {
  test(`an exchange with ${what} gets ${error ?? 'tokens'}`, () =>
    withFixture(async fixture => {
      const [app, other] = [await fixture.app(), await fixture.app({ name: 'Other' })]
      const request = { browser: fixture.browser(), person: fixture.ann, parameters: pkce }
      const code = await newCode(fixture, app, { ...request, scope: 'read:post' })
      const grant = newestGrant(fixture)
      const right = {
        grant_type: 'authorization_code',
        code,
        redirect_uri: redirectUri,
        code_verifier: verifier,
        ...clientCredentials(app),
      }
      const form: Form = { ...right }
      spoil(form, other)
      const answer = await tokenRequest(fixture, form)
      assert.deepEqual([answer.json.error, answer.status === 200], [error, error === undefined], answer.text)
      const issued = recordsOf(fixture, grant).filter(({ kind }) => kind !== 'AuthorizationCode')
      assert.equal(issued.length, error === undefined ? 1 : 0)
      assert.equal((await tokenRequest(fixture, right)).status, later)
    }))
}

type SpoilRefresh = (fixture: Fixture, app: App, form: Form) => Promise<unknown>

/** The step before the refresh, the error, and the number of tokens left in the grant. */
const refreshes: Readonly<Record<string, readonly [SpoilRefresh, error: string | undefined, left: number]>> =
  {
    'used before': [(fixture, _app, form) => tokenRequest(fixture, form), 'invalid_grant', 0],
    revoked: [
      ({ url }, app, form) =>
        post(`${url}/oauth/revoke`, { token: form.refresh_token ?? '', ...clientCredentials(app) }),
      'invalid_grant',
      0,
    ],
    'another app’s': [
      async (fixture, _app, form) =>
        Object.assign(form, clientCredentials(await fixture.app({ name: 'Other' }))),
      'invalid_grant',
      2,
    ],
    unknown: [
      async (_fixture, _app, form) => Object.assign(form, { refresh_token: 'a'.repeat(43) }),
      'invalid_grant',
      2,
    ],
    'used for a covered scope': [
      async (_fixture, _app, form) => Object.assign(form, { scope: 'read:post' }),
      undefined,
      4,
    ],
    'used for a further scope': [
      async (_fixture, _app, form) => Object.assign(form, { scope: 'read:user' }),
      'invalid_scope',
      2,
    ],
    'held by an app that lost a scope': [
      ({ call, ann }, app) =>
        call(`/api/v1/oauth_apps/${app.id}`, {
          method: 'PATCH',
          key: ann.key,
          body: { scopes: ['offline_access', 'read:post'], default_scopes: null },
        }),
      undefined,
      4,
    ],
    'held by a deleted app': [
      ({ call, ann }, app) => call(`/api/v1/oauth_apps/${app.id}`, { method: 'DELETE', key: ann.key }),
      'invalid_client',
      2,
    ],
  }

for (const [what, [spoil, error, left]] of Object.entries(refreshes)) {
  test(`a refresh token that is ${what} gets ${error ?? 'the next tokens'}`, () =>
    withFixture(async fixture => {
      const app = await fixture.app()
      const request = { browser: fixture.browser(), person: fixture.ann, scope: 'offline_access write:post' }
      const { refresh_token = '' } = await newTokens(fixture, app, request)
      const grant = newestGrant(fixture)
      const form: Form = { grant_type: 'refresh_token', refresh_token, ...clientCredentials(app) }
      await spoil(fixture, app, form)
      const { status, json, text } = await tokenRequest(fixture, form)
      assert.deepEqual([json.error, status === 200], [error, error === undefined], text)
      const tokens = recordsOf(fixture, grant).filter(({ kind }) => kind !== 'AuthorizationCode')
      assert.equal(tokens.length, left)
    }))
}

test('a refresh does not return a scope that the app has lost', () =>
  withFixture(async fixture => {
    const app = await fixture.app()
    const request = { browser: fixture.browser(), person: fixture.ann, scope: 'offline_access write:post' }
    const { refresh_token = '' } = await newTokens(fixture, app, request)
    await refreshes['held by an app that lost a scope']?.[0](fixture, app, {})
    const form = { grant_type: 'refresh_token', refresh_token, ...clientCredentials(app) }
    const { json } = await tokenRequest(fixture, form)
    assert.equal(json.scope, 'offline_access,read:post')
  }))
