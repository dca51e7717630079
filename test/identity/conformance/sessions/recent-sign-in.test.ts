/** An old session cannot grant an app lasting or account-changing rights: that takes a sign-in within 15 minutes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sqlite } from '../../../setups/sqlite.ts'
import { advance } from '../../accounts/self-service/own-pages.ts'
import type { Browser, Departure, Page } from '../browser.ts'
import {
  type App,
  afterSignIn,
  authorizationUrl,
  clientCredentials,
  consentOf,
  type Fixture,
  formWith,
  newTokens,
  post,
  redirectUri,
  sharedFixtures,
} from '../server.ts'

const withFixture = sharedFixtures(sqlite)
const oldMs = 16 * 60_000

const lasting = ['offline_access', 'write:user', 'write:api_key', 'write:webhook', 'write:oauth_app']
const scopes = ['openid', 'read:user', 'read:post', 'write:post', ...lasting]

const appOf = (fixture: Fixture, values: object = {}) => fixture.app({ scopes, ...values })

function addressOf({ url }: Fixture, app: App, scope: string, more: Readonly<Record<string, string>> = {}) {
  const [redirect_uri = redirectUri] = app.redirect_uris
  return authorizationUrl(url, {
    ...{ response_type: 'code', client_id: app.client_id, redirect_uri, scope, state: 's' },
    ...more,
  })
}

/** A browser in which Ben has signed in on the account pages. */
async function signedIn(fixture: Fixture): Promise<Browser> {
  const browser = fixture.browser()
  await afterSignIn(browser, '/account', fixture.ben)
  return browser
}

function kindOf(shown: Page | Departure): string {
  if ('location' in shown) return shown.location.searchParams.get('error') ?? 'code'
  if (formWith(shown, 'password')) return 'sign-in'
  return consentOf(shown) ? 'consent' : shown.text
}

async function allow(browser: Browser, shown: Page | Departure): Promise<Page | Departure> {
  const consent = 'location' in shown ? undefined : consentOf(shown)
  assert.ok(consent, kindOf(shown))
  return browser.submit(consent.form, {}, consent.button)
}

async function reauthenticate({ ben }: Fixture, browser: Browser, shown: Page | Departure) {
  const form = 'location' in shown ? undefined : formWith(shown, 'password')
  assert.ok(form, kindOf(shown))
  return browser.submit(form, { email: ben.email, password: ben.password })
}

test('consent to lasting or account-changing scopes asks an old session to sign in again, and others do not', async () => {
  await withFixture(async fixture => {
    const app = await appOf(fixture)
    const browser = await signedIn(fixture)
    for (const scope of lasting)
      assert.equal(kindOf(await browser.open(addressOf(fixture, app, scope))), 'consent', scope)
    advance(oldMs)
    for (const scope of lasting)
      assert.equal(kindOf(await browser.open(addressOf(fixture, app, scope))), 'sign-in', scope)
    assert.equal(kindOf(await browser.open(addressOf(fixture, app, 'openid write:post'))), 'consent')
    const prompted = await browser.open(addressOf(fixture, app, 'openid write:user', { prompt: 'none' }))
    assert.equal(kindOf(prompted), 'login_required')
    const consent = await reauthenticate(
      fixture,
      browser,
      await browser.open(addressOf(fixture, app, 'write:user')),
    )
    assert.equal(kindOf(await allow(browser, consent)), 'code')
  })
})

test('an earlier consent does not spare an old session the sign-in', async () => {
  await withFixture(async fixture => {
    const app = await appOf(fixture, { redirect_uris: ['https://app.example.com/callback'] })
    const browser = await signedIn(fixture)
    const address = addressOf(fixture, app, 'read:user write:api_key')
    assert.equal(kindOf(await allow(browser, await browser.open(address))), 'code')
    assert.equal(kindOf(await browser.open(address)), 'code')
    advance(oldMs)
    assert.equal(kindOf(await browser.open(address)), 'sign-in')
  })
})

test('a consent page that was open for too long grants nothing, and asks for a sign-in', async () => {
  await withFixture(async fixture => {
    const app = await appOf(fixture)
    const browser = await signedIn(fixture)
    const page = await browser.open(addressOf(fixture, app, 'read:post write:api_key'))
    advance(oldMs)
    const shown = await allow(browser, page)
    assert.equal(kindOf(shown), 'sign-in')
    const apps = await browser.open('/account/apps')
    assert.ok(!('location' in apps) && /No app has access/.test(apps.text))
    const consent = await reauthenticate(fixture, browser, shown)
    assert.equal(kindOf(await allow(browser, consent)), 'code')
  })
})

test('the approval of a device asks an old session to sign in again', async () => {
  await withFixture(async fixture => {
    const app = await appOf(fixture)
    const browser = await signedIn(fixture)
    advance(oldMs)
    const connect = async (scope: string) => {
      const { json } = await post(`${fixture.url}/oauth/device`, { scope, ...clientCredentials(app) })
      const entry = await browser.open('/oauth/device/verify')
      const code = 'location' in entry ? undefined : formWith(entry, 'text')
      assert.ok(code)
      const confirmation = await browser.submit(code, { user_code: String(json.user_code) })
      assert.ok(!('location' in confirmation))
      const [form] = confirmation.forms
      const yes = form?.buttons.find(({ label }) => /^yes/i.test(label))
      assert.ok(form && yes, confirmation.text)
      return browser.submit(form, {}, yes)
    }
    assert.equal(kindOf(await connect('read:post')), 'consent')
    const shown = await connect('read:post offline_access')
    assert.equal(kindOf(shown), 'sign-in')
    const done = await allow(browser, await reauthenticate(fixture, browser, shown))
    assert.ok(!('location' in done) && /is connected/.test(done.text))
  })
})

async function firstPartyApp({ call, admin }: Fixture, format: string): Promise<App> {
  const body = {
    ...{ name: 'Console', type: 'public', first_party: true, scopes, access_token_format: format },
    redirect_uris: ['https://console.example.com/callback'],
  }
  const created = await call('/api/v1/oauth_apps', { method: 'POST', key: admin.key, body })
  assert.equal(created.status, 201, created.text)
  return created.json as unknown as App
}

const verifier = 'a-verifier-of-more-than-43-characters-for-public-apps'
function exchange({ url }: Fixture, app: App, code: string | null) {
  return post(`${url}/oauth/token`, {
    ...{ grant_type: 'authorization_code', client_id: app.client_id, code: code ?? '' },
    ...{ code_verifier: verifier, redirect_uri: app.redirect_uris[0] ?? '' },
  })
}

const pkce = {
  code_challenge: Buffer.from(
    await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier)),
  ).toString('base64url'),
  code_challenge_method: 'S256',
}

for (const format of ['opaque', 'jwt']) {
  test(`a first-party ${format} token does not count as a recent sign-in once its session is old`, async () => {
    await withFixture(async fixture => {
      const { admin, ben, call } = fixture
      const app = await firstPartyApp(fixture, format)
      const browser = fixture.browser()
      await afterSignIn(browser, '/account', admin)
      const tokenNow = async () => {
        const shown = await browser.open(addressOf(fixture, app, 'write:user write:api_key', pkce))
        assert.ok('location' in shown, kindOf(shown))
        const { json } = await exchange(fixture, app, shown.location.searchParams.get('code'))
        return String(json.access_token)
      }
      const statuses = async (key: string) => {
        const role = { method: 'PATCH', key, body: { role: 'user' } }
        const created = { method: 'POST', key, body: { name: 'k', scopes: ['read:user'] } }
        return [
          (await call(`/api/v1/users/${ben.id}`, role)).status,
          (await call('/api/v1/api_keys', created)).status,
          (await call('/api/v1/me', { key })).status,
        ]
      }
      const fresh = await tokenNow()
      assert.deepEqual(await statuses(fresh), [200, 201, 200])
      advance(oldMs)
      assert.deepEqual(await statuses(fresh), [403, 403, 200])
      assert.deepEqual(await statuses(await tokenNow()), [403, 403, 200])
    })
  })
}

test('a refreshed first-party token keeps the time of the sign-in, and its lasting access needs a recent one', async () => {
  await withFixture(async fixture => {
    const { admin, ben, call, url } = fixture
    const app = await firstPartyApp(fixture, 'opaque')
    const browser = fixture.browser()
    const address = addressOf(fixture, app, 'write:user offline_access', pkce)
    const shown = await afterSignIn(browser, address, admin)
    assert.ok('location' in shown, kindOf(shown))
    const { json } = await exchange(fixture, app, shown.location.searchParams.get('code'))
    const refresh = (token: unknown) =>
      post(`${url}/oauth/token`, {
        ...{ grant_type: 'refresh_token', refresh_token: String(token), client_id: app.client_id },
      })
    const setRole = (key: unknown) =>
      call(`/api/v1/users/${ben.id}`, { method: 'PATCH', key: String(key), body: { role: 'user' } })
    const second = await refresh(json.refresh_token)
    assert.equal((await setRole(second.json.access_token)).status, 200)
    advance(oldMs)
    const third = await refresh(second.json.refresh_token)
    assert.equal(third.status, 200)
    assert.equal((await setRole(third.json.access_token)).status, 403)
    assert.equal(kindOf(await browser.open(address)), 'sign-in')
  })
})

test('a third-party token keeps what a recent sign-in has allowed', async () => {
  await withFixture(async fixture => {
    const { ben, call } = fixture
    const app = await appOf(fixture)
    const options = { browser: fixture.browser(), person: ben, scope: 'read:user write:api_key' }
    const { access_token: key = '' } = await newTokens(fixture, app, options)
    advance(oldMs)
    const body = { name: 'k', scopes: ['read:user'] }
    assert.equal((await call('/api/v1/api_keys', { method: 'POST', key, body })).status, 201)
  })
})
