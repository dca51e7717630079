/** The reason for refusing a code or a token: in the log, and for authenticated clients in the response (RFC 6749, 5.2). */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { StoredRecord } from '../../../../src/base/records.ts'
import { generateKey } from '../../../../src/identity/keys/key.ts'
import { call } from '../../../server/serve/service.ts'
import { startProcess } from '../../../system/processes/portico.ts'
import { recordsOfOtherProcess } from '../../encryption/other-process.ts'
import {
  type App,
  authorizationUrl,
  authorize,
  clientCredentials,
  exchangeCode,
  type Fixture,
  inOtherProcess,
  newCode,
  newTokens,
  post,
  redirectUri,
  type TokenAnswer,
  withFixture,
} from '../server.ts'

const verifier = 'v'.repeat(43)
const challenge = { code_challenge: hash('sha256', verifier, 'base64url'), code_challenge_method: 'S256' }

function assertRefused({ status, json, text }: TokenAnswer, error: string, reason: RegExp): void {
  assert.deepEqual([status, json.error], [400, error], text)
  assert.match(String(json.error_description), reason)
}

/** Makes every record of a kind expire a second ago. */
function expire(fixture: Fixture, kind: string): Promise<void> {
  return inOtherProcess(fixture, async (_run, store) => {
    const records = await recordsOfOtherProcess(store, fixture.deployment)
    for (const record of await records.all(kind)) {
      const payload = { ...JSON.parse(record.payload), exp: Math.floor(Date.now() / 1000) - 1 }
      const { grant, alias, owner, ...rest }: StoredRecord = record
      // The stored alias is a pseudonym of the user code.
      const userCode = payload.userCode ?? alias ?? undefined
      const names = { grant: grant ?? undefined, alias: userCode, owner: owner ?? undefined }
      await records.put({ ...rest, ...names, payload: JSON.stringify(payload) })
    }
  })
}

function refresh({ url }: Fixture, app: App, token: string, more = {}): Promise<TokenAnswer> {
  const form = { grant_type: 'refresh_token', refresh_token: token, ...clientCredentials(app), ...more }
  return post(`${url}/oauth/token`, form)
}

// An unknown parameter makes oidc-provider handle the request instead of the fast path.
for (const more of [{}, { unknown: 'x' }]) {
  const way = 'unknown' in more ? 'by oidc-provider' : 'by the fast path'

  test(`a confidential app learns why its code is refused (${way})`, async () => {
    await withFixture({}, async fixture => {
      const { url, ann: person } = fixture
      const app = await fixture.app()
      const otherApp = await fixture.app()
      const browser = fixture.browser()
      const code = () => newCode(fixture, app, { browser, person })
      assertRefused(await exchangeCode(url, app, 'x'.repeat(43), more), 'invalid_grant', /not known/)
      assertRefused(await exchangeCode(url, otherApp, await code(), more), 'invalid_grant', /another client/)
      const wrong = { redirect_uri: `${redirectUri}/x`, ...more }
      assertRefused(await exchangeCode(url, app, await code(), wrong), 'invalid_grant', /redirect_uri/)
      const bound = await newCode(fixture, app, { browser, person, parameters: challenge })
      assertRefused(await exchangeCode(url, app, bound, more), 'invalid_grant', /code_verifier is missing/)
      const guessed = { code_verifier: 'w'.repeat(43), ...more }
      assertRefused(
        await exchangeCode(url, app, bound, guessed),
        'invalid_grant',
        /code_verifier does not match/,
      )
      // RFC 9700, 4.8.2: somebody may have removed the challenge.
      assertRefused(
        await exchangeCode(url, app, await code(), { ...more, code_verifier: verifier }),
        'invalid_grant',
        /no code_challenge/,
      )
      const used = await code()
      assert.equal((await exchangeCode(url, app, used, more)).status, 200)
      assertRefused(await exchangeCode(url, app, used, more), 'invalid_grant', /used before/)
      const late = await code()
      await expire(fixture, 'AuthorizationCode')
      assertRefused(await exchangeCode(url, app, late, more), 'invalid_grant', /code has expired/)
      // One of several concurrent requests gets tokens, and the others learn the reason of their refusal.
      const expected = await code()
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => exchangeCode(url, app, expected, more)),
      )
      const losers = answers.filter(({ status }) => status !== 200)
      assert.equal(losers.length, 4)
      for (const answer of losers) assertRefused(answer, 'invalid_grant', /used before|not known|revoked/)
    })
  })

  test(`a confidential app learns why its refresh token is refused (${way})`, async () => {
    await withFixture({}, async fixture => {
      const { url, ann: person } = fixture
      const app = await fixture.app()
      const otherApp = await fixture.app()
      const browser = fixture.browser()
      const scope = 'offline_access read:post'
      const token = async () =>
        String((await newTokens(fixture, app, { browser, person, scope })).refresh_token)
      assertRefused(await refresh(fixture, app, 'x'.repeat(43), more), 'invalid_grant', /not known/)
      assertRefused(await refresh(fixture, otherApp, await token(), more), 'invalid_grant', /another client/)
      const used = await token()
      assert.equal((await refresh(fixture, app, used, more)).status, 200)
      assertRefused(await refresh(fixture, app, used, more), 'invalid_grant', /used before/)
      const revoked = await token()
      await post(`${url}/oauth/revoke`, { token: revoked, ...clientCredentials(app) })
      assertRefused(await refresh(fixture, app, revoked, more), 'invalid_grant', /revoked/)
      const late = await token()
      await expire(fixture, 'RefreshToken')
      assertRefused(await refresh(fixture, app, late, more), 'invalid_grant', /has expired/)
      const introspected = await post(`${url}/oauth/introspect`, {
        token: late,
        ...clientCredentials(app),
        ...more,
      })
      assert.deepEqual(introspected.json, { active: false })
    })
  })
}

test('a public app gets the same error whatever the reason', async () => {
  await withFixture({}, async fixture => {
    const { url, ann } = fixture
    const app = await fixture.app({ type: 'public' })
    const browser = fixture.browser()
    const parameters = { client_id: app.client_id, response_type: 'code', redirect_uri: redirectUri }
    const address = authorizationUrl(url, { ...parameters, ...challenge, scope: 'read:post' })
    const code = async () => String((await authorize(browser, address, ann)).searchParams.get('code'))
    const form = { grant_type: 'authorization_code', client_id: app.client_id, redirect_uri: redirectUri }
    const redeemCode = (parameters: Readonly<Record<string, string>>) =>
      post(`${url}/oauth/token`, { ...form, code_verifier: verifier, ...parameters })
    const used = await code()
    assert.equal((await redeemCode({ code: used })).status, 200)
    const answers = [
      await redeemCode({ code: 'x'.repeat(43) }),
      await redeemCode({ code: await code(), code_verifier: 'w'.repeat(43) }),
      await redeemCode({ code: await code(), redirect_uri: 'http://127.0.0.1:9/other' }),
      await redeemCode({ code: used }),
    ]
    for (const answer of answers) assertRefused(answer, 'invalid_grant', /^grant request is invalid$/)
  })
})

test('an expired device code gets expired_token (RFC 8628, 3.5), and cannot be approved', async () => {
  await withFixture({}, async fixture => {
    const { url, ann } = fixture
    const app = await fixture.app()
    const begun = await post(`${url}/oauth/device`, { scope: 'read:post', ...clientCredentials(app) })
    const { device_code, verification_uri_complete } = begun.json
    await expire(fixture, 'DeviceCode')
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
    const polled = await post(`${url}/oauth/token`, {
      grant_type,
      device_code: String(device_code),
      ...clientCredentials(app),
    })
    assert.deepEqual([polled.status, polled.json.error], [400, 'expired_token'], polled.text)
    const browser = fixture.browser()
    const page = await browser.open(String(verification_uri_complete))
    assert.ok('forms' in page)
    const [form] = page.forms
    assert.ok(form, page.text)
    const after = await browser.submit(form)
    assert.ok('text' in after)
    assert.match(after.text, /The code has expired/)
    assert.doesNotMatch(after.text, new RegExp(ann.email))
  })
})

test('the log has the reason and the app', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-refusals-'))
  const key = generateKey()
  const service = await startProcess({
    folder,
    environment: { PORTICO_ADMIN_API_KEY: key, LOG_LEVEL: 'info' },
  })
  try {
    const { url } = service
    const body = { name: 'Reader', redirect_uris: [redirectUri] }
    const { json } = await call(`${url}/api/v1/oauth_apps`, { method: 'POST', key, body })
    const app = json as unknown as App
    assertRefused(await exchangeCode(url, app, 'x'.repeat(43)), 'invalid_grant', /not known/)
    await service.end()
    const line = service
      .output()
      .split('\n')
      .find(output => output.includes('a token request was refused'))
    assert.ok(line?.includes(app.client_id) && line.includes('not known'), service.output())
  } finally {
    await service.end()
    rmSync(folder, { recursive: true, force: true })
  }
})
