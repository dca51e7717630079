/** Introspection, revocation, sign-out by an app and the device flow, with published clients. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as openid from 'openid-client'
import type { Browser, Departure, Page } from '../browser.ts'
import {
  type App,
  authorizationUrl,
  authorize,
  clientCredentials,
  consentOf,
  type Fixture,
  formWith,
  newTokens,
  post,
  redirectUri,
  withFixture,
} from '../server.ts'

const scope = 'openid offline_access read:user read:post'

function configurationOf({ url }: Fixture, app: App, authentication?: openid.ClientAuth) {
  return openid.discovery(new URL(url), app.client_id, app.client_secret, authentication, {
    execute: [openid.allowInsecureRequests],
  })
}

async function opensApi({ call }: Fixture, token: string | undefined): Promise<boolean> {
  const { status } = await call('/api/v1/me', { headers: { Authorization: `Bearer ${token}` } })
  assert.ok(status === 200 || status === 401, String(status))
  return status === 200
}

for (const format of ['opaque', 'jwt']) {
  test(`an app introspects and revokes its own tokens only: ${format}`, async () => {
    await withFixture({ 'oauth.accessTokenFormat': format } as object, async fixture => {
      const [app, stranger] = [await fixture.app(), await fixture.app({ name: 'Stranger' })]
      const configuration = await configurationOf(fixture, app)
      const other = await configurationOf(fixture, stranger)
      const tokens = await newTokens(fixture, app, { browser: fixture.browser(), person: fixture.ann, scope })
      const { access_token: access = '', refresh_token: refresh = '' } = tokens
      for (const [token, kind] of [
        [access, 'access_token'],
        [refresh, 'refresh_token'],
      ] as const) {
        const hints = [undefined, { token_type_hint: kind }, { token_type_hint: 'refresh_token' }]
        for (const hint of hints) {
          const introspection = await openid.tokenIntrospection(configuration, token, hint)
          const { active, client_id, sub, iss, aud, exp = 0, iat = 0, token_type } = introspection
          assert.deepEqual(
            { active, client_id, sub, iss, aud, token_type },
            {
              active: true,
              client_id: app.client_id,
              sub: String(fixture.ann.id),
              iss: fixture.url,
              aud: fixture.url,
              token_type: kind === 'access_token' ? 'Bearer' : undefined,
            },
          )
          assert.ok(exp > iat)
          assert.deepEqual(introspection.scope?.split(' ').sort(), scope.split(' ').sort())
          assert.deepEqual(await openid.tokenIntrospection(other, token, hint), { active: false })
        }
        await openid.tokenRevocation(other, token)
        assert.ok(await opensApi(fixture, access), 'another app has revoked it')
      }
      for (const unknown of ['x', 'a.b.c', `${access}x`, access.slice(1), 'é']) {
        assert.deepEqual(await openid.tokenIntrospection(configuration, unknown), { active: false })
        // RFC 7009, 2.2: revoking an invalid token is not an error.
        await openid.tokenRevocation(configuration, unknown)
      }
      await openid.tokenRevocation(configuration, access)
      assert.equal(await opensApi(fixture, access), false)
      assert.deepEqual(await openid.tokenIntrospection(configuration, access), { active: false })
    })
  })
}

test('a token of another issuer is inactive, and revoking it is no error, whatever its form', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const header = encoded({ alg: 'RS256', typ: 'JWT' })
    const foreign = [
      `${header}.${encoded({ iss: 'https://id.example.com' })}.c2ln`,
      `${encoded({ alg: 'none' })}.${encoded({ iss: fixture.url })}.`,
      `${header}.${encoded({ roles: 'x'.repeat(9000) })}.c2ln`,
      `${encoded({ alg: 'dir', enc: 'A256GCM' })}..aXY.dGV4dA.dGFn`,
      header,
      `${header}.`,
      `${encoded(['an array'])}.e30.c2ln`,
      'v4.local.abc',
      'a.b.c',
    ]
    for (const token of foreign) {
      // oidc-provider responds to a request with an unknown parameter, not the fast path.
      for (const more of [{}, { unknown: 'x' }]) {
        const form = { token, ...clientCredentials(app), ...more }
        const { status, json, text } = await post(`${fixture.url}/oauth/introspect`, form)
        assert.deepEqual([status, json], [200, { active: false }], `${token.slice(0, 80)} ${text}`)
        const revoked = await post(`${fixture.url}/oauth/revoke`, form)
        assert.equal(revoked.status, 200, `${token.slice(0, 80)} ${revoked.text}`)
      }
    }
  })
})

/** RFC 6749, 2.3.1: credentials are form-encoded before they are encoded in base64. */
function basic(id: string, secret: string, encode: (text: string) => string): string {
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`
}

const plain = (text: string) => text
const escaped = (text: string) => Buffer.from(text).toString('hex').replaceAll(/../g, '%$&')

test('every endpoint accepts the secret in each form of RFC 6749, and no assertion', async () => {
  await withFixture({}, async fixture => {
    const { client_id, client_secret, redirect_uris } = await fixture.app({ scope_separator: ' ' })
    const requests: readonly [path: string, form: Record<string, string>, status: number][] = [
      ['/oauth/token', { grant_type: 'client_credentials', scope: 'read:post' }, 200],
      ['/oauth/introspect', { token: 'x' }, 200],
      ['/oauth/revoke', { token: 'x' }, 200],
      [
        '/oauth/par',
        { response_type: 'code', redirect_uri: redirect_uris[0] ?? '', scope: 'read:post', client_id },
        201,
      ],
      ['/oauth/device', { scope: 'read:post' }, 200],
    ]
    const encodedJson = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = { iss: client_id, sub: client_id, aud: fixture.url, jti: '1', exp: 4_000_000_000 }
    const assertion = {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: `${encodedJson({ alg: 'ES256' })}.${encodedJson(claims)}.c2ln`,
    }
    for (const [path, form, status] of requests) {
      const url = fixture.url + path
      for (const encode of [plain, escaped]) {
        const answer = await post(url, form, { Authorization: basic(client_id, client_secret, encode) })
        assert.equal(answer.status, status, `${path} ${answer.text}`)
      }
      const inForm = await post(url, { ...form, client_id, client_secret })
      assert.equal(inForm.status, status, `${path} ${inForm.text}`)
      const named = await post(url, { ...form, ...assertion, client_id })
      assert.deepEqual([named.status, named.json.error], [401, 'invalid_client'], path)
      const wrong = await post(url, form, { Authorization: basic(client_id, `${client_secret}x`, escaped) })
      assert.deepEqual([wrong.status, wrong.json.error], [401, 'invalid_client'], path)
    }
  })
})

test('a device request without scope gets the default scopes, wherever the app puts its secret', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const url = `${fixture.url}/oauth/device`
    const Authorization = basic(app.client_id, app.client_secret, escaped)
    const started = [await post(url, clientCredentials(app)), await post(url, {}, { Authorization })]
    for (const { status, text } of started) assert.equal(status, 200, text)
    const foreign = await post(
      url,
      { client_id: app.client_id },
      { Authorization: basic('other', 'x', plain) },
    )
    assert.deepEqual([foreign.status, foreign.json.error], [400, 'invalid_request'])
  })
})

test('a public app revokes its own tokens, and introspects none', async () => {
  await withFixture({}, async fixture => {
    const verifier = openid.randomPKCECodeVerifier()
    const app = await fixture.app({ type: 'public' })
    const configuration = await configurationOf(fixture, app, openid.None())
    const address = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: 'read:user',
      state: 's',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const callbackUrl = await authorize(fixture.browser(), address, fixture.ann)
    const checks = { pkceCodeVerifier: verifier, expectedState: 's' }
    const { access_token: token } = await openid.authorizationCodeGrant(configuration, callbackUrl, checks)
    for (const sent of [token, 'x']) {
      const { status, json } = await post(`${fixture.url}/oauth/introspect`, {
        token: sent,
        client_id: app.client_id,
      })
      assert.deepEqual([status, json.error, json.active], [401, 'invalid_client', undefined])
    }
    await openid.tokenRevocation(configuration, token)
    assert.equal(await opensApi(fixture, token), false)
  })
})

test('an app’s tokens cannot be introspected or revoked without its secret', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const { access_token: token = '' } = await newTokens(fixture, app, {
      browser: fixture.browser(),
      person: fixture.ann,
      scope: 'read:user',
    })
    for (const path of ['introspect', 'revoke']) {
      for (const form of [
        {},
        { client_id: app.client_id },
        { ...clientCredentials(app), client_secret: 'wrong' },
      ]) {
        const { status, json } = await post(`${fixture.url}/oauth/${path}`, { token, ...form })
        assert.ok(status === 400 || status === 401, `${path} ${status}`)
        assert.equal(json.active, undefined)
      }
      const bearer = await post(
        `${fixture.url}/oauth/${path}`,
        { token },
        { Authorization: `Bearer ${token}` },
      )
      assert.ok(bearer.status === 400 || bearer.status === 401)
    }
    assert.ok(await opensApi(fixture, token))
  })
})

interface SignedIn {
  readonly app: App
  readonly configuration: openid.Configuration
  readonly browser: Browser
  readonly idToken: string
  readonly accessToken: string
}

async function signedIn(fixture: Fixture): Promise<SignedIn> {
  const app = await fixture.app()
  const configuration = await configurationOf(fixture, app)
  const browser = fixture.browser()
  const tokens = await newTokens(fixture, app, { browser, person: fixture.ann, scope: 'openid read:user' })
  const { id_token: idToken = '', access_token: accessToken = '' } = tokens
  return { app, configuration, browser, idToken, accessToken }
}

async function isSignedIn(browser: Browser, { url }: Fixture): Promise<boolean> {
  const page = await browser.open(`${url}/account/apps`)
  assert.ok(!('location' in page))
  return formWith(page, 'password') === undefined
}

/** Submits the sign-out page with one of its buttons. */
async function answerSignOut(
  browser: Browser,
  page: Page | Departure,
  stay = false,
): Promise<Page | Departure> {
  assert.ok(!('location' in page))
  const [form] = page.forms
  const button = form?.buttons.find(({ value }) => (value === 'yes') !== stay)
  assert.ok(form && button, page.text)
  return browser.submit(form, {}, button)
}

test('openid-client: an app signs its user out, who returns to it with its state', async () => {
  await withFixture({}, async fixture => {
    const { configuration, browser, idToken, accessToken } = await signedIn(fixture)
    assert.ok(await isSignedIn(browser, fixture))
    const address = openid.buildEndSessionUrl(configuration, {
      id_token_hint: idToken,
      post_logout_redirect_uri: redirectUri,
      state: 'bye & bye',
    })
    const stayed = await answerSignOut(browser, await browser.open(address), true)
    assert.ok('location' in stayed)
    assert.ok(await isSignedIn(browser, fixture), 'was signed out against their will')
    const landing = await answerSignOut(browser, await browser.open(address))
    assert.ok('location' in landing)
    assert.equal(landing.location.origin + landing.location.pathname, redirectUri)
    assert.deepEqual([...landing.location.searchParams], [['state', 'bye & bye']])
    assert.equal(await isSignedIn(browser, fixture), false)
    // The grant outlives the session.
    assert.ok(await opensApi(fixture, accessToken))
  })
})

/** Posts as a form on an app’s page does: without cookies, since they are `SameSite=Lax`. */
async function postFromElsewhere({ url }: Fixture, address: URL): Promise<Response> {
  return fetch(url + address.pathname, {
    method: 'POST',
    body: address.searchParams,
    redirect: 'manual',
    headers: { Origin: 'http://127.0.0.1:9', 'Sec-Fetch-Site': 'cross-site' },
  })
}

test('openid-client: an app signs its user out with a posted form', async () => {
  await withFixture({}, async fixture => {
    const { configuration, browser, idToken } = await signedIn(fixture)
    const address = openid.buildEndSessionUrl(configuration, {
      id_token_hint: idToken,
      post_logout_redirect_uri: redirectUri,
      state: 'bye & bye',
    })
    const posted = await postFromElsewhere(fixture, address)
    assert.equal(posted.status, 303)
    // A new cookie would replace the user’s session before they confirm.
    assert.deepEqual(posted.headers.getSetCookie(), [])
    assert.equal(posted.headers.get('cache-control'), 'no-store')
    assert.equal(posted.headers.get('referrer-policy'), 'no-referrer')
    assert.ok(await isSignedIn(browser, fixture), 'was signed out without confirming')
    const page = await browser.open(posted.headers.get('location') ?? '')
    assert.ok(await isSignedIn(browser, fixture), 'was signed out without confirming')
    const landing = await answerSignOut(browser, page)
    assert.ok('location' in landing)
    assert.equal(landing.location.origin + landing.location.pathname, redirectUri)
    assert.deepEqual([...landing.location.searchParams], [['state', 'bye & bye']])
    assert.equal(await isSignedIn(browser, fixture), false)
  })
})

test('a posted sign-out redirects to the confirmation page only, and reports what is wrong', async () => {
  await withFixture({}, async fixture => {
    const { browser } = await signedIn(fixture)
    const logout = `${fixture.url}/oauth/logout`
    const nothing = await fetch(logout, { method: 'POST', redirect: 'manual' })
    assert.deepEqual([nothing.status, nothing.headers.get('location')], [303, '/oauth/logout'])
    const hostile = new URLSearchParams({
      post_logout_redirect_uri: 'https://evil.example/',
      state: '\r\nX: y',
    })
    const sent = await fetch(logout, { method: 'POST', redirect: 'manual', body: hostile })
    const to = new URL(sent.headers.get('location') ?? '', fixture.url)
    assert.equal(to.origin + to.pathname, logout)
    assert.deepEqual([...to.searchParams], [...hostile])
    const twice = await fetch(logout, {
      method: 'POST',
      body: new URLSearchParams([
        ['state', 'a'],
        ['state', 'b'],
      ]),
    })
    assert.equal(twice.status, 400)
    const json = await fetch(logout, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{}',
    })
    assert.equal(json.status, 415)
    const long = await fetch(logout, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ id_token_hint: 'x'.repeat(9000) }),
    })
    assert.equal(long.status, 413)
    assert.ok(await isSignedIn(browser, fixture))
  })
})

test('a sign-out without an app or a hint ends at the service', async () => {
  await withFixture({}, async fixture => {
    for (const parameters of ['', `?post_logout_redirect_uri=${encodeURIComponent(redirectUri)}&state=s`]) {
      const { browser } = await signedIn(fixture)
      const page = await browser.open(`${fixture.url}/oauth/logout${parameters}`)
      const landing = await answerSignOut(browser, page)
      assert.ok(!('location' in landing), 'an open redirect')
      assert.match(landing.text, /You are signed out/)
      assert.equal(await isSignedIn(browser, fixture), false)
    }
    const { browser, app } = await signedIn(fixture)
    const logoutUrl = new URL(`${fixture.url}/oauth/logout`)
    logoutUrl.search = new URLSearchParams({
      client_id: app.client_id,
      post_logout_redirect_uri: redirectUri,
    }).toString()
    const landing = await answerSignOut(browser, await browser.open(logoutUrl))
    assert.ok('location' in landing)
    assert.equal(landing.location.href, redirectUri)
  })
})

test('an invalid sign-out request signs nobody out and redirects nowhere', async () => {
  await withFixture({}, async fixture => {
    const { browser, app, idToken } = await signedIn(fixture)
    const otherApp = await fixture.app({ name: 'Other' })
    const [head, body, signature = ''] = idToken.split('.')
    const wrong: readonly Readonly<Record<string, string>>[] = [
      { id_token_hint: idToken, post_logout_redirect_uri: 'https://evil.example/' },
      { id_token_hint: idToken, post_logout_redirect_uri: `${redirectUri}/more` },
      { client_id: app.client_id, post_logout_redirect_uri: 'https://evil.example/' },
      { id_token_hint: idToken, client_id: otherApp.client_id },
      { id_token_hint: 'x' },
      { id_token_hint: `${head}.${body}.${signature.slice(0, -4)}AAAA` },
      { client_id: 'nobody' },
    ]
    for (const parameters of wrong) {
      const page = await browser.open(`${fixture.url}/oauth/logout?${new URLSearchParams(parameters)}`)
      assert.ok(!('location' in page), JSON.stringify(parameters))
      assert.equal(page.status, 400, JSON.stringify(parameters))
      assert.deepEqual(page.forms, [])
    }
    const forged = await browser.send(new URL(`${fixture.url}/oauth/logout/confirm`), {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'logout=yes&xsrf=guess',
    })
    assert.equal(forged.status, 400)
    assert.ok(await isSignedIn(browser, fixture))
  })
})

test('openid-client: the device flow works, with the user’s approval in a browser', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({ redirect_uris: [], type: 'public' })
    const configuration = await configurationOf(fixture, app, openid.None())
    const begun = await openid.initiateDeviceAuthorization(configuration, { scope: 'read:user' })
    assert.equal(begun.verification_uri, `${fixture.url}/oauth/device`)
    const browser = fixture.browser()
    let page = await browser.open(begun.verification_uri_complete ?? '')
    for (let step = 0; step < 6 && !('location' in page); step++) {
      const signIn = formWith(page, 'password')
      const next = consentOf(page)
      const { email, password } = fixture.ann
      if (signIn) page = await browser.submit(signIn, { email, password })
      else if (next) page = await browser.submit(next.form, {}, next.button)
      else if (page.forms[0]?.action.pathname.startsWith('/oauth/device')) {
        page = await browser.submit(page.forms[0], {})
      } else break
    }
    const quickly = { ...begun, interval: 1 }
    const tokens = await openid.pollDeviceAuthorizationGrant(configuration, quickly, undefined, {
      signal: AbortSignal.timeout(20_000),
    })
    assert.ok(await opensApi(fixture, tokens.access_token))
    await openid.tokenRevocation(configuration, tokens.access_token)
    assert.equal(await opensApi(fixture, tokens.access_token), false)
  })
})

test('openid-client: a pushed request is refused when it is used twice or by another app', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const configuration = await configurationOf(fixture, app)
    const pushed = await openid.buildAuthorizationUrlWithPAR(configuration, {
      redirect_uri: redirectUri,
      scope: 'read:post',
      state: 's',
    })
    const stolen = new URL(pushed)
    stolen.searchParams.set('client_id', (await fixture.app({ name: 'Thief' })).client_id)
    const assertRefused = (answer: Page | Departure) => {
      if (!('location' in answer)) return assert.equal(answer.status, 400)
      assert.equal(answer.location.searchParams.get('code'), null)
      assert.match(answer.location.searchParams.get('error') ?? '', /^invalid_request/)
    }
    assertRefused(await fixture.browser().open(stolen))
    const browser = fixture.browser()
    const callbackUrl = await authorize(browser, pushed, fixture.ann)
    assert.ok(callbackUrl.searchParams.has('code'))
    assertRefused(await browser.open(pushed))
  })
})

test('of concurrent uses of a pushed request, one gets a code', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({ redirect_uris: ['https://app.example.com/callback'] })
    const [redirect_uri = ''] = app.redirect_uris
    const request = { response_type: 'code', redirect_uri, scope: 'read:post', state: 's' }
    const browser = fixture.browser()
    const address = { client_id: app.client_id }
    // An earlier consent makes a page between the request and the code unnecessary.
    await authorize(browser, authorizationUrl(fixture.url, { ...address, ...request }), fixture.ann)
    const { json } = await post(`${fixture.url}/oauth/par`, { ...request, ...clientCredentials(app) })
    const pushed = authorizationUrl(fixture.url, { ...address, request_uri: String(json.request_uri) })
    const answers = await Promise.all(Array.from({ length: 8 }, () => browser.open(pushed)))
    const outcomes = answers.map(answer => {
      assert.ok('location' in answer)
      const { searchParams } = answer.location
      return searchParams.has('code') ? 'code' : searchParams.get('error')
    })
    assert.deepEqual(outcomes.toSorted(), ['code', ...Array.from({ length: 7 }, () => 'invalid_request_uri')])
  })
})
