/** The claims parameter (OpenID Connect Core 1.0, 5.5), and the choice of an account (3.1.2.1). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Departure, Page } from '../browser.ts'
import {
  type App,
  authorizationUrl,
  authorize,
  consentOf,
  exchangeCode,
  type Fixture,
  formWith,
  type Person,
  untilDeparture,
  withFixture,
} from '../server.ts'

/** Not a native app: those are asked for consent every time (RFC 8252, 8.6). */
const home = 'https://app.example.com/callback'

function addressOf({ url }: Fixture, app: App, more: Readonly<Record<string, string>>): URL {
  const usual = { response_type: 'code', client_id: app.client_id, redirect_uri: home, state: 's' }
  return authorizationUrl(url, { ...usual, scope: 'openid', ...more })
}

function claims(value: unknown) {
  return { claims: JSON.stringify(value) }
}

function pageOf(arrived: Page | Departure): Page {
  assert.ok('forms' in arrived, 'it left')
  return arrived
}

interface ReturnedClaims {
  readonly idToken: Readonly<Record<string, unknown>>
  readonly userinfo: Readonly<Record<string, unknown>>
  readonly accessToken: string
}

async function userinfo({ call }: Fixture, token: string): Promise<Readonly<Record<string, unknown>>> {
  return (await call('/oauth/userinfo', { key: token })).json
}

async function claimsFor(fixture: Fixture, app: App, callbackUrl: URL): Promise<ReturnedClaims> {
  const code = callbackUrl.searchParams.get('code')
  assert.ok(code, callbackUrl.href)
  const { json, text } = await exchangeCode(fixture.url, app, code)
  assert.ok(typeof json.id_token === 'string' && typeof json.access_token === 'string', text)
  assert.equal(json.scope, 'openid')
  const [, payload = ''] = json.id_token.split('.')
  return {
    idToken: JSON.parse(Buffer.from(payload, 'base64url').toString()),
    userinfo: await userinfo(fixture, json.access_token),
    accessToken: json.access_token,
  }
}

/** Signs in, and returns the next page. */
async function signIn(fixture: Fixture, address: URL, person: Person) {
  const browser = fixture.browser()
  const form = formWith(pageOf(await browser.open(address)), 'password')
  assert.ok(form)
  const { email, password } = person
  return { browser, page: pageOf(await browser.submit(form, { email, password })) }
}

for (const format of ['opaque', 'jwt'] as const) {
  test(`a requested claim is consented to, returned where it was requested, and remembered (${format})`, async () => {
    await withFixture({}, async fixture => {
      const app = await fixture.app({ redirect_uris: [home], access_token_format: format })
      const parameters = claims({ userinfo: { name: { essential: true } }, id_token: { email: null } })
      const address = addressOf(fixture, app, parameters)
      const { browser, page } = await signIn(fixture, address, fixture.ann)
      assert.match(page.text, /See your name/)
      assert.match(page.text, /See your e-mail address/)
      const consent = consentOf(page)
      assert.ok(consent)
      const callbackUrl = await untilDeparture(
        browser,
        await browser.submit(consent.form, {}, consent.button),
        fixture.ann,
      )
      const { idToken, userinfo: info } = await claimsFor(fixture, app, callbackUrl)
      assert.deepEqual(info, { sub: String(fixture.ann.id), name: 'Ann' })
      assert.deepEqual([idToken.email, 'name' in idToken], [fixture.ann.email, false])
      // The same claims or fewer need no page; new ones do.
      const again = await browser.open(
        addressOf(fixture, app, claims({ userinfo: { email_verified: null } })),
      )
      assert.ok('location' in again)
      const { userinfo: less } = await claimsFor(fixture, app, again.location)
      assert.deepEqual(less, { sub: String(fixture.ann.id), email_verified: false })
      const plain = await browser.open(addressOf(fixture, app, {}))
      assert.ok('location' in plain)
      assert.deepEqual((await claimsFor(fixture, app, plain.location)).userinfo, {
        sub: String(fixture.ann.id),
      })
    })
  })
}

test('a claim that the user unticks is not returned, and one that the app may not request is not asked for', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({
      redirect_uris: [home],
      scopes: ['openid', 'profile'],
      default_scopes: null,
    })
    const parameters = claims({
      userinfo: { name: null, email: { essential: true } },
      id_token: { name: null },
    })
    const { browser, page } = await signIn(fixture, addressOf(fixture, app, parameters), fixture.ann)
    assert.doesNotMatch(page.text, /e-mail address<\/label>/)
    const consent = consentOf(page)
    assert.ok(consent)
    const none = await browser.submit(consent.form, { scope: [] }, consent.button)
    assert.ok('location' in none)
    const { idToken, userinfo: info } = await claimsFor(fixture, app, none.location)
    assert.deepEqual(info, { sub: String(fixture.ann.id) })
    assert.ok(!('name' in idToken))
    // Now consent to it, until the app loses the scope of the claim.
    const callbackUrl = await authorize(
      browser,
      addressOf(fixture, app, { ...parameters, prompt: 'consent' }),
      fixture.ann,
    )
    const { userinfo: all, accessToken } = await claimsFor(fixture, app, callbackUrl)
    assert.deepEqual(all, { sub: String(fixture.ann.id), name: 'Ann' })
    await fixture.call(`/api/v1/oauth_apps/${app.id}`, {
      method: 'PATCH',
      key: fixture.ann.key,
      body: { scopes: ['openid'], default_scopes: null },
    })
    assert.deepEqual(await userinfo(fixture, accessToken), { sub: String(fixture.ann.id) })
  })
})

test('with `sub` requested, only that user gets a code', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({ redirect_uris: [home] })
    const parameters = claims({ id_token: { sub: { value: String(fixture.ann.id) } } })
    const ben = await authorize(fixture.browser(), addressOf(fixture, app, parameters), fixture.ben)
    assert.equal(ben.searchParams.get('error'), 'login_required')
    const ann = await authorize(fixture.browser(), addressOf(fixture, app, parameters), fixture.ann)
    assert.equal((await claimsFor(fixture, app, ann)).idToken.sub, String(fixture.ann.id))
  })
})

test('with `select_account` the user continues, takes another account, or cancels', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({ redirect_uris: [home] })
    const browser = fixture.browser()
    await authorize(browser, addressOf(fixture, app, {}), fixture.ann)
    const address = addressOf(fixture, app, { prompt: 'select_account' })
    const pressButton = async (value: string) => {
      const page = pageOf(await browser.open(address))
      assert.match(page.text, /Choose an account for <bdi>Reader<\/bdi>/)
      assert.match(page.text, /ann@example\.com/)
      const [form] = page.forms
      const button = form?.buttons.find(button => button.value === value)
      assert.ok(form && button, page.text)
      return browser.submit(form, {}, button)
    }
    const continued = await pressButton('continue')
    assert.ok('location' in continued)
    assert.equal((await claimsFor(fixture, app, continued.location)).idToken.sub, String(fixture.ann.id))
    const stopped = await pressButton('deny')
    assert.ok('location' in stopped)
    assert.equal(stopped.location.searchParams.get('error'), 'access_denied')
    const other = await untilDeparture(browser, await pressButton('other-account'), fixture.ben)
    assert.equal((await claimsFor(fixture, app, other)).idToken.sub, String(fixture.ben.id))
  })
})

test('the metadata lists claims and prompts', async () => {
  await withFixture({}, async ({ call }) => {
    for (const name of ['openid-configuration', 'oauth-authorization-server']) {
      const { json } = await call(`/.well-known/${name}`)
      assert.equal(json.claims_parameter_supported, true)
      const supported = new Set(json.claims_supported as string[])
      for (const claim of ['sub', 'name', 'email', 'email_verified']) assert.ok(supported.has(claim), claim)
      assert.deepEqual(json.prompt_values_supported, ['none', 'login', 'consent', 'select_account'])
      assert.ok(!('acr_values_supported' in json))
    }
  })
})
