/** The short forms of OAuth requests, exactly as documented, and those of RFC 6749. */
import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { earlyInMinute } from '../../../engine/cluster/window.ts'
import {
  authorizationUrl,
  authorize,
  clientCredentials,
  exchangeCode,
  newTokens,
  post,
  redirectUri,
  withFixture,
} from '../server.ts'

test('a short authorization request and a short token request get a token that the API accepts', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const state = 'xyz %&+ "\'<é>'
    const address = authorizationUrl(fixture.url, {
      client_id: app.client_id,
      redirect_uri: redirectUri,
      scope: 'read:post read:user',
      state,
    })
    const callbackUrl = await authorize(fixture.browser(), address, fixture.ann)
    assert.equal(callbackUrl.origin + callbackUrl.pathname, redirectUri)
    assert.equal(callbackUrl.searchParams.get('state'), state)
    assert.equal(callbackUrl.searchParams.get('iss'), fixture.url)
    const code = callbackUrl.searchParams.get('code') ?? ''
    assert.notEqual(code, '')

    const answer = await post(
      `${fixture.url}/oauth/token`,
      { client_id: app.client_id, client_secret: app.client_secret, code, redirect_uri: redirectUri },
      { Accept: 'application/json' },
    )
    assert.equal(answer.status, 200, answer.text)
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json\b/)
    assert.match(answer.headers.get('cache-control') ?? '', /no-store/)
    const { access_token, token_type, scope } = answer.json
    assert.equal(typeof access_token, 'string')
    assert.equal(token_type, 'bearer')
    assert.deepEqual(String(scope).split(',').sort(), ['read:post', 'read:user'])

    const me = await fixture.call('/api/v1/me', { key: String(access_token) })
    assert.equal(me.status, 200, me.text)
    assert.equal(me.json.email, fixture.ann.email)
    const posts = await fixture.call('/api/v1/posts', { key: String(access_token) })
    assert.equal(posts.status, 200, posts.text)
    const write = await fixture.call('/api/v1/posts', {
      method: 'POST',
      key: String(access_token),
      body: { title: 'No' },
    })
    assert.deepEqual([write.status, write.code], [403, 'INSUFFICIENT_SCOPE'], write.text)
    assert.match(
      write.headers.get('www-authenticate') ?? '',
      /error="insufficient_scope", scope="write:post"/,
    )
  })
})

test('a token response is JSON unless only form encoding is accepted', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const browser = fixture.browser()
    const rows = [
      [{}, 'application/json'],
      [{ Accept: '*/*' }, 'application/json'],
      [{ Accept: 'text/html' }, 'application/json'],
      [{ Accept: 'application/json, application/x-www-form-urlencoded;q=0.5' }, 'application/json'],
      [{ Accept: 'application/x-www-form-urlencoded' }, 'application/x-www-form-urlencoded'],
    ] as const
    for (const [headers, type] of rows) {
      const callbackUrl = await authorize(
        browser,
        authorizationUrl(fixture.url, {
          client_id: app.client_id,
          redirect_uri: redirectUri,
          scope: 'read:post,read:user',
          state: 's',
        }),
        fixture.ann,
      )
      const form = {
        ...clientCredentials(app),
        code: callbackUrl.searchParams.get('code') ?? '',
        redirect_uri: redirectUri,
      }
      const answer = await post(`${fixture.url}/oauth/token`, form, headers)
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.headers.get('content-type')?.split(';')[0], type)
      const read =
        type === 'application/json' ? answer.json : Object.fromEntries(new URLSearchParams(answer.text))
      assert.equal(read.token_type, 'bearer')
      assert.deepEqual(String(read.scope).split(',').sort(), ['read:post', 'read:user'])
      const posts = await fixture.call('/api/v1/posts', { key: String(read.access_token) })
      assert.equal(posts.status, 200)
    }
  })
})

test('a token response has the app’s scope separator', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({ scope_separator: ' ' })
    const tokens = await newTokens(fixture, app, {
      browser: fixture.browser(),
      person: fixture.ann,
      scope: 'read:post,read:user',
    })
    assert.deepEqual(tokens.scope?.split(' ').sort(), ['read:post', 'read:user'])
  })
})

test('a request without scope gets the app’s default scopes', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({ default_scopes: ['read:post'] })
    const address = authorizationUrl(fixture.url, {
      client_id: app.client_id,
      redirect_uri: redirectUri,
      state: 's',
    })
    const callbackUrl = await authorize(fixture.browser(), address, fixture.ann)
    const answer = await exchangeCode(fixture.url, app, callbackUrl.searchParams.get('code') ?? '')
    assert.equal(answer.json.scope, 'read:post', answer.text)
  })
})

test('with the openid scope, a missing response_type is an error', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const address = authorizationUrl(fixture.url, {
      client_id: app.client_id,
      redirect_uri: redirectUri,
      scope: 'openid profile',
      state: 's',
    })
    const page = await fixture.browser().open(address)
    const error = 'location' in page ? page.location.searchParams.get('error') : page.text
    assert.match(String(error), /invalid_request/)
    if ('location' in page) assert.equal(page.location.searchParams.get('code'), null)
  })
})

test('a state is returned unchanged, whatever it contains', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const browser = fixture.browser()
    const states = ['a b', '%2520', '+', '&code=forged', '<script>', '\u{1f600}', 'x'.repeat(500), '#', '\\']
    for (const state of states) {
      const address = authorizationUrl(fixture.url, {
        client_id: app.client_id,
        redirect_uri: redirectUri,
        scope: 'read:post',
        state,
      })
      const callbackUrl = await authorize(browser, address, fixture.ann)
      assert.deepEqual(callbackUrl.searchParams.getAll('state'), [state])
      assert.equal(callbackUrl.searchParams.getAll('code').length, 1)
      assert.notEqual(callbackUrl.searchParams.get('code'), 'forged')
    }
  })
})

test('a public client must send an S256 challenge, and its verifier', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({ type: 'public' })
    assert.equal(app.client_secret, undefined)
    const browser = fixture.browser()
    const verifier = randomBytes(32).toString('base64url')
    const challenge = hash('sha256', verifier, 'base64url')
    const common = {
      response_type: 'code',
      client_id: app.client_id,
      redirect_uri: redirectUri,
      scope: 'read:post',
      state: 's',
    }
    const refused = [
      {},
      { code_challenge: verifier, code_challenge_method: 'plain' },
      { code_challenge: verifier },
      { code_challenge_method: 'S256' },
      { code_challenge: challenge, code_challenge_method: 'S512' },
    ]
    for (const wrong of refused) {
      const page = await browser.open(authorizationUrl(fixture.url, { ...common, ...wrong }))
      assert.ok('location' in page, JSON.stringify(wrong))
      assert.equal(page.location.searchParams.get('error'), 'invalid_request', JSON.stringify(wrong))
      assert.equal(page.location.searchParams.get('code'), null)
    }
    const good = authorizationUrl(fixture.url, {
      ...common,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    const redeemWith = async (more: Record<string, string>) => {
      const code = (await authorize(browser, good, fixture.ann)).searchParams.get('code') ?? ''
      return post(`${fixture.url}/oauth/token`, {
        grant_type: 'authorization_code',
        client_id: app.client_id,
        redirect_uri: redirectUri,
        code,
        ...more,
      })
    }
    for (const wrong of [{}, { code_verifier: challenge }, { code_verifier: `${verifier}x` }]) {
      const answer = await redeemWith(wrong as Record<string, string>)
      assert.deepEqual([answer.status, answer.json.error], [400, 'invalid_grant'], JSON.stringify(wrong))
    }
    assert.equal((await redeemWith({ code_verifier: verifier })).status, 200)
  })
})

test('neither the implicit flow nor the password grant is supported', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    for (const response_type of ['token', 'id_token', 'code id_token', 'code token', 'none']) {
      const page = await fixture.browser().open(
        authorizationUrl(fixture.url, {
          response_type,
          client_id: app.client_id,
          redirect_uri: redirectUri,
          scope: 'openid',
          nonce: 'n',
          state: 's',
        }),
      )
      const text = 'location' in page ? page.location.href : page.text
      assert.match(text, /unsupported_response_type|unauthorized_client|invalid_request/, response_type)
      assert.doesNotMatch(text, /access_token=|id_token=|[?&#]code=/)
    }
    const { email, password } = fixture.ann
    const answer = await post(`${fixture.url}/oauth/token`, {
      grant_type: 'password',
      username: email,
      password,
      ...clientCredentials(app),
    })
    assert.deepEqual([answer.status, answer.json.error], [400, 'unsupported_grant_type'])
  })
})

test('three metadata documents list the endpoints and what they support', async () => {
  await withFixture({}, async ({ url }) => {
    const documents = new Map<string, Record<string, unknown>>()
    for (const name of ['openid-configuration', 'oauth-authorization-server', 'oauth-protected-resource']) {
      const response = await fetch(`${url}/.well-known/${name}`)
      assert.equal(response.status, 200, name)
      assert.match(response.headers.get('content-type') ?? '', /^application\/json\b/)
      documents.set(name, (await response.json()) as Record<string, unknown>)
    }
    for (const name of ['openid-configuration', 'oauth-authorization-server']) {
      const document = documents.get(name) ?? {}
      assert.equal(document.issuer, url)
      assert.equal(document.authorization_endpoint, `${url}/oauth/authorize`)
      assert.equal(document.token_endpoint, `${url}/oauth/token`)
      assert.equal(document.revocation_endpoint, `${url}/oauth/revoke`)
      assert.equal(document.introspection_endpoint, `${url}/oauth/introspect`)
      assert.equal(document.jwks_uri, `${url}/oauth/jwks`)
      assert.equal(document.pushed_authorization_request_endpoint, `${url}/oauth/par`)
      assert.equal(document.device_authorization_endpoint, `${url}/oauth/device`)
      assert.deepEqual(document.response_types_supported, ['code'])
      assert.deepEqual(document.code_challenge_methods_supported, ['S256'])
      assert.equal(document.authorization_response_iss_parameter_supported, true)
      assert.equal(document.registration_endpoint, undefined)
      const withSecret = ['client_secret_basic', 'client_secret_post']
      assert.deepEqual(document.token_endpoint_auth_methods_supported, [...withSecret, 'none'])
      assert.deepEqual(document.revocation_endpoint_auth_methods_supported, [...withSecret, 'none'])
      assert.deepEqual(document.introspection_endpoint_auth_methods_supported, withSecret)
      const scopes = document.scopes_supported as string[]
      for (const scope of ['openid', 'profile', 'email', 'offline_access', 'read:post', 'write:user'])
        assert.ok(scopes.includes(scope), scope)
    }
    const resource = documents.get('oauth-protected-resource') ?? {}
    assert.deepEqual(resource.authorization_servers, [url])
    assert.ok(String(resource.resource).startsWith(url))
  })
})

test('a challenge refers to the metadata of the requested resource (RFC 9728, 3.3 and 5.1)', async () => {
  await withFixture({}, async ({ url, call, ann }) => {
    const wrong = `pk_${'x'.repeat(43)}`
    const query = { query: '{ me { id } }' }
    const graphql = (more: object) => call('/graphql', { method: 'POST', body: query, ...more })
    const rows: readonly [Awaited<ReturnType<typeof call>>, number, string][] = [
      [await call('/api/v1/me'), 401, '/api/v1'],
      [await call('/api/v1/posts', { key: wrong }), 401, '/api/v1'],
      [await graphql({ key: wrong }), 401, '/graphql'],
      [await graphql({ key: wrong, headers: { Accept: 'application/json' } }), 401, '/graphql'],
      // GraphQL over HTTP, 6.4: the operation was executed, so the status is 200.
      [await graphql({}), 200, '/graphql'],
      [await graphql({ headers: { Accept: 'application/graphql-response+json' } }), 200, '/graphql'],
      [await graphql({}), 200, '/graphql'],
      [await call('/nothing', { key: wrong }), 401, ''],
    ]
    for (const [answer, status, path] of rows) {
      assert.equal(answer.status, status, answer.text)
      const challenge = answer.headers.get('www-authenticate') ?? ''
      const [, metadata] = /^Bearer realm="api".*, resource_metadata="([^"]+)"$/.exec(challenge) ?? []
      assert.equal(metadata, `${url}/.well-known/oauth-protected-resource${path}`)
      const document = (await (await fetch(metadata ?? '')).json()) as Record<string, unknown>
      assert.deepEqual([document.resource, document.authorization_servers], [url + path, [url]])
    }
    // No challenge for an authorized request, nor for one that no credential would permit.
    for (const answer of [
      await graphql({ key: ann.key }),
      await call('/graphql', { method: 'POST', body: { query: '{ posts { nodes { id } } }' } }),
      await call('/graphql', { method: 'POST', key: ann.key, body: { query: '{ nothing }' } }),
    ]) {
      assert.equal(answer.headers.get('www-authenticate'), null, answer.text)
    }
  })
})

test('every response of the authorization server has the request id, the version and the rate limit', async () => {
  await withFixture({ rateLimit: 1000 }, async fixture => {
    const answers = [
      await fetch(`${fixture.url}/.well-known/openid-configuration`),
      await fetch(`${fixture.url}/oauth/jwks`),
      await fetch(`${fixture.url}/oauth/token`, { method: 'POST' }),
      await fetch(`${fixture.url}/oauth/authorize`, { redirect: 'manual' }),
      await fetch(`${fixture.url}/oauth/nothing`),
    ]
    for (const { headers, url } of answers) {
      assert.match(headers.get('x-request-id') ?? '', /\S/, url)
      assert.equal(headers.get('api-version'), '1', url)
      assert.match(headers.get('x-ratelimit-limit') ?? '', /^\d+$/, url)
      assert.match(headers.get('x-ratelimit-remaining') ?? '', /^\d+$/, url)
      assert.match(headers.get('x-ratelimit-reset') ?? '', /^\d{10}$/, url)
      assert.equal(headers.get('x-content-type-options'), 'nosniff', url)
    }
  })
})

/** The Accept headers of Java’s own client and of a browser. */
const accepts = ['text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2', 'text/html', '*/*', '']

test('endpoints for programs respond with JSON, errors included, whatever they accept', async () => {
  await withFixture({}, async ({ url }) => {
    for (const path of ['token', 'par', 'device', 'revoke', 'introspect', 'userinfo']) {
      for (const accept of accepts) {
        const { status, headers, json } = await post(`${url}/oauth/${path}`, { x: 'y' }, { Accept: accept })
        assert.ok(status === 400 || status === 401, `${path}: ${status}`)
        assert.match(String(headers.get('content-type')), /^application\/json/, `${path} ${accept}`)
        assert.equal(typeof json.error, 'string', `${path} ${accept}`)
      }
    }
    const page = await fetch(`${url}/oauth/authorize?client_id=x`, { headers: { Accept: 'text/html' } })
    assert.match(await page.text(), /^<!doctype html>/)
  })
})

test('private responses have no-store, and public documents are cacheable', async () => {
  await withFixture({}, async fixture => {
    const { url } = fixture
    const app = await fixture.app()
    const caching = async (path: string, form?: Readonly<Record<string, string>>) => {
      const { headers } = form ? await post(url + path, form) : await fetch(url + path)
      return headers.get('cache-control')
    }
    for (const form of [{ x: 'y' }, { token: 'x', ...clientCredentials(app) }]) {
      for (const path of ['token', 'par', 'device', 'revoke', 'introspect', 'userinfo', 'device/verify']) {
        assert.equal(await caching(`/oauth/${path}`, form), 'no-store', path)
      }
    }
    for (const path of ['device', 'device/verify', 'authorize', 'userinfo', 'logout', 'logout/success']) {
      assert.equal(await caching(`/oauth/${path}`), 'no-store', path)
    }
    // New keys sign at once, so clients must revalidate.
    assert.equal(await caching('/oauth/jwks'), 'public, no-cache')
    for (const name of ['openid-configuration', 'oauth-authorization-server', 'oauth-protected-resource']) {
      assert.equal(await caching(`/.well-known/${name}`), 'public, max-age=3600', name)
    }
  })
})

test('a posted authorization request is redirected to the same request by GET', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const endpoint = `${fixture.url}/oauth/authorize`
    const parameters = {
      client_id: app.client_id,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'read:post',
      state: 'a b&c',
    }
    const send = (body: URLSearchParams | string, headers = {}) =>
      fetch(endpoint, { method: 'POST', body, redirect: 'manual', headers })
    const posted = await send(new URLSearchParams(parameters))
    assert.equal(posted.status, 303)
    assert.deepEqual(posted.headers.getSetCookie(), [])
    const to = new URL(posted.headers.get('location') ?? '', fixture.url)
    assert.equal(to.origin + to.pathname, endpoint)
    assert.deepEqual([...to.searchParams], Object.entries(parameters))
    const callbackUrl = await authorize(fixture.browser(), to, fixture.ann)
    assert.equal(callbackUrl.searchParams.get('state'), parameters.state)
    assert.ok(callbackUrl.searchParams.get('code'))

    const twice = await send(new URLSearchParams([...Object.entries(parameters), ['state', 'other']]))
    const refused = await fixture.browser().open(new URL(twice.headers.get('location') ?? '', fixture.url))
    assert.ok(!('location' in refused) || refused.location.searchParams.get('error') === 'invalid_request')
    assert.equal((await send('{}', { 'Content-Type': 'application/json' })).status, 415)
    const long = await send(new URLSearchParams({ ...parameters, state: 'x'.repeat(9000) }))
    assert.equal(long.status, 413)
    assert.match(await long.text(), /\/oauth\/par/)
  })
})

test('errors of the pages are HTML in a browser and JSON for a program', async () => {
  await withFixture({ rateLimit: 20 }, async ({ url }) => {
    await earlyInMinute()
    const typeOf = async (path: string, accept: string) => {
      const { status, headers } = await fetch(url + path, { headers: { Accept: accept }, redirect: 'manual' })
      return [status, String(headers.get('content-type')).split(';')[0]]
    }
    // The budget of pages, and that of requests by programs.
    for (let count = 0; count < 20; count++) await fetch(`${url}/account/sign-in`)
    for (let count = 0; count < 20; count++) await fetch(`${url}/.well-known/openid-configuration`)
    for (const path of ['/oauth/authorize', '/oauth/device', '/oauth/logout']) {
      assert.deepEqual(await typeOf(path, 'text/html,*/*;q=0.8'), [429, 'text/html'], path)
      assert.deepEqual(await typeOf(path, '*/*'), [429, 'application/json'], path)
    }
    assert.deepEqual(await typeOf('/oauth/userinfo', 'text/html'), [429, 'application/json'])
  })
})

test('userinfo with a valid token draws from the token’s budget, not from the address’s', async () => {
  await withFixture({ rateLimit: 1000 }, async fixture => {
    const { url } = fixture
    await earlyInMinute()
    const app = await fixture.app()
    const { access_token: token } = await newTokens(fixture, app, {
      browser: fixture.browser(),
      person: fixture.ann,
      scope: 'openid read:user',
      parameters: { response_type: 'code' },
    })
    const remainingFor = async (path: string, Authorization?: string) => {
      const { headers } = await fetch(url + path, { headers: Authorization ? { Authorization } : {} })
      return Number(headers.get('x-ratelimit-remaining'))
    }
    const bearer = `Bearer ${token}`
    const own = await remainingFor('/api/v1/me', bearer)
    const ofAddress = await remainingFor('/.well-known/openid-configuration')
    assert.equal(await remainingFor('/oauth/userinfo', bearer), own - 1)
    assert.equal(await remainingFor('/oauth/userinfo', `${bearer}x`), ofAddress - 1)
    assert.equal(await remainingFor('/oauth/userinfo'), ofAddress - 2)
    assert.equal(await remainingFor('/api/v1/me', bearer), own - 2)
  })
})
