/** Known attacks on authorization servers. */
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { type Browser, type Form, formsOf, type Page } from './browser.ts'
import {
  type App,
  authorizationUrl,
  clientCredentials,
  consentOf,
  type Fixture,
  formWith,
  newTokens,
  type Person,
  post,
  redirectUri,
  untilDeparture,
  withFixture,
} from './server.ts'

function addressOf({ url }: Fixture, app: App, more: Readonly<Record<string, string>> = {}): URL {
  return authorizationUrl(url, {
    response_type: 'code',
    client_id: app.client_id,
    redirect_uri: redirectUri,
    scope: 'read:post',
    state: 's',
    ...more,
  })
}

function pageOf(landing: Awaited<ReturnType<Browser['open']>>): Page {
  assert.ok(!('location' in landing), 'location' in landing ? landing.location.href : '')
  return landing
}

/** The consent page of an app, for a person who has just signed in. */
async function consentPage(fixture: Fixture, app: App, browser: Browser, person: Person): Promise<Page> {
  const first = pageOf(await browser.open(addressOf(fixture, app)))
  const form = formWith(first, 'password')
  assert.ok(form, first.text)
  const page = pageOf(await browser.submit(form, { email: person.email, password: person.password }))
  assert.ok(consentOf(page), page.text)
  return page
}

/** A consent page for an app of Ann’s, and the button with which she answers. */
async function askConsent(fixture: Fixture, answer: 'allow' | 'deny' = 'allow') {
  const [app, browser] = [await fixture.app(), fixture.browser()]
  const page = await consentPage(fixture, app, browser, fixture.ann)
  const consent = consentOf(page, answer)
  assert.ok(consent, page.text)
  return { app, browser, page, ...consent }
}

interface Got {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** A GET that fetch would not send: with any Host, and without normalizing the path. */
function rawGet(url: string, headers: Readonly<Record<string, string>>): Promise<Got> {
  const [, origin = '', path = '/'] = /^(https?:\/\/[^/]+)(.*)$/.exec(url) ?? []
  return new Promise((resolve, reject) => {
    const sent = httpRequest(origin, { headers, path }, message => {
      let text = ''
      message.on('data', chunk => {
        text += chunk
      })
      message.on('end', () => resolve({ status: message.statusCode ?? 0, headers: message.headers, text }))
    })
    sent.on('error', reject)
    sent.end()
  })
}

const forgeries: readonly Readonly<Record<string, string>>[] = [
  { 'X-Forwarded-Host': 'evil.example' },
  { 'X-Forwarded-Proto': 'https' },
  { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https', 'X-Forwarded-Port': '443' },
  { Forwarded: 'host=evil.example;proto=https;for=192.0.2.7' },
  { 'X-Forwarded-For': '192.0.2.7', 'X-Real-IP': '192.0.2.7' },
  { 'X-Original-URL': '/oauth/jwks', 'X-Rewrite-URL': '/oauth/jwks' },
  { 'X-Forwarded-Prefix': '/evil', 'X-Forwarded-Server': 'evil.example' },
  { 'X-Forwarded-Ssl': 'on', 'Front-End-Https': 'on' },
]

test('forged headers change neither the issuer nor an endpoint URL', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const paths = [
      '/.well-known/openid-configuration',
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-protected-resource',
      '/oauth/jwks',
    ]
    for (const path of paths) {
      const { text: honest } = await rawGet(fixture.url + path, {})
      for (const forged of forgeries) {
        const { text, status } = await rawGet(fixture.url + path, forged)
        assert.deepEqual([status, text], [200, honest], JSON.stringify(forged))
      }
    }
    for (const forged of forgeries) {
      const { headers } = await rawGet(addressOf(fixture, app).href, forged)
      const { location, 'set-cookie': cookies } = headers
      assert.doesNotMatch(
        JSON.stringify({ location, cookies }),
        /evil|https:|secure/i,
        JSON.stringify(forged),
      )
      assert.ok(location)
      const challenge = (await rawGet(`${fixture.url}/api/v1/me`, forged)).headers['www-authenticate']
      assert.doesNotMatch(String(challenge), /evil|https:/, JSON.stringify(forged))
    }
  })
})

test('with a base URL set, not even Host changes an endpoint URL', async () => {
  await withFixture({ baseUrl: 'https://api.example.com' }, async ({ url }) => {
    for (const Host of ['evil.example', 'api.example.com.evil.example', '127.0.0.1:1']) {
      const { text, status } = await rawGet(`${url}/.well-known/openid-configuration`, { Host })
      assert.equal(status, 200)
      assert.doesNotMatch(text, /evil|127\.0\.0\.1/)
      assert.equal(JSON.parse(text).issuer, 'https://api.example.com')
      assert.equal(JSON.parse(text).token_endpoint, 'https://api.example.com/oauth/token')
    }
  })
})

test('an access token in the query or in X-API-Key is refused', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const options = { browser: fixture.browser(), person: fixture.ann, scope: 'openid read:user' }
    const { access_token = '' } = await newTokens(fixture, app, options)
    for (const query of [
      `access_token=${access_token}`,
      `api_key=${access_token}`,
      `token=${access_token}`,
    ]) {
      const { status, text } = await fixture.call(`/api/v1/me?${query}`)
      assert.ok(status === 400 || status === 401, `${query}: ${status}`)
      assert.ok(!text.includes(access_token), 'a response repeats the token')
    }
    for (const path of ['/oauth/userinfo', '/api/v1/me'])
      assert.notEqual((await fetch(`${fixture.url}${path}?access_token=${access_token}`)).status, 200, path)
    const header = await fixture.call('/api/v1/me', { headers: { 'X-API-Key': access_token } })
    assert.equal(header.status, 401)
    const two = await fixture.call('/api/v1/me', {
      headers: { Authorization: `Bearer ${access_token}`, 'X-API-Key': fixture.ann.key },
    })
    assert.equal(two.status, 400)
  })
})

test('consent is accepted only from its own form, page and browser', async () => {
  await withFixture({}, async fixture => {
    const { browser, page, form, button } = await askConsent(fixture)
    const body = (fields: Form['fields']) => {
      const pairs = new URLSearchParams(fields.map(({ name, value }) => [name, value]))
      if (button.name !== undefined) pairs.append(button.name, button.value)
      return pairs.toString()
    }
    const validBody = body(form.fields)
    const type = { 'Content-Type': 'application/x-www-form-urlencoded' }
    const own = { ...type, Origin: fixture.url, 'Sec-Fetch-Site': 'same-origin' }
    const hidden = form.fields.filter(field => field.type === 'hidden')
    const attacks: readonly [string, Browser, Record<string, string>, string][] = [
      [
        'from another site',
        browser,
        { ...type, Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' },
        validBody,
      ],
      [
        'from another origin of the same site',
        browser,
        { ...type, Origin: 'http://127.0.0.1:1', 'Sec-Fetch-Site': 'same-site' },
        validBody,
      ],
      [
        'from an opaque origin',
        browser,
        { ...type, Origin: 'null', 'Sec-Fetch-Site': 'cross-site' },
        validBody,
      ],
      ['without its token', browser, own, body(form.fields.filter(field => !hidden.includes(field)))],
      [
        'with a wrong token',
        browser,
        own,
        body(
          form.fields.map(field => (hidden.includes(field) ? { ...field, value: `${field.value}x` } : field)),
        ),
      ],
      ['in another browser', fixture.browser(), own, validBody],
      [
        'as JSON',
        browser,
        { ...own, 'Content-Type': 'application/json' },
        JSON.stringify(Object.fromEntries(new URLSearchParams(validBody))),
      ],
      ['as plain text', browser, { ...own, 'Content-Type': 'text/plain' }, validBody],
    ]
    for (const [name, sender, headers, sent] of attacks) {
      const answer = await sender.send(form.action, { method: 'POST', headers, body: sent })
      const details = `${name}: ${answer.status} ${answer.headers.location}`
      assert.ok(answer.status >= 400 && answer.status < 500, details)
    }
    const byGet = await browser.send(new URL(`${form.action.href}?${validBody}`))
    assert.doesNotMatch(String(byGet.headers.location), /code=/)
    const rightly = await untilDeparture(browser, page, fixture.ann)
    assert.ok(rightly.searchParams.has('code'))
  })
})

test('a consent that is sent several times at once gets a code, and never a failure of the server', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    for (let round = 0; round < 5; round++) {
      const browser = fixture.browser()
      const choice = consentOf(await consentPage(fixture, app, browser, fixture.ann))
      assert.ok(choice)
      const ends = await Promise.all(
        Array.from({ length: 4 }, () => browser.submit(choice.form, {}, choice.button)),
      )
      assert.ok(ends.some(end => 'location' in end && end.location.searchParams.has('code')))
      for (const end of ends) assert.ok('location' in end || end.status < 500)
    }
  })
})

test('another user cannot answer a consent request', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const [annsBrowser, bensBrowser] = [fixture.browser(), fixture.browser()]
    const page = await consentPage(fixture, app, annsBrowser, fixture.ann)
    await consentPage(fixture, app, bensBrowser, fixture.ben)
    const landing = await bensBrowser.open(page.url)
    assert.ok(!('location' in landing) && landing.status >= 400 && landing.status < 500)
    assert.ok(!landing.text.includes(fixture.ann.email))
  })
})

test('a consent cannot grant scopes that were not requested', async () => {
  await withFixture({}, async fixture => {
    const { app, browser, form, button } = await askConsent(fixture)
    const wider = {
      ...form,
      fields: [
        ...form.fields,
        ...['write:user', 'write:post', 'read:user', '*'].map(value => ({
          name: 'scope',
          type: 'hidden',
          value,
          checked: true,
        })),
      ],
    }
    const landing = await browser.submit(wider, {}, button)
    if (!('location' in landing)) return assert.ok(landing.status >= 400)
    const code = landing.location.searchParams.get('code') ?? ''
    const answer = await post(`${fixture.url}/oauth/token`, {
      ...clientCredentials(app),
      code,
      redirect_uri: redirectUri,
    })
    assert.equal(answer.json.scope, 'read:post')
  })
})

test('a denied consent redirects to the app with access_denied', async () => {
  await withFixture({}, async fixture => {
    const { browser, form, button } = await askConsent(fixture, 'deny')
    const landing = await browser.submit(form, {}, button)
    assert.ok('location' in landing)
    assert.equal(landing.location.searchParams.get('error'), 'access_denied')
    assert.equal(landing.location.searchParams.get('state'), 's')
    assert.equal(landing.location.searchParams.get('code'), null)
  })
})

test('no page can be framed or cached', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const browser = fixture.browser()
    const signIn = pageOf(await browser.open(addressOf(fixture, app)))
    const consent = await consentPage(fixture, app, fixture.browser(), fixture.ann)
    const wrong = pageOf(await browser.open(addressOf(fixture, app, { client_id: 'nobody' })))
    assert.equal(wrong.status, 400)
    for (const { headers, url } of [signIn, consent, wrong]) {
      const policy = String(headers['content-security-policy'])
      assert.match(policy, /frame-ancestors 'none'/, url.pathname)
      assert.match(policy, /default-src 'none'|default-src 'self'/, url.pathname)
      assert.doesNotMatch(policy, /unsafe-inline|unsafe-eval|\*/, url.pathname)
      assert.match(String(headers['cache-control']), /no-store/, url.pathname)
      assert.match(String(headers['referrer-policy']), /no-referrer|same-origin/, url.pathname)
      assert.equal(headers['x-content-type-options'], 'nosniff')
    }
  })
})

test('text from an app or a request is escaped on every page', async () => {
  await withFixture({}, async fixture => {
    const name = `<script>alert(1)</script>"'&<img src=x onerror=alert(1)>`
    const app = await fixture.app({ name })
    const page = await consentPage(fixture, app, fixture.browser(), fixture.ann)
    assert.ok(!page.text.includes('<script>alert') && !page.text.includes('<img src=x'))
    assert.ok(page.text.includes('&lt;script&gt;'))
    for (const more of [
      { client_id: name },
      { redirect_uri: `https://x/${name}` },
      { scope: name },
      { login_hint: name },
      { prompt: name },
    ]) {
      const landing = await fixture.browser().open(addressOf(fixture, app, more))
      if (!('location' in landing))
        assert.ok(!/<script>alert|<img src=x/.test(landing.text), JSON.stringify(more))
    }
  })
})

interface Device {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
}

async function newDevice({ url }: Fixture, app: App): Promise<Device> {
  const answer = await post(`${url}/oauth/device`, { scope: 'read:user', ...clientCredentials(app) })
  assert.equal(answer.status, 200, answer.text)
  return answer.json as unknown as Device
}

function poll({ url }: Fixture, app: App, { device_code }: Device) {
  return post(`${url}/oauth/token`, {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code,
    ...clientCredentials(app),
  })
}

/** Submits the pages of the device flow up to its confirmation, as the person. */
async function upToConfirmation(browser: Browser, { verification_uri_complete }: Device): Promise<Page> {
  const first = pageOf(await browser.open(verification_uri_complete))
  const [form] = first.forms.filter(({ fields }) => fields.some(({ name }) => name === 'user_code'))
  // The first page may confirm already, with the code filled in.
  return form && !consentOf(first) ? pageOf(await browser.submit(form)) : first
}

async function approveDevice(browser: Browser, device: Device, person: Person): Promise<void> {
  let page = await upToConfirmation(browser, device)
  for (let count = 0; count < 6; count++) {
    const signIn = formWith(page, 'password')
    const [form] = page.forms.filter(({ method }) => method === 'POST')
    if (!form) return
    const consent = consentOf(page)
    page = pageOf(
      signIn
        ? await browser.submit(signIn, { email: person.email, password: person.password })
        : await browser.submit(consent?.form ?? form, {}, consent?.button ?? form.buttons[0]),
    )
  }
}

test('device flow: polling is pending until the user approves, and the device code then works once', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const device = await newDevice(fixture, app)
    assert.match(device.user_code, /^[A-Z0-9-]{8,}$/)
    const before = await poll(fixture, app, device)
    assert.deepEqual([before.status, before.json.error], [400, 'authorization_pending'])
    await approveDevice(fixture.browser(), device, fixture.ann)
    const answer = await poll(fixture, app, device)
    assert.equal(answer.status, 200, answer.text)
    const me = await fixture.call('/api/v1/me', { key: String(answer.json.access_token) })
    assert.equal(me.json.email, fixture.ann.email)
    const second = await poll(fixture, app, device)
    assert.deepEqual([second.status, second.json.error], [400, 'invalid_grant'])
    assert.equal((await fixture.call('/api/v1/me', { key: String(answer.json.access_token) })).status, 401)
  })
})

test('a device cannot be approved with the form of another session', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const device = await newDevice(fixture, app)
    const [anns, bens] = [fixture.browser(), fixture.browser()]
    const page = await upToConfirmation(anns, device)
    const [form] = page.forms.filter(({ method }) => method === 'POST')
    assert.ok(form)
    // Ann's form, sent by Ben's browser, which is signed in.
    await consentPage(fixture, app, bens, fixture.ben)
    const landing = await bens.submit(form, { user_code: device.user_code })
    assert.ok(!('location' in landing))
    const answer = await poll(fixture, app, device)
    assert.deepEqual([answer.status, answer.json.error], [400, 'authorization_pending'], landing.text)
    const wrong = await poll(fixture, await fixture.app({ name: 'Other' }), device)
    assert.deepEqual([wrong.status, wrong.json.error], [400, 'invalid_grant'])
  })
})

const deviceSteps = [
  { method: 'POST', path: '', body: 'xsrf=x&user_code=AAAA-AAAA&confirm=yes' },
  { method: 'POST', path: '', body: 'xsrf=x&user_code=AAAA-AAAA&abort=yes' },
  { method: 'GET', path: '/unknown', body: undefined },
]

/** Sends a step of the device flow with a cookie. */
function sendStep(browser: Browser, { method, path, body }: (typeof deviceSteps)[number], cookie = '') {
  return browser.send(new URL(`${browser.origin}/oauth/device/verify${path}`), {
    method,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Cookie: cookie },
    ...(body !== undefined && { body }),
  })
}

test('a step of the device flow without a cookie gets a page that says how to go on, and no session', async () => {
  await withFixture({}, async ({ browser }) => {
    for (const step of deviceSteps) {
      const { status, headers, text } = await sendStep(browser(), step)
      assert.equal(status, 400, text)
      assert.match(text, /start again.*allow cookies/is)
      assert.equal(headers['set-cookie'], undefined)
    }
  })
})

test('a device page whose session has ended asks for the code again', async () => {
  await withFixture({}, async fixture => {
    const device = await newDevice(fixture, await fixture.app())
    const browser = fixture.browser()
    const [step] = deviceSteps
    assert.ok(step)
    const { status, text } = await sendStep(browser, step, `portico_session=${'x'.repeat(43)}`)
    assert.equal(status, 400, text)
    assert.match(text, /Enter the code again/)
    const [form] = formsOf(text, new URL(fixture.url))
    assert.ok(form)
    const page = pageOf(await browser.submit(form, { user_code: device.user_code }))
    assert.ok(consentOf(page), page.text)
  })
})

test('pages of other origins cannot read the pages of the authorization server', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const address = authorizationUrl(fixture.url, { client_id: app.client_id, redirect_uri: redirectUri })
    const pages = [
      address.href,
      `${fixture.url}/oauth/device`,
      `${fixture.url}/oauth/logout`,
      `${fixture.url}/oauth/authorize`,
    ]
    const read = (page: string) =>
      fetch(page, { headers: { Origin: 'https://evil.example' }, redirect: 'manual' })
    for (const page of pages) {
      const { headers } = await read(page)
      assert.equal(headers.get('access-control-allow-origin'), null, page)
      assert.equal(headers.get('access-control-expose-headers'), null, page)
    }
    for (const path of ['/.well-known/openid-configuration', '/oauth/jwks', '/oauth/userinfo']) {
      const { headers } = await read(fixture.url + path)
      assert.equal(headers.get('access-control-allow-origin'), '*', path)
    }
  })
})

test('a guessed user code reveals no app', async () => {
  await withFixture({}, async fixture => {
    await newDevice(fixture, await fixture.app())
    const browser = fixture.browser()
    const page = pageOf(await browser.open(`${fixture.url}/oauth/device?user_code=AAAA-AAAA`))
    assert.doesNotMatch(page.text, /Reader/)
    assert.ok(page.status < 500)
  })
})

test('no spelling of a path bypasses the authorization server', async () => {
  await withFixture({}, async ({ url }) => {
    for (const path of [
      '/OAUTH/token',
      '/oauth//token',
      '/oauth/./token',
      '/oauth;x/token',
      '/oauth%2ftoken',
      '//oauth/token',
      '/oauth/token/',
      '/oauth/Token',
      '/oauth/..%2foauth/token',
      '/.WELL-KNOWN/openid-configuration',
      '/.well-known/openid-configuration/',
    ]) {
      const { status } = await rawGet(url + path, {})
      assert.equal(status, 404, path)
    }
  })
})

test('no secret is stored in plain text', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const tokens = await newTokens(fixture, app, {
      browser: fixture.browser(),
      person: fixture.ann,
      scope: 'openid offline_access read:post',
      parameters: { prompt: 'consent' },
    })
    const stored = await fixture.deployment.dump()
    assert.ok(stored.includes(fixture.ann.email), 'the dump contains the users')
    for (const [name, secret] of Object.entries({
      client_secret: app.client_secret,
      access_token: tokens.access_token ?? '',
      refresh_token: tokens.refresh_token ?? '',
      password: fixture.ann.password,
      key: fixture.ann.key,
    }))
      assert.ok(secret.length > 10 && !stored.includes(secret), name)
  })
})
