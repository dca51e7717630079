/**
 * Every parameter of an authorization request (RFC 6749, 4.1.1; OpenID Connect Core 1.0, 3.1.2.1), valid, unusual and wrong:
 * each request ends with a code, with an OAuth error at the app, or with a page that explains the error.
 */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import type { Browser, Departure, Page } from '../browser.ts'
import {
  authorizationUrl,
  authorize,
  clientCredentials,
  consentOf,
  type Fixture,
  formWith,
  type Person,
  post,
  withFixture,
} from '../server.ts'

type Parameters = Readonly<Record<string, string | readonly string[]>>

/** Not a native app: those are asked for consent every time (RFC 8252, 8.6). */
const redirectUri = 'https://app.example.com/callback'
const challenge = hash('sha256', 'v'.repeat(43), 'base64url')
const long = 'x'.repeat(3000)
const json = (value: unknown) => JSON.stringify(value)
const userinfo = (value: unknown) => ({ claims: json({ userinfo: value }) })
const idToken = (value: unknown) => ({ claims: json({ id_token: value }) })

/** The end of each request: `code`, the `error` at the app, or `page` for a 400 without a redirect. */
const rows: readonly (readonly [Parameters, string])[] = [
  [{}, 'code'],
  [{ response_type: '' }, 'invalid_request'],
  [{ response_type: 'code code' }, 'unsupported_response_type'],
  [{ response_type: 'code  code' }, 'unsupported_response_type'],
  [{ response_type: ' code' }, 'unsupported_response_type'],
  [{ response_type: 'code ' }, 'unsupported_response_type'],
  [{ response_type: 'CODE' }, 'unsupported_response_type'],
  [{ response_type: 'token' }, 'unsupported_response_type'],
  [{ response_type: 'id_token' }, 'unsupported_response_type'],
  [{ response_type: 'code id_token' }, 'unsupported_response_type'],
  [{ response_type: 'none' }, 'unsupported_response_type'],
  [{ response_mode: 'query' }, 'code'],
  [{ response_mode: 'fragment' }, 'code'],
  [{ response_mode: 'form_post' }, 'code'],
  [{ response_mode: 'web_message' }, 'unsupported_response_mode'],
  [{ response_mode: 'jwt' }, 'unsupported_response_mode'],
  [{ response_mode: '__proto__' }, 'unsupported_response_mode'],
  [{ scope: 'openid\0' }, 'invalid_scope'],
  [{ scope: 'openid openid' }, 'code'],
  [{ scope: `openid ${long}` }, 'invalid_scope'],
  [{ claims: '{bad' }, 'invalid_request'],
  [{ claims: 'null' }, 'invalid_request'],
  [{ claims: '[]' }, 'invalid_request'],
  [{ claims: '1' }, 'invalid_request'],
  [{ claims: '"name"' }, 'invalid_request'],
  [{ claims: '{}' }, 'invalid_request'],
  [{ claims: '' }, 'code'],
  [{ claims: json({ userinfo: null }) }, 'invalid_request'],
  [{ claims: json({ id_token: ['name'] }) }, 'invalid_request'],
  [{ claims: json({ userinfo: { name: { essential: true } }, more: 1 }) }, 'code'],
  [userinfo({ name: null }), 'code'],
  [userinfo({ name: true, email: 'x', sub: 5 }), 'code'],
  [userinfo({ name: { essential: true, value: 'Somebody else' } }), 'code'],
  [userinfo({ phone_number: { essential: true }, address: null, constructor: null }), 'code'],
  [{ claims: '{"userinfo":{"__proto__":{"name":null}}}' }, 'code'],
  [userinfo({ email: { essential: true }, email_verified: null }), 'code'],
  [
    userinfo(Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`c${index}`, null]))),
    'invalid_request',
  ],
  [{ claims: `{"userinfo":${'{"a":'.repeat(500)}1${'}'.repeat(500)}}` }, 'code'],
  [idToken({ name: { essential: true } }), 'code'],
  [idToken({ sub: null, auth_time: { essential: true } }), 'code'],
  [idToken({ sub: 'x' }), 'code'],
  [idToken({ sub: { value: 'nobody' } }), 'login_required'],
  [idToken({ sub: { value: 1e9 } }), 'login_required'],
  [idToken({ acr: null }), 'code'],
  [idToken({ acr: { values: ['gold'] } }), 'code'],
  [idToken({ acr: { essential: true } }), 'code'],
  [idToken({ acr: { essential: true, value: 'gold' } }), 'unmet_authentication_requirements'],
  [idToken({ acr: { essential: true, values: ['gold'] } }), 'unmet_authentication_requirements'],
  [idToken({ acr: { essential: true, values: 'gold' } }), 'invalid_request'],
  [{ acr_values: 'gold silver' }, 'code'],
  [{ acr_values: long }, 'code'],
  [{ max_age: '0' }, 'code'],
  [{ max_age: '-0' }, 'code'],
  [{ max_age: '1' }, 'code'],
  [{ max_age: '99999999999' }, 'code'],
  [{ max_age: '99999999999999999999' }, 'invalid_request'],
  [{ max_age: '-1' }, 'invalid_request'],
  [{ max_age: '1.5' }, 'invalid_request'],
  [{ max_age: 'NaN' }, 'invalid_request'],
  [{ max_age: 'soon' }, 'invalid_request'],
  [{ id_token_hint: 'garbage' }, 'invalid_request'],
  [{ id_token_hint: 'a.b.c' }, 'invalid_request'],
  [{ id_token_hint: 'eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.' }, 'invalid_request'],
  [{ login_hint: 'nobody@example.com' }, 'code'],
  [{ login_hint: `\0<script>${long}` }, 'code'],
  [{ ui_locales: 'de xx-YY @' }, 'code'],
  [{ claims_locales: 'de' }, 'code'],
  [{ display: 'popup' }, 'code'],
  [{ display: 'wrong' }, 'code'],
  [{ nonce: long }, 'code'],
  [{ nonce: '\0' }, 'code'],
  [{ state: long }, 'code'],
  [{ request: 'garbage' }, 'request_not_supported'],
  [{ request: 'a.b.c' }, 'request_not_supported'],
  [{ request_uri: 'garbage' }, 'request_uri_not_supported'],
  [{ request_uri: 'https://app.example/request' }, 'request_uri_not_supported'],
  [{ request_uri: 'urn:ietf:params:oauth:request_uri:none' }, 'invalid_request_uri'],
  [{ registration: '{}' }, 'registration_not_supported'],
  [{ resource: 'https://other.example/' }, 'invalid_target'],
  [{ resource: ['https://one.example/', 'https://two.example/'] }, 'invalid_target'],
  [{ resource: 'garbage' }, 'invalid_target'],
  [{ resource: '' }, 'code'],
  [{ prompt: 'none' }, 'code'],
  [{ prompt: 'login' }, 'code'],
  [{ prompt: 'consent' }, 'code'],
  [{ prompt: 'select_account' }, 'code'],
  [{ prompt: 'login consent select_account' }, 'code'],
  [{ prompt: 'login login' }, 'code'],
  [{ prompt: 'none login' }, 'invalid_request'],
  [{ prompt: 'select_account none' }, 'invalid_request'],
  [{ prompt: 'create' }, 'invalid_request'],
  [{ prompt: 'LOGIN' }, 'invalid_request'],
  [{ prompt: 'constructor' }, 'invalid_request'],
  [{ code_challenge: challenge, code_challenge_method: 'S256' }, 'code'],
  [{ code_challenge: challenge }, 'invalid_request'],
  [{ code_challenge: challenge, code_challenge_method: 'plain' }, 'invalid_request'],
  [{ code_challenge_method: 'S256' }, 'invalid_request'],
  [{ code_challenge: 'short', code_challenge_method: 'S256' }, 'invalid_request'],
  [{ code_challenge: '\0'.repeat(43), code_challenge_method: 'S256' }, 'invalid_request'],
  [{ code_challenge: long, code_challenge_method: 'S256' }, 'invalid_request'],
  [{ dpop_jkt: 'x' }, 'code'],
  [{ authorization_details: '[{]' }, 'code'],
  [{ web_message_uri: 'x', web_message_target: 'y' }, 'code'],
  [{ __proto__x: '1', 'a[b]': '1', constructor: '1' }, 'code'],
  [{ redirect_uri: '' }, 'page'],
  [{ redirect_uri: 'garbage' }, 'page'],
  [{ redirect_uri: `${redirectUri}#x` }, 'page'],
  [{ redirect_uri: `${redirectUri}/../callback` }, 'page'],
  [{ client_id: '' }, 'page'],
  [{ client_id: 'nobody' }, 'page'],
  [{ client_id: '__proto__' }, 'page'],
]

/** Requests without a signed-in user, including those that then need more pages. */
const fresh: readonly (readonly [Parameters, string])[] = [
  [{ prompt: 'none' }, 'login_required'],
  [{ prompt: 'select_account' }, 'code'],
  [{ prompt: 'select_account consent' }, 'code'],
  [{ max_age: '0' }, 'code'],
  [userinfo({ name: { essential: true } }), 'code'],
  [idToken({ sub: { value: 'nobody' } }), 'login_required'],
  [idToken({ acr: { essential: true, values: ['gold'] } }), 'unmet_authentication_requirements'],
]

const maxPages = 5

/** Submits the form of a page as a user who wants to continue. */
async function next(browser: Browser, page: Page, person: Person): Promise<Page | Departure | undefined> {
  const signIn = formWith(page, 'password')
  if (signIn) return browser.submit(signIn, { email: person.email, password: person.password })
  const consent = consentOf(page)
  if (consent) return browser.submit(consent.form, {}, consent.button)
  const chosen = page.forms.flatMap(form =>
    form.buttons.filter(({ value }) => value === 'continue').map(button => ({ form, button })),
  )[0]
  return chosen && browser.submit(chosen.form, {}, chosen.button)
}

function endOf(url: URL): string {
  const response = new URLSearchParams(url.hash === '' ? url.search : url.hash.slice(1))
  return response.has('code') ? 'code' : String(response.get('error'))
}

async function ending(browser: Browser, address: URL, person: Person): Promise<string> {
  let page = await browser.open(address)
  for (let count = 0; count < maxPages; count++) {
    if ('location' in page) return endOf(page.location)
    assert.ok(page.status < 500, `${page.status} ${page.text}`)
    const posted = page.forms.find(({ action }) => action.href === redirectUri)
    if (posted) return posted.fields.some(({ name }) => name === 'code') ? 'code' : 'an error, posted'
    if (page.status >= 400) return page.status === 400 ? 'page' : `page ${page.status}`
    const after = await next(browser, page, person)
    assert.ok(after, `no form to submit: ${page.text}`)
    page = after
  }
  return 'no end'
}

function addressOf(fixture: Fixture, clientId: string, more: Parameters): URL {
  const { url } = fixture
  const usual = { response_type: 'code', client_id: clientId, redirect_uri: redirectUri, state: 's' }
  const address = authorizationUrl(url, { ...usual, scope: 'openid', nonce: 'n' })
  for (const [name, values] of Object.entries(more)) {
    address.searchParams.delete(name)
    for (const value of [values].flat()) address.searchParams.append(name, value)
  }
  return address
}

test('every authorization request ends as expected, whatever its parameters', async () => {
  await withFixture({}, async fixture => {
    const { client_id } = await fixture.app({ redirect_uris: [redirectUri] })
    const browser = fixture.browser()
    await authorize(browser, addressOf(fixture, client_id, {}), fixture.ann)
    const others: string[] = []
    for (const [parameters, expected] of rows) {
      const outcome = await ending(browser, addressOf(fixture, client_id, parameters), fixture.ann)
      if (outcome !== expected)
        others.push(`${JSON.stringify(parameters).slice(0, 200)}: ${outcome}, not ${expected}`)
    }
    for (const [parameters, expected] of fresh) {
      const outcome = await ending(fixture.browser(), addressOf(fixture, client_id, parameters), fixture.ann)
      if (outcome !== expected)
        others.push(`signed out, ${JSON.stringify(parameters)}: ${outcome}, not ${expected}`)
    }
    assert.deepEqual(others, [])
  })
})

test('every pushed and every device request is accepted or refused, whatever its parameters', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app({ redirect_uris: [redirectUri] })
    for (const [parameters] of rows) {
      const address = addressOf(fixture, app.client_id, parameters)
      for (const endpoint of ['par', 'device']) {
        const form = new URLSearchParams(address.search)
        form.set('client_secret', app.client_secret)
        const { status, json: response, text } = await post(`${fixture.url}/oauth/${endpoint}`, form)
        const details = `${endpoint} ${JSON.stringify(parameters).slice(0, 200)}: ${status} ${text}`
        assert.ok([200, 201, 400, 401].includes(status), details)
        assert.equal(typeof response.error, status < 400 ? 'undefined' : 'string', details)
      }
    }
    // A pushed request ends as the same request in the URL does.
    const push = async (more: Parameters) => {
      const form = new URLSearchParams(addressOf(fixture, app.client_id, more).search)
      form.set('client_secret', app.client_secret)
      const { json: response } = await post(`${fixture.url}/oauth/par`, form)
      const address = authorizationUrl(fixture.url, {
        client_id: app.client_id,
        request_uri: String(response.request_uri),
      })
      return ending(fixture.browser(), address, fixture.ann)
    }
    assert.equal(await push(userinfo({ name: { essential: true } })), 'code')
    assert.equal(await push(idToken({ sub: { value: 'nobody' } })), 'login_required')
    const device = await post(`${fixture.url}/oauth/device`, {
      scope: 'openid',
      ...userinfo({ name: { essential: true } }),
      ...clientCredentials(app),
    })
    assert.equal(device.status, 200, device.text)
  })
})

/** Parameters for the other pages. */
const elsewhere: readonly (readonly [path: string, Parameters])[] = [
  ['/oauth/logout', { id_token_hint: 'garbage' }],
  ['/oauth/logout', { id_token_hint: 'a.b.c' }],
  ['/oauth/logout', { id_token_hint: ['a', 'b'] }],
  ['/oauth/logout', { post_logout_redirect_uri: 'garbage' }],
  ['/oauth/logout', { post_logout_redirect_uri: redirectUri }],
  ['/oauth/logout', { client_id: '__proto__', post_logout_redirect_uri: redirectUri }],
  ['/oauth/logout', { client_id: '\0', state: '\0', ui_locales: '\0', logout_hint: long }],
  ['/oauth/logout', { state: ['a', 'b'] }],
  ['/oauth/logout/success', { client_id: '__proto__' }],
  ['/oauth/logout/success', { client_id: ['a', 'b'] }],
  ['/oauth/device', { user_code: '\0' }],
  ['/oauth/device', { user_code: long }],
  ['/oauth/device', { user_code: ['ABCD-EFGH', 'x'] }],
  ['/oauth/device', { user_code: '<script>' }],
  ['/oauth/device/verify', { user_code: '%', claims: '{bad' }],
  ['/oauth/authorize/none', {}],
  ['/oauth/device/verify/none', {}],
  ['/oauth/interaction/none', { page: 'sign-up' }],
  ['/oauth/userinfo', { access_token: 'x', scope: '\0' }],
]

test('no other page of the authorization server fails, whatever its parameters', async () => {
  await withFixture({}, async fixture => {
    const { url } = fixture
    const { client_id } = await fixture.app()
    const ofApp: typeof elsewhere = [
      ['/oauth/authorize/none', { client_id }],
      ['/oauth/authorize/none', { client_id, redirect_uri: redirectUri, state: 's' }],
      ['/oauth/authorize/none', { client_id, redirect_uri: 'https://evil.example/' }],
      ['/oauth/device/verify/none', { client_id, user_code: 'ABCD-EFGH' }],
    ]
    for (const [path, parameters] of [...elsewhere, ...ofApp]) {
      // Without the session of the page before.
      const browser = fixture.browser()
      const address = new URL(path, url)
      for (const [name, values] of Object.entries(parameters)) {
        for (const value of [values].flat()) address.searchParams.append(name, value)
      }
      const { status, headers, text } = await browser.send(address)
      const details = `${address.href.slice(0, 200)}: ${status} ${text.slice(0, 300)}`
      assert.ok([200, 400, 401, 404].includes(status), details)
      assert.equal(headers.location, undefined, details)
    }
  })
})
