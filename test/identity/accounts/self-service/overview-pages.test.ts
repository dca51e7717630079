/** The overview, sessions and connected apps of an account, and error pages. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { english } from '../../../../src/identity/mail/page-texts.ts'
import { call } from '../../../server/serve/service.ts'
import { sqlite } from '../../../setups/sqlite.ts'
import { authorizationUrl, newTokens, post, redirectUri, sharedFixtures } from '../../conformance/server.ts'
import { open, page } from '../mail-fixture.ts'
import { advance, formTo, signIn, submitForm } from './own-pages.ts'

/** The mail server never answers: the pages only need one to be set. */
const withFixture = sharedFixtures(sqlite, {
  trustProxy: 1,
  countryHeader: 'CF-IPCountry',
  'mail.smtp': 'smtp://127.0.0.1:9',
})
const hourMs = 3_600_000

/** The text of a page, without markup. */
function words(text: string): string {
  return text
    .slice(text.indexOf('<main'))
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
}

test('the overview summarises the account, and every page asks to confirm an unconfirmed address', async () => {
  await withFixture(async fixture => {
    const { ann } = fixture
    await newTokens(fixture, await fixture.app(), { browser: fixture.browser(), person: ann })
    const { visitor, landed } = await signIn(fixture, ann, '/account')
    const text = words(landed.text)
    assert.match(text, /Your account .*Ann .*Not confirmed/)
    assert.match(text, /Security Password only, add a passkey .*Sessions 2 browsers .*Connected apps 1 app /)
    assert.match(text, /API keys 1 key .*OAuth apps 1 app .*Webhooks None yet/)
    for (const path of ['profile', 'security', 'sessions', 'apps', 'keys', 'developer', 'webhooks/new']) {
      const other = await open(visitor, `/account/${path}`)
      assert.match(words(other.text), /Confirm your e-mail address Open the link that we send to ann/, path)
    }
    const keys = await open(visitor, '/account/keys')
    const sent = await submitForm(visitor, formTo(keys, '/account/verify'))
    assert.equal(sent.url.pathname, '/account/keys')
    assert.match(words(sent.text), /Check your mail We have sent a link to ann/)
    // The form returns to account pages only.
    const form = formTo(sent, '/account/verify')
    const fields = form.fields.map(item =>
      item.name === 'back' ? { ...item, value: '//evil.example.com' } : item,
    )
    assert.equal((await submitForm(visitor, { ...form, fields })).url.pathname, '/account')
  })
})

test('a session shows its device, place and last use; a user ends one, all others, or all', async () => {
  await withFixture(async fixture => {
    const { ben, url } = fixture
    const phone = fixture.browser()
    const agent = 'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604'
    const at = { 'X-Forwarded-For': '192.0.2.7', 'CF-IPCountry': 'BO', 'User-Agent': agent }
    const { headers } = await call(`${url}/account/sign-in`, {
      method: 'POST',
      headers: { ...at, Origin: new URL(url).origin },
      body: { email: ben.email, password: ben.password, remember: true },
    })
    const cookie =
      (headers.getSetCookie().find(item => item.startsWith('portico_session=')) ?? '').split(';', 1)[0] ?? ''
    await signIn(fixture, ben, '/account')
    const { visitor, landed } = await signIn(fixture, ben, '/account/sessions')
    assert.match(
      words(landed.text),
      /This browser In use now .*Safari on iPhone Used within the last hour · Bolivia · 192\.0\.2\.7/,
    )
    advance(5 * hourMs)
    const show = async () => words((await open(visitor, '/account/sessions')).text)
    assert.match(await show(), /Safari on iPhone Used 5 hours ago/)
    // An API request counts as use; so does a page, which also records the place.
    const response = await call(`${url}/api/v1/me`, { headers: { cookie, 'Sec-Fetch-Site': 'same-origin' } })
    assert.equal(response.status, 200)
    assert.match(await show(), /Safari on iPhone Used within the last hour · Bolivia/)
    advance(2 * hourMs)
    const moved = { ...at, 'CF-IPCountry': 'PE', 'X-Forwarded-For': '192.0.2.8', cookie }
    await phone.send(new URL('/account', url), { headers: moved })
    assert.match(await show(), /Safari on iPhone Used within the last hour · Peru · 192\.0\.2\.8/)

    const ended = await submitForm(
      visitor,
      formTo(await open(visitor, '/account/sessions'), '/account/sessions'),
    )
    assert.match(words(ended.text), /The session has ended/)
    const everywhere = ended.forms.find(({ fields }) => fields.some(({ name }) => name === 'this'))
    assert.ok(everywhere)
    const alone = await submitForm(visitor, everywhere)
    assert.match(words(alone.text), /signed out everywhere else/)
    assert.equal(alone.text.match(/<span class="icon">/g)?.length, 1)
    const out = await submitForm(visitor, everywhere, { this: true })
    assert.equal(out.url.pathname, '/account/sign-in')
    assert.equal((await open(visitor, '/account')).url.pathname, '/account/sign-in')
  })
})

test('a connected app shows its access, reads folded into writes, and when it was allowed and last used', async () => {
  await withFixture(async fixture => {
    const { cleo } = fixture
    const app = await fixture.app({ homepage_uri: 'https://reader.example.com/about' })
    const scope = 'openid offline_access read:post write:post'
    const { refresh_token } = await newTokens(fixture, app, {
      browser: fixture.browser(),
      person: cleo,
      scope,
    })
    const { visitor, landed } = await signIn(fixture, cleo, '/account/apps')
    const text = words(landed.text)
    assert.match(text, /Reader Allowed on \d+ \w+ \d{4} · used within the last hour · reader\.example\.com/)
    assert.match(text, /See posts, create, change and delete your own/)
    assert.doesNotMatch(text, /See posts(?!,)/)
    advance(26 * hourMs)
    assert.match(words((await open(visitor, '/account/apps')).text), /· used 1 day ago/)
    const { client_id, client_secret } = app
    const grant = {
      grant_type: 'refresh_token',
      refresh_token: refresh_token ?? '',
      client_id,
      client_secret,
    }
    assert.equal((await post(`${fixture.url}/oauth/token`, grant)).status, 200)
    const shown = await open(visitor, '/account/apps')
    assert.match(words(shown.text), /· used within the last hour/)
    const done = await submitForm(visitor, formTo(shown, '/account/apps'))
    assert.match(words(done.text), /The app is disconnected.* No app has access to your account/)
    assert.match(words((await open(visitor, '/account')).text), /Connected apps None/)
  })
})

test('an error page names a registered app and the next step, and repeats nothing from the request', async () => {
  await withFixture(async fixture => {
    const app = await fixture.app({ name: 'Reader', homepage_uri: 'https://reader.example.com' })
    const request = { response_type: 'code', redirect_uri: redirectUri, scope: 'read:post', state: 'x' }
    const known = { ...request, client_id: app.client_id }
    const elsewhere = 'https://evil.example.com/Your%20bank'
    const rows: readonly [string, Readonly<Record<string, string>>, RegExp, RegExp?][] = [
      ['authorize', { ...request, client_id: 'Your bank' }, /This app is not known here/, /Your bank/],
      [
        'authorize',
        { ...known, redirect_uri: elsewhere },
        /You cannot go on to Reader .*Go to reader\.example\.com .*invalid_redirect_uri/,
        /evil/,
      ],
      ['authorize/abcdefghijklmnopqrstu', {}, /This took too long .*start again/],
      [
        'logout',
        { client_id: app.client_id, post_logout_redirect_uri: elsewhere },
        /You are not signed out yet Reader sent/,
        /evil/,
      ],
      ['interaction/abcdefghijklmnopqrstu', {}, /This sign-in is over .*NOT_FOUND/],
      ['nothing', {}, /There is nothing here .*NOT_FOUND/],
      ['token', {}, /This page cannot do that .*METHOD_NOT_ALLOWED/],
    ]
    for (const [path, parameters, expected, missing = /undefined/] of rows) {
      const url = authorizationUrl(fixture.url, parameters)
      url.pathname = `/oauth/${path}`
      const browser = fixture.browser()
      const shown = page(await browser.open(url))
      const text = words(shown.text)
      assert.match(text, expected, path)
      assert.doesNotMatch(text, missing, path)
      assert.ok(shown.status >= 400, path)
      const id = String(shown.headers['x-request-id'])
      assert.ok(text.includes(`Request ${id} Time 20`), `${path}: ${text}`)
    }
  })
})

test('errors under /account are HTML pages in browsers, and JSON for programs', async () => {
  await withFixture(async ({ url, browser }) => {
    const rows = [
      ['/account/nothing', 404, /There is nothing here The address is wrong/],
      ['/account/sign-out', 405, /This page cannot do that/],
    ] as const
    for (const [path, status, expected] of rows) {
      const shown = page(await browser().open(path))
      assert.equal(shown.status, status)
      assert.match(words(shown.text), expected)
      const { json } = await call(url + path, { headers: { Accept: 'application/json' } })
      assert.ok('error' in json, path)
    }
    // Endpoints for programs respond with JSON.
    const posted = await post(`${url}/oauth/token`, { grant_type: 'password' })
    assert.match(posted.headers.get('content-type') ?? '', /json/)
  })
})

test('internal errors and rate limits are HTML pages, and do not reveal the cause', async () => {
  const { errorPageReply } = await import('../../../../src/web/pages/frame/error-reply.ts')
  const { ApiError } = await import('../../../../src/base/errors.ts')
  const theme = { name: 'Example', logo: undefined, colour: '#1f5fbf' }
  const frame = { theme, explorer: true, guides: true }
  const call = { requestId: 'r-1', path: '/account' }
  const errorText = (error: unknown) => {
    const { status, body } = errorPageReply(frame, english, error, call, 0)
    return `${status} ${words(String(body))}`
  }
  const internal = errorText(new Error('secret of the database'))
  assert.match(internal, /^500 .*Something went wrong on our side .*INTERNAL_ERROR .*Request r-1 Time 1970/)
  assert.doesNotMatch(internal, /secret/)
  const headers = { 'Retry-After': '90' }
  assert.match(
    errorText(new ApiError('RATE_LIMITED', undefined, { headers })),
    /^429 .*Too many attempts Wait 2 minutes/,
  )
  assert.match(errorText(new ApiError('UNAVAILABLE')), /^503 .*The service cannot answer now Try again/)
  assert.match(errorText(new ApiError('NOT_FOUND', '<b>')), /&lt;b&gt;/)
})
