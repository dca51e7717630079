/** RFC 6749, 3.1 and 3.2: no parameter may be repeated. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import {
  authorizationUrl,
  authorize,
  clientCredentials,
  formWith,
  newCode,
  newTokens,
  post,
  redirectUri,
  withFixture,
} from '../server.ts'

const verifier = 'v'.repeat(43)

test('repeating any parameter of an authorization request is an error', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const browser = fixture.browser()
    const parameters = {
      response_type: 'code',
      client_id: app.client_id,
      redirect_uri: redirectUri,
      scope: 'openid read:post',
      state: 's',
      nonce: 'n',
      code_challenge: hash('sha256', verifier, 'base64url'),
      code_challenge_method: 'S256',
      prompt: 'consent',
      max_age: '1000',
      login_hint: 'ann@example.com',
      response_mode: 'query',
      display: 'page',
      ui_locales: 'en',
      acr_values: 'x',
      id_token_hint: 'x',
    }
    const good = authorizationUrl(fixture.url, { ...parameters, id_token_hint: '' })
    good.searchParams.delete('id_token_hint')
    const callbackUrl = await authorize(browser, good, fixture.ann)
    assert.ok(callbackUrl.searchParams.has('code'), callbackUrl.href)
    for (const [name, value] of Object.entries(parameters)) {
      for (const second of [value, 'other']) {
        const address = new URL(good)
        if (!address.searchParams.has(name)) address.searchParams.append(name, value)
        address.searchParams.append(name, second)
        const { status, headers, text } = await browser.send(address)
        const details = `${name}: ${status} ${headers.location} ${text.slice(0, 200)}`
        assert.doesNotMatch(String(headers.location), /[?&]code=/, details)
        assert.doesNotMatch(String(headers.location), /interaction/, details)
        if (status >= 300 && status < 400)
          assert.match(String(headers.location), /error=invalid_request/, details)
        else assert.equal(status, 400, details)
        // If the client or the redirect URI is in doubt, there is no redirect.
        if (name === 'client_id' || name === 'redirect_uri')
          assert.equal(headers.location, undefined, details)
      }
    }
  })
})

test('a short authorization or token request must not repeat a parameter either', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const browser = fixture.browser()
    const parameters = { client_id: app.client_id, redirect_uri: redirectUri, scope: 'read:post', state: 's' }
    for (const name of Object.keys(parameters) as (keyof typeof parameters)[]) {
      const address = authorizationUrl(fixture.url, parameters)
      address.searchParams.append(name, parameters[name])
      const { headers } = await browser.send(address)
      assert.doesNotMatch(String(headers.location), /[?&]code=|interaction/, name)
    }
    for (const name of ['client_id', 'client_secret', 'code', 'redirect_uri']) {
      const code = await newCode(fixture, app, { browser, person: fixture.ann })
      const form = new URLSearchParams({ ...clientCredentials(app), code, redirect_uri: redirectUri })
      form.append(name, form.get(name) ?? '')
      const answer = await post(`${fixture.url}/oauth/token`, form)
      assert.ok(answer.status === 400 || answer.status === 401, `${name}: ${answer.status} ${answer.text}`)
      assert.equal(answer.json.access_token, undefined)
    }
  })
})

test('no endpoint accepts a repeated parameter', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const { access_token = '', refresh_token = '' } = await newTokens(fixture, app, {
      browser: fixture.browser(),
      person: fixture.ann,
      scope: 'offline_access read:post',
      parameters: { prompt: 'consent' },
    })
    const forms: Record<string, Record<string, string>> = {
      token: { grant_type: 'refresh_token', refresh_token, scope: 'read:post', ...clientCredentials(app) },
      introspect: { token: access_token, token_type_hint: 'access_token', ...clientCredentials(app) },
      revoke: { token: 'something', token_type_hint: 'access_token', ...clientCredentials(app) },
      par: {
        response_type: 'code',
        redirect_uri: redirectUri,
        scope: 'read:post',
        state: 's',
        ...clientCredentials(app),
      },
      device: { scope: 'read:post', ...clientCredentials(app) },
    }
    for (const [endpoint, form] of Object.entries(forms)) {
      for (const [name, value] of Object.entries(form)) {
        for (const second of [value, 'other', '']) {
          const doubled = new URLSearchParams(form)
          doubled.append(name, second)
          const { status, text } = await post(`${fixture.url}/oauth/${endpoint}`, doubled)
          assert.ok(status === 400 || status === 401, `${endpoint} ${name}: ${status} ${text}`)
        }
      }
    }
    // The refusals have used up neither token.
    assert.equal((await fixture.call('/api/v1/posts', { key: access_token })).status, 200)
    const { status, text } = await post(`${fixture.url}/oauth/token`, forms.token ?? {})
    assert.equal(status, 200, text)
  })
})

test('a request that is not a form, or too long, is refused', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const code = await newCode(fixture, app, { browser: fixture.browser(), person: fixture.ann })
    const form = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      ...clientCredentials(app),
    }
    const body = new URLSearchParams(form).toString()
    for (const type of [
      'application/json',
      'text/plain',
      'multipart/form-data',
      'application/x-www-form-urlencoded-not',
      '',
    ]) {
      const { status, json } = await post(`${fixture.url}/oauth/token`, body, { 'Content-Type': type })
      assert.ok(status === 400 || status === 415 || status === 401, `${type}: ${status}`)
      assert.equal(json.access_token, undefined, type)
    }
    const asJson = await post(`${fixture.url}/oauth/token`, JSON.stringify(form), {
      'Content-Type': 'application/json',
    })
    assert.ok(asJson.status >= 400 && asJson.status < 500)
    const long = await post(`${fixture.url}/oauth/token`, `${body}&x=${'x'.repeat(300_000)}`)
    assert.ok(long.status === 400 || long.status === 413, `${long.status}`)
    // The query would put the secret into logs: RFC 6749, 2.3.1.
    const inAddress = await post(`${fixture.url}/oauth/token?${body}`, '')
    assert.ok(inAddress.status === 400 || inAddress.status === 401, `${inAddress.status}`)
    assert.equal(inAddress.json.access_token, undefined)
    for (const malformed of [
      '__proto__=x',
      'constructor=x',
      'grant_type[]=x',
      'grant_type%00=x',
      '%',
      '=',
      '&&&',
    ]) {
      const answer = await post(`${fixture.url}/oauth/token`, malformed)
      assert.ok(answer.status === 400 || answer.status === 401, `${malformed}: ${answer.status}`)
    }
  })
})

test('a client id or an address with U+0000 is treated as unknown', async () => {
  await withFixture({}, async ({ url, ann, browser: open }) => {
    const browser = open()
    const page = await browser.open(authorizationUrl(url, { client_id: 'app_\0', redirect_uri: redirectUri }))
    assert.ok('status' in page)
    assert.equal(page.status, 400, page.text)
    const forms: Record<string, Record<string, string>> = {
      token: { grant_type: 'client_credentials' },
      par: { redirect_uri: redirectUri },
      device: { scope: 'read:post' },
      revoke: { token: 'x' },
      introspect: { token: 'x' },
    }
    for (const [endpoint, form] of Object.entries(forms)) {
      const withNul = { ...form, client_id: 'app_\0', client_secret: 's\0' }
      const { status, text } = await post(`${url}/oauth/${endpoint}`, withNul)
      assert.deepEqual([status, JSON.parse(text).error], [401, 'invalid_client'], `${endpoint}: ${text}`)
    }
    const signIn = await browser.open('/account/sign-in')
    const form = 'forms' in signIn ? formWith(signIn, 'password') : undefined
    assert.ok(form)
    const wrong = await browser.submit(form, { email: 'ann\0@example.com', password: ann.password })
    assert.ok('status' in wrong)
    assert.equal(wrong.status, 400, wrong.text)
  })
})
