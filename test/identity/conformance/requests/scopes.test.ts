/** Requested scopes: unknown ones, ones that the app lacks, and ones that others cover. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
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

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

async function postForm(
  { url }: Fixture,
  app: App,
  path: string,
  form: Readonly<Record<string, string>>,
): Promise<EndpointAnswer> {
  const { status, json, text } = await post(`${url}/oauth/${path}`, { ...form, ...clientCredentials(app) })
  assert.equal(status, 400, text)
  return { error: json.error, error_description: json.error_description }
}

interface EndpointAnswer {
  readonly error: unknown
  readonly error_description: unknown
}

/** The errors of a scope at every endpoint that begins a grant. */
async function grantErrors(
  fixture: Fixture,
  app: App,
  scope: string,
): Promise<Record<string, EndpointAnswer>> {
  const { url, browser } = fixture
  const parameters = { client_id: app.client_id, redirect_uri: redirectUri, scope, state: 'a state' }
  const long = { ...parameters, response_type: 'code' }
  const redirect = async (parameters: Readonly<Record<string, string>>) => {
    const { headers } = await browser().send(authorizationUrl(url, parameters))
    const to = new URL(String(headers.location), url)
    assert.equal(to.origin + to.pathname, redirectUri, to.href)
    assert.deepEqual([to.searchParams.get('state'), to.searchParams.get('iss')], ['a state', url])
    return {
      error: to.searchParams.get('error'),
      error_description: to.searchParams.get('error_description'),
    }
  }
  return {
    authorize: await redirect(parameters),
    'authorize, RFC 6749': await redirect(long),
    'pushed request': await postForm(fixture, app, 'par', long),
    device: await postForm(fixture, app, 'device', { scope }),
    'client credentials': await postForm(fixture, app, 'token', { grant_type: 'client_credentials', scope }),
  }
}

/** The errors of a scope at every endpoint that takes one. */
async function scopeErrors(
  fixture: Fixture,
  app: App,
  scope: string,
): Promise<Record<string, EndpointAnswer>> {
  const { refresh_token = '' } = await newTokens(fixture, app, {
    browser: fixture.browser(),
    person: fixture.ann,
    scope: 'offline_access read:post',
  })
  const refresh = { grant_type: 'refresh_token', refresh_token, scope }
  return {
    ...(await grantErrors(fixture, app, scope)),
    refresh: await postForm(fixture, app, 'token', refresh),
  }
}

test('a scope that is unknown or not the app’s is refused with invalid_scope at every endpoint', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({ scopes: ['openid', 'offline_access', 'read:post'] })
    const scopes = [
      'read:secret',
      'read:post admin',
      'read:post,write:everything',
      '*',
      'read:post write:post',
      'email',
    ]
    for (const scope of scopes) {
      for (const [way, { error, error_description: description }] of Object.entries(
        await scopeErrors(fixture, app, scope),
      )) {
        assert.equal(error, 'invalid_scope', `${way}: ${scope}`)
        assert.equal(typeof description, 'string', `${way}: ${scope}`)
      }
    }
    const free = await fixture.app({ scopes: null, default_scopes: null })
    for (const [way, { error }] of Object.entries(await scopeErrors(fixture, free, 'read:post nothing'))) {
      assert.equal(error, 'invalid_scope', way)
    }
  })
})

test('a request without scope gets the app’s default scopes, or invalid_scope if it has none', async () => {
  await withFixture({}, async fixture => {
    const own = (app: App, more = {}) =>
      post(`${fixture.url}/oauth/token`, {
        grant_type: 'client_credentials',
        ...clientCredentials(app),
        ...more,
      })
    const app = await fixture.app({ default_scopes: ['read:post', 'read:user'] })
    assert.equal(scopeOf(await own(app)), 'read:post read:user')
    assert.equal(scopeOf(await own(app, { scope: '' })), 'read:post read:user')
    const none = await fixture.app({ scopes: null, default_scopes: null })
    for (const [way, { error, error_description: description }] of Object.entries(
      await grantErrors(fixture, none, ''),
    )) {
      assert.equal(error, 'invalid_scope', way)
      assert.match(String(description), /default_scopes/, way)
    }
  })
})

test('a wrong secret gets invalid_client before scopes are checked', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    for (const [path, form] of [
      ['token', { grant_type: 'client_credentials' }],
      ['par', { response_type: 'code', redirect_uri: redirectUri }],
      ['device', {}],
    ] as const) {
      const sent = { ...form, scope: 'nothing', client_id: app.client_id, client_secret: 'wrong' }
      const { status, json } = await post(`${fixture.url}/oauth/${path}`, sent)
      assert.deepEqual([status, json.error], [401, 'invalid_client'], path)
    }
  })
})

const scopeOf = ({ json }: { json: Readonly<Record<string, unknown>> }) =>
  String(json.scope).split(/[ ,]/).sort().join(' ')

test('a write scope covers read: an app may request it, and a refresh may narrow to it', async () => {
  for (const format of ['opaque', 'jwt']) {
    await withFixture({}, async fixture => {
      const { url, call, ann } = fixture
      const app = await fixture.app({
        scopes: ['offline_access', 'write:post'],
        default_scopes: ['read:post'],
        access_token_format: format,
      })
      const own = { grant_type: 'client_credentials', ...clientCredentials(app) }
      assert.equal(scopeOf(await post(`${url}/oauth/token`, { ...own, scope: 'read:post' })), 'read:post')
      const device = await post(`${url}/oauth/device`, { scope: 'read:post', ...clientCredentials(app) })
      assert.equal(device.status, 200, device.text)

      const scope = 'offline_access write:post'
      const tokens = await newTokens(fixture, app, { browser: fixture.browser(), person: ann, scope })
      assert.equal(scopeOf({ json: tokens }), scope)
      const introspect = async (token: string | undefined) =>
        (await post(`${url}/oauth/introspect`, { token: token ?? '', ...clientCredentials(app) })).json.scope
      assert.equal(await introspect(tokens.access_token), scope)
      assert.equal((await call('/api/v1/posts', { key: tokens.access_token ?? '' })).status, 200)

      const refresh = (token: unknown, more = {}) =>
        post(`${url}/oauth/token`, {
          grant_type: 'refresh_token',
          refresh_token: String(token),
          ...clientCredentials(app),
          ...more,
        })
      const narrow = await refresh(tokens.refresh_token, { scope: 'read:post' })
      assert.equal(narrow.json.scope, 'read:post', narrow.text)
      assert.equal(await introspect(String(narrow.json.access_token)), 'read:post')
      const key = String(narrow.json.access_token)
      assert.equal((await call('/api/v1/posts', { key })).status, 200)
      const body = { title: 'No', body: 'no', author_id: ann.id }
      assert.equal((await call('/api/v1/posts', { method: 'POST', key, body })).status, 403)
      // RFC 6749, 6: the refresh token keeps the granted scope.
      const wide = await refresh(narrow.json.refresh_token)
      assert.equal(scopeOf(wide), scope)
      const beyond = await refresh(wide.json.refresh_token, { scope: 'read:user' })
      assert.deepEqual([beyond.status, beyond.json.error], [400, 'invalid_scope'])
    })
  }
})

test('a user who has granted write is not asked again for read, and the consent page says that write includes it', async () => {
  await withFixture({}, async fixture => {
    // A native app asks every time (RFC 8252, 8.6).
    const uri = 'https://app.example.com/callback'
    const app = await fixture.app({ redirect_uris: [uri] })
    const browser = fixture.browser()
    const address = (scope: string) =>
      authorizationUrl(fixture.url, {
        client_id: app.client_id,
        redirect_uri: uri,
        scope,
        state: 's',
      })
    let page = await browser.open(address('write:post'))
    assert.ok(!('location' in page))
    const signIn = formWith(page, 'password')
    assert.ok(signIn)
    page = await browser.submit(signIn, { email: fixture.ann.email, password: fixture.ann.password })
    assert.ok(!('location' in page))
    assert.match(page.text, /See posts, create, change and delete your own/)
    const consent = consentOf(page)
    assert.ok(consent)
    await browser.submit(consent.form, {}, consent.button)
    const again = await browser.open(address('read:post'))
    assert.ok('location' in again, 'was asked again')
    const code = again.location.searchParams.get('code') ?? ''
    const answer = await post(`${fixture.url}/oauth/token`, {
      ...clientCredentials(app),
      code,
      redirect_uri: uri,
    })
    assert.equal(answer.json.scope, 'read:post')
  })
})

test('a device gets the read scope that its app’s write scope covers', async () => {
  await withFixture({}, async ({ url, ...fixture }) => {
    const app = await fixture.app({ scopes: ['write:post'], default_scopes: ['read:post'] })
    const begun = await post(`${url}/oauth/device`, clientCredentials(app))
    const poll = {
      grant_type: deviceGrant,
      device_code: String(begun.json.device_code),
      ...clientCredentials(app),
    }
    const early = await post(`${url}/oauth/token`, poll)
    assert.equal(early.json.error, 'authorization_pending')
    const browser = fixture.browser()
    const address = `${url}/oauth/device?user_code=${begun.json.user_code}`
    let page = await browser.open(address)
    for (let step = 0; step < 6 && !('location' in page); step++) {
      const signIn = formWith(page, 'password')
      const { email, password } = fixture.ann
      const next = consentOf(page)
      if (signIn) page = await browser.submit(signIn, { email, password })
      else if (next) page = await browser.submit(next.form, {}, next.button)
      else if (page.forms[0]) page = await browser.submit(page.forms[0], {})
      else break
    }
    const answer = await post(`${url}/oauth/token`, poll)
    assert.equal(answer.json.scope, 'read:post', answer.text)
  })
})

test('a scope that an app loses is removed at once from its live tokens and from refreshed ones', async () => {
  for (const format of ['opaque', 'jwt']) {
    await withFixture({}, async fixture => {
      const { url, call, ann } = fixture
      const app = await fixture.app({ access_token_format: format })
      const scope = 'openid profile email offline_access read:user write:post'
      const tokens = await newTokens(fixture, app, { browser: fixture.browser(), person: ann, scope })
      const key = tokens.access_token ?? ''
      const write = async () => {
        const body = { title: 'T', body: 'b', author_id: ann.id }
        return (await call('/api/v1/posts', { method: 'POST', key, body })).status
      }
      const userinfo = async () =>
        (await fetch(`${url}/oauth/userinfo`, { headers: { Authorization: `Bearer ${key}` } })).json()
      assert.equal(await write(), 201)
      assert.equal((await userinfo()).email, ann.email)
      const patched = await call(`/api/v1/oauth_apps/${app.id}`, {
        method: 'PATCH',
        key: ann.key,
        body: { scopes: ['openid', 'profile', 'offline_access', 'read:post'] },
      })
      assert.equal(patched.status, 200, patched.text)
      assert.equal(await write(), 403)
      assert.equal((await call('/api/v1/posts', { key })).status, 200)
      assert.equal((await call('/api/v1/me', { key })).status, 403)
      assert.deepEqual(await userinfo(), { sub: String(ann.id), name: ann.name })
      const remainingScope = 'offline_access openid profile read:post'
      for (const token of [key, tokens.refresh_token ?? '']) {
        assert.equal(
          scopeOf(await post(`${url}/oauth/introspect`, { token, ...clientCredentials(app) })),
          remainingScope,
        )
      }
      const refreshed = await post(`${url}/oauth/token`, {
        grant_type: 'refresh_token',
        refresh_token: tokens.refresh_token ?? '',
        ...clientCredentials(app),
      })
      assert.equal(scopeOf(refreshed), remainingScope)
    })
  }
})

test('a consent to one app does not apply to another', async () => {
  await withFixture({}, async fixture => {
    const [first, second] = [await fixture.app(), await fixture.app({ name: 'Other' })]
    const browser = fixture.browser()
    const address = (app: App) =>
      authorizationUrl(fixture.url, {
        client_id: app.client_id,
        redirect_uri: redirectUri,
        scope: 'read:post',
        state: 's',
      })
    const callbackUrl = await authorize(browser, address(first), fixture.ann)
    assert.ok(callbackUrl.searchParams.has('code'))
    const page = await browser.open(address(second))
    assert.ok(!('location' in page) && consentOf(page))
  })
})
