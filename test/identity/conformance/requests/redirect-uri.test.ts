/** The authorization server redirects to registered URIs only, whatever the request says. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Browser } from '../browser.ts'
import {
  afterSignIn,
  authorizationUrl,
  authorize,
  clientCredentials,
  consentOf,
  type Fixture,
  formWith,
  post,
  withFixture,
} from '../server.ts'

const registered = 'https://app.example.com/callback?from=portico'

/** Variants with one change each that have deceived parsers and prefix checks. */
function mutations(): string[] {
  const [origin, path, query] = ['https://app.example.com', '/callback', '?from=portico']
  const variants = new Set<string>()
  const add = (...values: string[]) => {
    for (const value of values) variants.add(value)
  }
  const insertions = [
    '/',
    '//',
    '\\',
    '@',
    '#',
    '%',
    '%00',
    '%0a',
    '%0d%0a',
    '%09',
    '%20',
    '%23',
    '%2f',
    '%2F',
    '%2e',
    '%2e%2e',
    '%40',
    '%5c',
    '%252f',
    '.',
    '..',
    '/.',
    '/..',
    '/../',
    '/./',
    ';',
    ':',
    '?',
    '&',
    '=',
    '*',
    ',',
    '|',
    '^',
    '`',
    '{',
    '}',
    '<',
    '>',
    '"',
    "'",
    ' ',
    '\t',
    '\u00a0',
    '\u3002',
    '\uff0f',
    '\uff20',
    '\u2044',
    '\u200b',
    '\ufeff',
    'x',
    'é',
    '\u{1f600}',
    '0',
    '~',
    '!',
    '$',
    '(',
    ')',
    '[',
    ']',
    '+',
    '-',
    '_',
  ]
  // At each boundary of the URL.
  for (const text of insertions) {
    add(`${registered}${text}`, `${text}${registered}`)
    add(`${origin}${text}${path}${query}`, `${origin}${path}${text}${query}`)
    add(`https://${text}app.example.com${path}${query}`, `${origin}/${text}callback${query}`)
    add(`${origin}${path}${query.replace('?', `?${text}`)}`)
  }
  for (const evil of ['evil.example', 'evil.example:443', '127.0.0.1', '[::1]', 'localhost']) {
    add(`https://${evil}${path}${query}`, `https://app.example.com.${evil}${path}${query}`)
    add(`https://app.example.com@${evil}${path}${query}`, `https://${evil}#@app.example.com${path}${query}`)
    add(`https://${evil}\\@app.example.com${path}${query}`, `https://${evil}?${registered}`)
    add(`//${evil}${path}${query}`, `https:${evil}${path}`, `\\\\${evil}`, `https:///${evil}`)
    add(
      `https://app.example.com:443@${evil}`,
      `${registered}&next=https://${evil}`,
      `${registered}#https://${evil}`,
    )
  }
  for (const scheme of ['http', 'HTTPS', 'javascript', 'data', 'file', 'ftp', 'ws', 'app', 'intent', 'blob'])
    add(
      `${scheme}://app.example.com${path}${query}`,
      `${scheme}:${registered}`,
      `${scheme}:alert(1)//${registered}`,
    )
  for (const host of [
    'APP.example.com',
    'app.example.com.',
    'example.com',
    'a.app.example.com',
    'appxexample.com',
    'app.example.co',
    'app.example.com:443',
    'app.example.com:8443',
    'user@app.example.com',
    'user:pw@app.example.com',
    'аpp.example.com',
    'xn--pp-5kc.example.com',
  ])
    add(`https://${host}${path}${query}`)
  for (const other of [
    '/',
    '',
    '/Callback',
    '/callback/',
    '/callbac',
    '/callbackx',
    '/callback/../callback',
    '/./callback',
    '//callback',
    '/%63allback',
    '/callback%2f',
    '/x/../callback',
    '/callback;x',
    '/callback.html',
  ])
    add(`${origin}${other}${query}`)
  for (const other of [
    '',
    '?',
    '?from=',
    '?from=Portico',
    '?FROM=portico',
    '?from=portico&from=portico',
    '?from=portico&',
    '?&from=portico',
    '?from=%70ortico',
    '?x=1&from=portico',
    '?from=portico&code=forged',
    '?from=portico#',
    '?from=portico#fragment',
    '?from=portico%00',
    '#?from=portico',
  ])
    add(`${origin}${path}${other}`)
  variants.delete(registered)
  return [...variants]
}

const all = mutations()

async function refuses({ url }: Fixture, browser: Browser, clientId: string, redirect_uri: string) {
  const answer = await browser.send(
    authorizationUrl(url, {
      response_type: 'code',
      client_id: clientId,
      redirect_uri,
      scope: 'read:post',
      state: 's',
    }),
  )
  assert.equal(answer.status, 400, `${redirect_uri} → ${answer.status} ${answer.headers.location}`)
  assert.equal(answer.headers.location, undefined, redirect_uri)
  assert.equal(answer.headers.refresh, undefined, redirect_uri)
  assert.doesNotMatch(answer.text, /http-equiv="?refresh/i)
  // The page must not link there either.
  assert.doesNotMatch(answer.text, /<(a|form)\b[^>]*(href|action)=["'][^"']*(evil|callback)/i, redirect_uri)
}

test(`none of ${all.length} variants of a redirect URI is accepted`, async () => {
  assert.ok(all.length >= 500, `${all.length}`)
  await withFixture({}, async fixture => {
    const app = await fixture.app({ redirect_uris: [registered] })
    // Signed in and with consent, so that only the URI is refused.
    const browser = fixture.browser()
    const parameters = { response_type: 'code', client_id: app.client_id, scope: 'read:post', state: 's' }
    const address = authorizationUrl(fixture.url, { ...parameters, redirect_uri: registered })
    const callbackUrl = await authorize(browser, address, fixture.ann)
    assert.ok(callbackUrl.href.startsWith(`${registered}&`), callbackUrl.href)
    for (const changed of all) await refuses(fixture, browser, app.client_id, changed)
    const second = await browser.send(address)
    assert.ok(String(second.headers.location).startsWith(`${registered}&code=`))
  })
})

test('a pushed request is limited to the registered redirect URI too', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({ redirect_uris: [registered] })
    const push = (redirect_uri: string) =>
      post(`${fixture.url}/oauth/par`, {
        response_type: 'code',
        client_id: app.client_id,
        client_secret: app.client_secret,
        redirect_uri,
        scope: 'read:post',
      })
    for (const changed of all.filter((_, index) => index % 10 === 0)) {
      const answer = await push(changed)
      assert.equal(answer.status, 400, changed)
      assert.equal(answer.json.request_uri, undefined)
    }
    assert.equal((await push(registered)).status, 201)
  })
})

test('loopback redirect URIs may differ in the port only', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({ type: 'public', redirect_uris: ['http://127.0.0.1/callback'] })
    const challenge = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' }
    const parameters = { response_type: 'code', client_id: app.client_id, scope: 'read:post', state: 's' }
    const browser = fixture.browser()
    const addressFor = (redirect_uri: string) =>
      authorizationUrl(fixture.url, { ...parameters, ...challenge, redirect_uri })
    for (const port of [1024, 51_234]) {
      const callbackUrl = await authorize(
        browser,
        addressFor(`http://127.0.0.1:${port}/callback`),
        fixture.ann,
      )
      assert.equal(callbackUrl.port, String(port))
      assert.ok(callbackUrl.searchParams.has('code'))
    }
    for (const other of [
      'http://127.0.0.1:8000/other',
      'http://127.0.0.2:8000/callback',
      'http://localhost:8000/callback',
      'http://[::1]:8000/callback',
      'https://127.0.0.1:8000/callback',
      'http://127.0.0.1.evil.example:8000/callback',
      'http://127.0.0.1:8000@evil.example/callback',
      'http://127.0.0.1:8000/callback?x',
      'http://127.0.0.1:99999/callback',
      'http://127.0.0.1:65536/callback',
      'http://127.0.0.1:0/callback',
      'http://127.0.0.1:08000/callback',
      'http://127.0.0.1:/callback',
      'http://2130706433:8000/callback',
      'http://0x7f.1:8000/callback',
    ]) {
      const answer = await browser.send(addressFor(other))
      assert.equal(answer.status, 400, other)
      assert.equal(answer.headers.location, undefined, other)
    }
  })
})

test('the port of `localhost` must match, because it is a name (RFC 8252, 8.3)', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({ redirect_uris: ['http://localhost:5555/callback'] })
    const parameters = { response_type: 'code', client_id: app.client_id, scope: 'read:post', state: 's' }
    const browser = fixture.browser()
    const addressFor = (redirect_uri: string) =>
      authorizationUrl(fixture.url, { ...parameters, redirect_uri })
    const callbackUrl = await authorize(browser, addressFor('http://localhost:5555/callback'), fixture.ann)
    assert.equal(callbackUrl.port, '5555')
    for (const other of ['http://localhost:5556/callback', 'http://localhost/callback']) {
      const answer = await browser.send(addressFor(other))
      assert.deepEqual([answer.status, answer.headers.location], [400, undefined], other)
    }
  })
})

test('a code is exchanged with the `redirect_uri` of its request, which may be missing only if the request had none', async () => {
  await withFixture({}, async fixture => {
    const { url } = fixture
    const app = await fixture.app({ redirect_uris: [registered] })
    const browser = fixture.browser()
    const parameters = { client_id: app.client_id, response_type: 'code', scope: 'read:post', state: 's' }
    const codeOf = async (more: Readonly<Record<string, string>>) => {
      const callbackUrl = await authorize(
        browser,
        authorizationUrl(url, { ...parameters, ...more }),
        fixture.ann,
      )
      return String(callbackUrl.searchParams.get('code'))
    }
    const push = async (more: Readonly<Record<string, string>>) => {
      const { json } = await post(`${url}/oauth/par`, { ...parameters, ...more, ...clientCredentials(app) })
      return codeOf({ request_uri: String(json.request_uri) })
    }
    const basic = Buffer.from(`${app.client_id}:${app.client_secret}`).toString('base64')
    const redirect = { redirect_uri: registered }
    // An unknown parameter makes oidc-provider handle the request instead of the fast path.
    const forms = [clientCredentials(app), { grant_type: 'authorization_code', ...clientCredentials(app) }]
    const exchanges: ((form: Readonly<Record<string, string>>) => ReturnType<typeof post>)[] = [
      ...forms.map(form => (more: object) => post(`${url}/oauth/token`, { ...form, ...more })),
      more =>
        post(
          `${url}/oauth/token`,
          { grant_type: 'authorization_code', ...more },
          { Authorization: `Basic ${basic}` },
        ),
      more => post(`${url}/oauth/token`, { ...clientCredentials(app), ...more, unknown: 'x' }),
    ]
    for (const exchangeCode of exchanges) {
      for (const code of [await codeOf(redirect), await push(redirect)]) {
        for (const wrong of [{}, { redirect_uri: '' }]) {
          const { status, json, text } = await exchangeCode({ code, ...wrong })
          assert.deepEqual([status, json.error], [400, 'invalid_request'], text)
          assert.match(String(json.error_description), /redirect_uri/)
        }
        const otherAnswer = await exchangeCode({ code, redirect_uri: `${registered}x` })
        assert.deepEqual(
          [otherAnswer.status, otherAnswer.json.error],
          [400, 'invalid_grant'],
          otherAnswer.text,
        )
        assert.equal((await exchangeCode({ code, ...redirect })).status, 200)
      }
      // A client cannot set the internal parameter.
      const forged = await codeOf({ ...redirect, portico_without_redirect_uri: 'yes' })
      assert.equal((await exchangeCode({ code: forged })).status, 400)
      for (const code of [await codeOf({}), await push({})]) {
        assert.equal((await exchangeCode({ code })).status, 200, 'a request without a redirect_uri')
      }
      assert.equal((await exchangeCode({ code: await codeOf({}), ...redirect })).status, 200)
    }
  })
})

test('an app cannot be registered with an invalid redirect URI', async () => {
  await withFixture({}, async fixture => {
    for (const wrong of [
      'javascript:alert(1)',
      'data:text/html,x',
      'https://app.example.com/callback#fragment',
      '/callback',
      'not an address',
      'https://',
      '',
      'https://*.example.com/callback',
      'https://user:pw@app.example.com/',
      'https://app.example.com:99999/callback',
      'https://app.example.com:65536/callback',
      'https://app.example.com:0/callback',
      'https://app.example.com:/callback',
      'http://localhost:99999/callback',
      'http://127.0.0.1:99999/callback',
      'https://App.example.com/callback',
      'HTTPS://app.example.com/callback',
      'https://app..example.com/callback',
      'https://:443/callback',
      'https://[::1/callback',
      'https://[/callback',
      'https://app.example.com/call back',
      'https://app.example.com/call\\back',
      'https://app.example.com\\@evil.example/',
      'https://app.example.com/cäll',
      'https://äpp.example.com/callback',
      'https://app.example.com/<callback>',
      'https://app.example.com/call\nback',
      'COM.example.app:/callback',
      'com.example.app:callback',
      'http://app.example.com/callback',
    ]) {
      const { status, text } = await fixture.call('/api/v1/oauth_apps', {
        method: 'POST',
        key: fixture.ann.key,
        body: { name: 'Wrong', type: 'confidential', redirect_uris: [wrong], scopes: ['read:post'] },
      })
      assert.equal(status, 400, `${wrong}: ${text}`)
      assert.match(text, /redirect_uris/)
    }
    for (const right of [
      'https://app.example.com',
      'https://app.example.com:65535/callback?a[]=1&b=%20',
      'https://xn--pp-wia.example.com/Callback',
      'https://[2001:db8::1]:8443/callback',
      'http://localhost:5555/callback',
      'http://[::1]:5555/callback',
      'com.example.app:/callback',
      'com.example.app://callback/path',
    ]) {
      const { status, text } = await fixture.call('/api/v1/oauth_apps', {
        method: 'POST',
        key: fixture.ann.key,
        body: { name: 'Right', type: 'confidential', redirect_uris: [right], scopes: ['read:post'] },
      })
      assert.equal(status, 201, `${right}: ${text}`)
    }
  })
})

for (const answer of ['allow', 'deny'] as const) {
  test(`a redirect URI that the app loses during the sign-in gets no response (${answer})`, async () => {
    await withFixture({}, async fixture => {
      const remainingUri = 'https://app.example.com/other'
      const app = await fixture.app({ redirect_uris: [registered, remainingUri] })
      const browser = fixture.browser()
      const parameters = { client_id: app.client_id, scope: 'read:post', state: 's' }
      const pageFor = async (uri: string) => {
        const address = authorizationUrl(fixture.url, { ...parameters, redirect_uri: uri, prompt: 'login' })
        const page = await afterSignIn(browser, address, fixture.ann)
        const choice = 'location' in page ? undefined : consentOf(page, answer)
        assert.ok(choice)
        return choice
      }
      const [lost, other] = [await pageFor(registered), await pageFor(remainingUri)]
      const changed = await fixture.call(`/api/v1/oauth_apps/${app.id}`, {
        method: 'PATCH',
        key: fixture.ann.key,
        body: { redirect_uris: [remainingUri] },
      })
      assert.equal(changed.status, 200, changed.text)
      const end = await browser.submit(lost.form, {}, lost.button)
      assert.ok(!('location' in end), 'it was redirected')
      assert.equal(end.status, 404)
      const departure = await browser.submit(other.form, {}, other.button)
      assert.ok('location' in departure)
      const { searchParams } = departure.location
      assert.ok(searchParams.has(answer === 'allow' ? 'code' : 'error'), departure.location.href)
    })
  })
}

test('the `redirect_uri` of a device request is ignored', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({ redirect_uris: [registered] })
    const form = { scope: 'read:post', redirect_uri: 'https://evil.example/', ...clientCredentials(app) }
    const { json, text } = await post(`${fixture.url}/oauth/device`, form)
    const browser = fixture.browser()
    const first = await browser.open(String(json.verification_uri_complete))
    assert.ok('forms' in first && first.forms[0], text)
    const confirmation = await browser.submit(first.forms[0])
    const choice = 'location' in confirmation ? undefined : consentOf(confirmation)
    assert.ok(choice)
    const next = await browser.submit(choice.form, {}, choice.button)
    assert.ok('forms' in next && formWith(next, 'password'), 'a sign-in was expected')
  })
})
