/** The log contains no secret that the service has received, even with every kind of message logged. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { generateKey } from '../../src/identity/keys/key.ts'
import { call } from '../server/serve/service.ts'
import { startProcess } from '../system/processes/portico.ts'
import { Browser } from './conformance/browser.ts'
import {
  type App,
  clientCredentials,
  type Fixture,
  newTokens,
  type Person,
  post,
  redirectUri,
} from './conformance/server.ts'

const password = 'the password of the administrator'
const registrationToken = 'an-initial-access-token-that-is-long'
const secretKey = `${'k'.repeat(20)}ey-that-seals-everything`

interface Running {
  readonly url: string
  readonly key: string
  logged(): string
}

async function withTraceLog(use: (running: Running) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-log-'))
  const key = generateKey()
  try {
    const service = await startProcess({
      folder,
      environment: {
        LOG_LEVEL: 'trace',
        PORTICO_RATE_LIMIT: 'off',
        PORTICO_ADMIN_API_KEY: key,
        PORTICO_ADMIN_PASSWORD: password,
        PORTICO_OAUTH_REGISTRATION_TOKEN: registrationToken,
        PORTICO_SECRET_KEY: secretKey,
      },
    })
    try {
      await use({ url: service.url, key, logged: service.output })
    } finally {
      await service.end()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('no password, key, token, code or cookie reaches the log, however it is sent', async () => {
  const secrets = new Map<string, string>([
    ['password', password],
    ['registration token', registrationToken],
    ['encryption key', secretKey],
  ])
  const note = (what: string, value: unknown) => {
    assert.ok(typeof value === 'string' && value.length >= 8, what)
    secrets.set(what, value)
    return value
  }
  await withTraceLog(async ({ url, key, logged }) => {
    note('API key', key)
    const person: Person = {
      id: 1,
      name: 'Administrator',
      email: 'admin@example.com',
      password,
      role: 'admin',
      key,
    }
    const fixture = { url } as Fixture
    const body = {
      name: 'App',
      redirect_uris: [redirectUri],
      scopes: ['openid', 'offline_access', 'read:post'],
      default_scopes: ['read:post'],
    }
    const app = (await call(`${url}/api/v1/oauth_apps`, { method: 'POST', key, body })).json as unknown as App
    note('client secret', app.client_secret)
    const browser = new Browser(url)
    const options = { browser, person, scope: 'openid offline_access read:post' }
    const tokens = await newTokens(fixture, app, options)
    for (const name of ['access_token', 'refresh_token', 'id_token']) note(name, tokens[name])
    const { access_token: access = '', refresh_token: refresh = '' } = tokens
    for (const place of ['authorization', 'query', 'X-API-Key']) {
      const query = place === 'query' ? `?api_key=${key}` : ''
      const headers: Record<string, string> =
        place === 'authorization'
          ? { Authorization: `Bearer ${access}` }
          : place === 'query'
            ? {}
            : { 'X-API-Key': key }
      assert.equal((await call(`${url}/api/v1/posts${query}`, { headers })).status, 200, place)
    }
    // Wrong secrets are secrets too: a user may have mistyped one, or pasted one into the wrong field.
    const wrong = note('wrong key', generateKey())
    assert.equal((await call(`${url}/api/v1/posts?api_key=${wrong}`)).status, 401)
    for (const [path, form] of [
      ['token', { grant_type: 'refresh_token', refresh_token: refresh, ...clientCredentials(app) }],
      [
        'token',
        {
          grant_type: 'authorization_code',
          code: note('wrong code', 'w'.repeat(43)),
          redirect_uri: redirectUri,
          ...clientCredentials(app),
        },
      ],
      ['introspect', { token: access, ...clientCredentials(app) }],
      ['revoke', { token: access, ...clientCredentials(app) }],
      [
        'token',
        {
          grant_type: 'client_credentials',
          client_id: app.client_id,
          client_secret: note('wrong secret', 'ps_wrong-and-secret'),
        },
      ],
    ] as const) {
      await post(`${url}/oauth/${path}`, form)
      await post(`${url}/oauth/${path}?${new URLSearchParams(form)}`, '')
    }
    const basic = Buffer.from(`${app.client_id}:${app.client_secret}`).toString('base64')
    await post(
      `${url}/oauth/token`,
      { grant_type: 'client_credentials' },
      { Authorization: `Basic ${note('basic', basic)}` },
    )
    const metadata = { redirect_uris: ['https://app.example.com/cb'] }
    const created = await call(`${url}/oauth/register`, {
      method: 'POST',
      key: registrationToken,
      body: metadata,
    })
    note('registration access token', created.json.registration_access_token)
    note('registered secret', created.json.client_secret)
    await call(`${url}/oauth/register/${created.json.client_id}`, {
      key: String(created.json.registration_access_token),
    })
    await call(`${url}/oauth/register/${note('token in a path', 't'.repeat(43))}`)
    await browser.open(`/account/reset?token=${note('reset token', 'r'.repeat(43))}`)
    await browser.open(
      `/account/verify?token=${note('link token', 'v'.repeat(43))}&account=${note('account token', 'a'.repeat(43))}`,
    )
    await browser.open(`/oauth/device?user_code=${note('user code', 'WXYZWXYZ')}`)
    await call(`${url}/graphql`, {
      method: 'POST',
      body: { query: `{ posts { nothing(token: "${access}") } }` },
      key: access,
    })
    browser.close()
    // A line is written before the next request gets its response.
    await call(`${url}/healthz`)
    await new Promise(resolve => setTimeout(resolve, 300))
    assert.match(logged(), /"path":"\/oauth\/token/)
    assert.match(logged(), /\/account\/reset/)
    // A token in place of an id cannot be distinguished from an id.
    secrets.delete('token in a path')
    for (const [what, secret] of secrets)
      assert.ok(
        !logged().includes(secret),
        `${what}: ${logged()
          .split('\n')
          .find(line => line.includes(secret))}`,
      )
  })
})
