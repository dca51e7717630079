/** Deleting a user ends all their credentials and deletes everything stored for them; disabling one suspends them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAddresses } from '../../../../src/identity/accounts/addresses/addresses.ts'
import { createTokens } from '../../../../src/identity/accounts/link-tokens.ts'
import { createOneTimeCodes } from '../../../../src/identity/accounts/sign-in/one-time-codes.ts'
import { createPasskeys } from '../../../../src/identity/accounts/sign-in/passkeys.ts'
import { accountEndRecord } from '../../../../src/identity/server/sessions/session-ends.ts'
import type { Page } from '../browser.ts'
import {
  type App,
  authorizationUrl,
  clientCredentials,
  consentOf,
  exchangeCode,
  type Fixture,
  inOtherProcess,
  newCode,
  newTokens,
  type Person,
  post,
  redirectUri,
  withFixture,
} from '../server.ts'

/** Every kind of record that belongs to a user. */
const kinds = [
  'AccessToken',
  'AccountAddress',
  'AccountEnd',
  'AddressVerification',
  'AppUse',
  'AppUser',
  'AuthorizationCode',
  'Consent',
  'DeviceCode',
  'Grant',
  'Interaction',
  'KeyUse',
  'KnownDevice',
  'MailLanguage',
  'Passkey',
  'PasskeyChallenge',
  'PasswordReset',
  'PendingAddress',
  'RecoveryCode',
  'RefreshToken',
  'SecondFactor',
  'Session',
  'Totp',
  'TotpUsed',
]

/** The kinds of the records that the user has. */
function kindsOf(fixture: Fixture, { id }: Person): Promise<string[]> {
  return inOtherProcess(fixture, async (_run, { records }) => {
    const recordsByKind = await Promise.all(kinds.map(kind => records.byOwner(kind, String(id))))
    return kinds.filter((_, index) => recordsByKind[index]?.length !== 0)
  })
}

/** Stores what authenticators and mails would cause: passkeys, one-time codes and links. */
async function remember(fixture: Fixture, { id, email, name }: Person): Promise<void> {
  const owner = String(id)
  await inOtherProcess(fixture, async (_run, { records }) => {
    const payload = JSON.stringify({ credentialId: 'AQID', transports: [] })
    for (const kind of ['MailLanguage', 'Passkey', 'TotpUsed']) {
      await records.put({ kind, id: `${kind} of ${owner}`, payload, expiresAt: null, owner })
    }
    await createAddresses(records).setPending(id, 'another@example.com')
    await records.put(await accountEndRecord(records, id, Date.now() - 3_600_000, undefined))
    const codes = createOneTimeCodes(records)
    await codes.start(id, email, 'Portico')
    await codes.newRecoveryCodes(id)
    const tokens = createTokens(records)
    for (const kind of ['PasswordReset', 'AddressVerification', 'SecondFactor'] as const) {
      await tokens.issue(kind, {}, { owner })
    }
    const passkeys = createPasskeys({ records, tokens, issuer: fixture.url, rpName: 'Portico' })
    await passkeys.creationOptions({ userId: id, email, name })
  })
}

/** A device code that the user has approved. */
async function allowDevice({ url, browser: open }: Fixture, app: App, person: Person) {
  const device = await post(`${url}/oauth/device`, { ...clientCredentials(app), scope: 'read:post' })
  assert.equal(device.status, 200, device.text)
  const browser = open()
  let page = (await browser.open(String(device.json.verification_uri_complete))) as Page
  for (let count = 0; count < 6 && page.forms.length > 0; count++) {
    const consent = consentOf(page)
    const form = consent?.form ?? page.forms[0]
    assert.ok(form, page.text)
    const { email, password } = person
    page = (await browser.submit(form, { email, password }, consent?.button ?? form.buttons[0])) as Page
  }
  return String(device.json.device_code)
}

/** The results of Ben’s credentials: `kept` can be called repeatedly, `last` once. */
async function credentialsOf(fixture: Fixture, app: App, jwtApp: App, ben: Person) {
  const { url, call } = fixture
  const browser = fixture.browser()
  const scope = 'openid offline_access read:post'
  const tokens = await newTokens(fixture, app, { browser, person: ben, scope })
  const jwt = await newTokens(fixture, jwtApp, { browser, person: ben })
  const code = await newCode(fixture, app, { browser, person: ben, scope: 'read:post' })
  const device = await allowDevice(fixture, app, ben)
  // A further scope keeps his browser at the consent page.
  const asking = authorizationUrl(url, {
    response_type: 'code',
    client_id: app.client_id,
    redirect_uri: redirectUri,
    scope: 'write:post',
  })
  const page = await browser.open(asking)
  const consent = 'forms' in page ? consentOf(page) : undefined
  assert.ok(consent)
  const status = async (key: string) => (await call('/api/v1/posts', { key })).status
  return {
    kept: async () => ({
      opaque: await status(String(tokens.access_token)),
      jwt: await status(String(jwt.access_token)),
      key: await status(ben.key),
      userinfo: (await call('/oauth/userinfo', { key: String(tokens.access_token) })).status,
      introspected: (
        await post(`${url}/oauth/introspect`, { ...clientCredentials(app), token: `${tokens.access_token}` })
      ).json.active,
      page: ((await browser.open(`${url}/account`)) as Page).url.pathname,
    }),
    last: async () => ({
      refresh: await post(`${url}/oauth/token`, {
        grant_type: 'refresh_token',
        refresh_token: String(tokens.refresh_token),
        ...clientCredentials(app),
      }),
      code: await exchangeCode(url, app, code),
      device: await post(`${url}/oauth/token`, {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        device_code: device,
        ...clientCredentials(app),
      }),
      consent: await browser.submit(consent.form, {}, consent.button),
    }),
  }
}

const transports = {
  REST: ({ call, admin }: Fixture, { id }: Person) =>
    call(`/api/v1/users/${id}`, { method: 'DELETE', key: admin.key }),
  GraphQL: ({ call, admin }: Fixture, { id }: Person) =>
    call('/graphql', {
      method: 'POST',
      key: admin.key,
      body: { query: `mutation { deleteUser(id: ${id}) }` },
    }),
}

for (const [transport, remove] of Object.entries(transports)) {
  test(`a user deleted by ${transport} is gone, with every credential and record of theirs`, async () => {
    await withFixture({}, async fixture => {
      const { ann, ben, url, call } = fixture
      const app = await fixture.app()
      const jwtApp = await fixture.app({ access_token_format: 'jwt' })
      const created = await call('/api/v1/oauth_apps', {
        method: 'POST',
        key: ben.key,
        body: { name: 'Of Ben', redirect_uris: [redirectUri], scopes: ['read:post'] },
      })
      const ofBen = created.json as unknown as App
      const ofAnn = await newTokens(fixture, ofBen, { browser: fixture.browser(), person: ann })
      const other = await newTokens(fixture, app, { browser: fixture.browser(), person: ann })
      const credentials = await credentialsOf(fixture, app, jwtApp, ben)
      await remember(fixture, ben)
      assert.deepEqual(await kindsOf(fixture, ben), kinds)
      assert.deepEqual(await credentials.kept(), {
        opaque: 200,
        jwt: 200,
        key: 200,
        userinfo: 200,
        introspected: true,
        page: '/account',
      })
      const before = await kindsOf(fixture, ann)

      const answer = await remove(fixture, ben)
      assert.ok(answer.status < 300 && !('errors' in answer.json), answer.text)

      assert.deepEqual(await kindsOf(fixture, ben), [])
      assert.deepEqual(await kindsOf(fixture, ann), before)
      assert.deepEqual(await credentials.kept(), {
        opaque: 401,
        jwt: 401,
        key: 401,
        userinfo: 401,
        introspected: false,
        page: '/account/sign-in',
      })
      const { refresh, code, device, consent } = await credentials.last()
      for (const { status, json } of [refresh, code, device]) {
        assert.deepEqual([status, json.error], [400, 'invalid_grant'])
      }
      assert.ok(!('location' in consent) && consent.status === 404, JSON.stringify(consent))
      // His app is gone too; Ann’s grant to another app is not.
      assert.equal((await call('/api/v1/posts', { key: String(ofAnn.access_token) })).status, 401)
      assert.equal((await call('/api/v1/posts', { key: String(other.access_token) })).status, 200)
      const signIn = await post(`${url}/oauth/token`, {
        grant_type: 'client_credentials',
        ...clientCredentials(ofBen),
      })
      assert.equal(signIn.json.error, 'invalid_client')
    })
  })
}

test('a disabled user is refused with every credential, and accepted again once enabled', async () => {
  await withFixture({}, async fixture => {
    const { admin, ben, url, call } = fixture
    const app = await fixture.app()
    const jwtApp = await fixture.app({ access_token_format: 'jwt' })
    const credentials = await credentialsOf(fixture, app, jwtApp, ben)
    const accepted = await credentials.kept()
    const stream = await fetch(`${url}/api/v1/events`, {
      headers: { Authorization: `Bearer ${ben.key}`, Accept: 'text/event-stream' },
    })
    assert.equal(stream.status, 200)
    const change = (disabled: boolean) =>
      call(`/api/v1/users/${ben.id}`, { method: 'PATCH', key: admin.key, body: { disabled } })

    assert.equal((await change(true)).status, 200)
    // Resolves when the service ends the stream.
    await stream.text()
    assert.deepEqual(await credentials.kept(), {
      opaque: 401,
      jwt: 401,
      key: 401,
      userinfo: 401,
      introspected: false,
      page: '/account/sign-in',
    })
    const { refresh, code, device, consent } = await credentials.last()
    for (const { status, json } of [refresh, code, device]) {
      assert.deepEqual([status, json.error], [400, 'invalid_grant'])
    }
    assert.ok(!('location' in consent) && consent.status === 403, JSON.stringify(consent))
    const browser = fixture.browser()
    const signIn = async (password: string) => {
      const page = (await browser.open(`${url}/account/sign-in`)) as Page
      const form = page.forms[0]
      assert.ok(form)
      return (await browser.submit(form, { email: ben.email, password }, form.buttons[0])) as Page
    }
    assert.match((await signIn('not his password')).text, /address or the password is wrong/)
    assert.match((await signIn(ben.password)).text, /This account is disabled/)

    assert.equal((await change(false)).status, 200)
    assert.deepEqual(await credentials.kept(), accepted)
    assert.equal((await credentials.last()).refresh.status, 200)
  })
})
