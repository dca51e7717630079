/** Sign-in, sign-up, reset and sign-out as JSON operations: their responses and refusals. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { sqlite } from '../../setups/sqlite.ts'
import { formWith, sharedFixtures } from '../conformance/server.ts'
import { sameOrigin, sessionSet, signedInCookie } from '../own-page.ts'
import { assertDocumented, post as postJson } from './documented-post.ts'
import { formWithField, newestLink, open, page, withMail } from './mail-fixture.ts'

const withFixture = sharedFixtures(sqlite, { 'accounts.signUp': 'open' })

const wrongText = 'The e-mail address or the password is wrong.'

test('a page signs in, reads who is signed in, and signs out', async () => {
  await withFixture(async ({ ann, call, url }) => {
    const { email, password } = ann
    const answer = await postJson(`${url}/account/sign-in`, { email, password, remember: true })
    const shown = { user: { id: ann.id, name: 'Ann', email, role: 'user', email_verified: false } }
    assert.deepEqual([answer.status, answer.json], [200, shown])
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    const line = answer.headers.getSetCookie().find(cookie => cookie.startsWith('portico_session='))
    assert.match(line ?? '', /; path=\/; expires=[^;]+; samesite=lax; httponly$/i)
    const own = { Cookie: sessionSet(answer) ?? '', ...sameOrigin }
    const json = { Accept: 'application/json' }
    const account = async (headers: Readonly<Record<string, string>>) => {
      const given = await call('/account', { headers })
      if (headers.Accept === json.Accept) assertDocumented('get', `${url}/account`, undefined, given)
      return given
    }
    assert.deepEqual((await account({ ...own, ...json })).json, shown)
    for (const site of ['cross-site', 'same-site', 'none']) {
      const foreign = await account({ ...own, ...json, 'Sec-Fetch-Site': site })
      assert.deepEqual([foreign.status, foreign.code], [401, 'UNAUTHORIZED'], site)
    }
    assert.match((await account({ ...own, Accept: 'text/html' })).text, /<!doctype html>/i)
    assert.equal((await postJson(`${url}/account/sign-out`, {}, own)).status, 204)
    assert.equal((await account({ ...own, ...json })).status, 401)
    assert.equal((await account(json)).status, 401)
    // Without `remember` the cookie ends with the browser session.
    const short = await postJson(`${url}/account/sign-in`, { email, password })
    assert.doesNotMatch(short.headers.getSetCookie().join(), /portico_session=[^,]*expires/i)
  })
})

test('a page of another origin can sign nobody in or out', async () => {
  await withFixture(async ({ ann, call, url }) => {
    const { email, password } = ann
    const Cookie = await signedInCookie(url, ann)
    const json = { 'Content-Type': 'application/json' }
    const rows: readonly [Readonly<Record<string, string>>, number][] = [
      [{ ...json, 'Sec-Fetch-Site': 'cross-site' }, 403],
      [{ ...json, 'Sec-Fetch-Site': 'same-site', Origin: url }, 403],
      [{ ...json, 'Sec-Fetch-Site': 'none' }, 403],
      [{ ...json, Origin: 'https://evil.example' }, 403],
      [{ ...json, Origin: 'null' }, 403],
      [json, 403],
      [{ 'Content-Type': 'text/plain', ...sameOrigin }, 415],
      [{ 'Content-Type': 'text/plain; x=application/json', ...sameOrigin }, 415],
      [{ 'Content-Type': 'application/jsonp', ...sameOrigin }, 415],
      [{ 'Content-Type': 'application/x-www-form-urlencoded', ...sameOrigin }, 403],
      [{ 'Content-Type': 'multipart/form-data; boundary=x', ...sameOrigin }, 415],
    ]
    const bodies = {
      '/account/sign-in': { email, password },
      '/account/sign-out': {},
      '/account/reset': { email },
    }
    for (const [path, body] of Object.entries(bodies)) {
      for (const [headers, status] of rows) {
        const details = `${path} ${JSON.stringify(headers)}`
        const answer = await call(path, { method: 'POST', headers: { Cookie, ...headers }, body })
        if (answer.text.startsWith('{')) assertDocumented('post', url + path, body, answer)
        assert.equal(answer.status, status, `${details} ${answer.text}`)
        assert.equal(sessionSet(answer), undefined, details)
        if (headers['Content-Type'] === 'application/json') assert.equal(answer.code, 'FORBIDDEN')
      }
    }
    assert.equal((await call('/api/v1/me', { headers: { Cookie, ...sameOrigin } })).status, 200)
    const allowed = await postJson(`${url}/account/sign-in`, { email, password }, { Origin: url })
    assert.equal(allowed.status, 200)
  })
})

test('a client that does not accept HTML gets every answer as JSON', async () => {
  await withFixture(async ({ ann, call, url }) => {
    const Cookie = await signedInCookie(url, ann)
    for (const Accept of ['*/*', 'application/json', 'application/problem+json', 'text/html;q=0, */*']) {
      const headers = { Accept, ...sameOrigin }
      const own = await call('/account', { headers: { Cookie, ...headers } })
      assert.equal(own.status, 200, Accept)
      assert.equal((own.json.user as { email?: string } | undefined)?.email, ann.email, Accept)
      assert.equal(
        (await call('/account', { headers })).code ?? 'problem',
        Accept.includes('problem') ? 'problem' : 'UNAUTHORIZED',
      )
    }
    const browser = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8', Cookie, ...sameOrigin }
    assert.match((await call('/account', { headers: browser })).text, /^<!doctype html>/)

    const form = 'application/x-www-form-urlencoded'
    const rows = [
      ['POST', '/account/sign-in', 'application/json', form, 'UNSUPPORTED_MEDIA_TYPE'],
      ['POST', '/account/sign-in', 'application/json', 'text/plain', 'UNSUPPORTED_MEDIA_TYPE'],
      ['POST', '/account/sign-in', '*/*', 'text/plain', 'UNSUPPORTED_MEDIA_TYPE'],
      ['POST', '/account/sign-in', '*/*', 'application/vnd.api+json', 'UNSUPPORTED_MEDIA_TYPE'],
      ['POST', '/account/keys/new', 'application/json', form, 'UNSUPPORTED_MEDIA_TYPE'],
      ['POST', '/account', '*/*', 'application/json', 'METHOD_NOT_ALLOWED'],
      ['GET', '/account/sign-out', 'application/json', undefined, 'METHOD_NOT_ALLOWED'],
      ['GET', '/account/nothing', 'application/json', undefined, 'NOT_FOUND'],
      ['POST', '/account/nothing', '*/*', 'application/json', 'NOT_FOUND'],
    ] as const
    for (const [method, path, Accept, type, code] of rows) {
      const answer = await call(path, {
        method,
        headers: { Accept, ...sameOrigin, ...(type && { 'Content-Type': type }) },
        ...(type && { body: {} }),
      })
      assert.equal(answer.code, code, `${method} ${path} ${Accept} ${type} ${answer.text.slice(0, 200)}`)
    }
  })
})

test('a wrong password and an unknown address get the same response, and attempts are throttled', async () => {
  await withFixture(async ({ ann, url }) => {
    const at = `${url}/account/sign-in`
    const wrong = await postJson(at, { email: ann.email, password: 'wrong' })
    const unknown = await postJson(at, { email: 'nobody@example.com', password: 'wrong' })
    assert.deepEqual(
      [wrong.status, wrong.json],
      [401, { error: { code: 'UNAUTHORIZED', message: wrongText } }],
    )
    assert.deepEqual([unknown.status, unknown.text], [401, wrong.text])
    const statuses = new Set<number>()
    for (let count = 0; count < 30; count++) {
      const answer = await postJson(at, { email: 'often@example.com', password: 'wrong' })
      statuses.add(answer.status)
      if (answer.status !== 429) continue
      assert.equal(answer.code, 'RATE_LIMITED')
      assert.ok(Number(answer.headers.get('retry-after')) > 0)
      break
    }
    assert.deepEqual([...statuses], [401, 429])
  })
})

test('an invalid body is refused with all its faults', async () => {
  await withFixture(async ({ call, url }) => {
    const rows: readonly [string, unknown, string, readonly string[]][] = [
      ['sign-in', {}, 'VALIDATION_FAILED', ['email', 'password']],
      ['sign-in', { email: 'a@b.c', password: ' ' }, 'VALIDATION_FAILED', ['password']],
      ['sign-in', { email: ['a@b.c'], password: { $ne: null } }, 'VALIDATION_FAILED', ['email', 'password']],
      ['sign-in', { email: '\ud800', password: 'x' }, 'VALIDATION_FAILED', ['email']],
      ['sign-in', { email: 'a', password: 'b', remember: 'yes' }, 'VALIDATION_FAILED', ['remember']],
      ['sign-in', { email: 'a', password: 'b', next: '//evil.example' }, 'VALIDATION_FAILED', ['next']],
      ['sign-in', { toString: 'a', constructor: 'b' }, 'VALIDATION_FAILED', ['toString', 'constructor']],
      ['sign-in', { second_factor: 'x' }, 'VALIDATION_FAILED', ['code']],
      ['sign-in', { second_factor: 'x', code: '123456' }, 'UNAUTHORIZED', ['second_factor']],
      ['sign-in', { passkey: {} }, 'UNAUTHORIZED', ['passkey']],
      ['sign-in', { passkey: 'x' }, 'VALIDATION_FAILED', ['passkey']],
      ['sign-in', [], 'BAD_REQUEST', []],
      ['sign-in', null, 'BAD_REQUEST', []],
      ['sign-up', { name: 'X', email: 'x', password: 'short' }, 'VALIDATION_FAILED', ['email', 'password']],
      ['sign-up', { name: 'X', role: 'admin' }, 'VALIDATION_FAILED', ['role']],
      ['reset', {}, 'VALIDATION_FAILED', ['email']],
      ['reset', { token: 'x', password: 'a good long password' }, 'VALIDATION_FAILED', ['token']],
      ['security', { change: 'password' }, 'UNSUPPORTED_MEDIA_TYPE', []],
    ]
    for (const [path, body, code, fields] of rows) {
      const answer = await postJson(`${url}/account/${path}`, body)
      const { details = [] } = answer.json.error as { details?: readonly { field: string }[] }
      assert.deepEqual([answer.code, details.map(({ field }) => field)], [code, fields], answer.text)
    }
    const twice = await fetch(`${url}/account/sign-in`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...sameOrigin },
      body: '{"email":"a","email":"b","password":"c"}',
    })
    assert.equal(twice.status, 400)
    for (const path of ['/account/sign-in', '/account/keys']) {
      const page = await call(path, { headers: { Accept: 'application/json' } })
      assert.equal(page.code, 'NOT_ACCEPTABLE', path)
    }
    const options = await postJson(`${url}/account/passkeys/get`, {})
    assert.deepEqual([options.status, typeof options.json.challenge], [200, 'string'])
    const accepted = { ...sameOrigin, Accept: 'application/problem+json' }
    const problem = await postJson(`${url}/account/sign-in`, {}, accepted)
    assert.equal(problem.headers.get('content-type'), 'application/problem+json')
  })
})

test('a new account and a taken address get the same response; the new account can sign in', async () => {
  await withFixture(async ({ ann, url }) => {
    const at = `${url}/account/sign-up`
    const account = { name: 'Dora', email: `dora${ann.id}@example.com`, password: 'a good long password' }
    const created = await postJson(at, account)
    const taken = await postJson(at, { ...account, email: ann.email })
    assert.deepEqual([created.status, created.json.next], [202, 'sign_in'])
    assert.deepEqual([taken.status, taken.text], [202, created.text])
    assert.equal(sessionSet(created), undefined)
    await signedInCookie(url, account)
  })
})

test('with a second factor, the password returns a token, and the code signs in', async () => {
  await withFixture(async ({ ann, browser, url }) => {
    const visitor = browser()
    const first = await open(visitor, '/account/sign-in')
    await visitor.submit(formWithField(first, 'password'), { email: ann.email, password: ann.password })
    const security = await open(visitor, '/account/security')
    const start = security.forms.find(({ fields }) => fields.some(({ value }) => value === 'start-totp'))
    assert.ok(start)
    const setup = page(await visitor.submit(start))
    const secret = /<span class="secret">([A-Z2-7 ]+)</.exec(setup.text)?.[1] ?? ''
    const totp = new TOTP({ secret: Secret.fromBase32(secret.replaceAll(' ', '')) })
    await visitor.submit(formWithField(setup, 'code'), { code: totp.generate() })

    const at = `${url}/account/sign-in`
    const half = await postJson(at, { email: ann.email, password: ann.password })
    assert.deepEqual(Object.keys(half.json), ['second_factor'])
    assert.equal(sessionSet(half), undefined)
    const { second_factor } = half.json
    const wrong = await postJson(at, { second_factor, code: '000000' })
    assert.deepEqual([wrong.status, wrong.code], [401, 'UNAUTHORIZED'])
    const code = totp.generate({ timestamp: Date.now() + 30_000 })
    const done = await postJson(at, { second_factor, code })
    assert.equal(done.status, 200, done.text)
    assert.ok(sessionSet(done))
    assert.equal((await postJson(at, { second_factor, code })).status, 401)
  })
})

test('the token from the mail sets a new password and ends every session', async () => {
  await withMail(async ({ ann, call, url, browser }, received) => {
    const Cookie = await signedInCookie(url, ann)
    // Only confirmed addresses get reset mails.
    const visitor = browser()
    const first = await open(visitor, '/account/sign-in')
    await visitor.submit(formWithField(first, 'password'), { email: ann.email, password: ann.password })
    const account = await open(visitor, '/account')
    const send = account.forms.find(({ fields }) => fields.some(({ name }) => name === 'send'))
    assert.ok(send)
    await visitor.submit(send)
    const verify = await open(visitor, await newestLink(received, /\/account\/verify\?token=[\w-]+/g))
    const confirm = formWith(verify, 'password') ?? formWithField(verify, 'token')
    await visitor.submit(confirm, { password: ann.password })

    const at = `${url}/account/reset`
    const known = await postJson(at, { email: ann.email })
    const unknown = await postJson(at, { email: 'nobody@example.com' })
    assert.deepEqual([known.status, unknown.status, unknown.text], [202, 202, known.text])
    const path = await newestLink(received, /\/account\/reset\?token=[\w-]+/g)
    const token = new URL(path, url).searchParams.get('token')
    const weak = await postJson(at, { token, password: 'short' })
    assert.equal(weak.code, 'VALIDATION_FAILED')
    const set = await postJson(at, { token, password: 'another good password' })
    assert.equal(set.status, 200, set.text)
    assert.equal((await call('/api/v1/me', { headers: { Cookie, ...sameOrigin } })).status, 401)
    assert.equal((await postJson(at, { token, password: 'another good password' })).code, 'VALIDATION_FAILED')
    await signedInCookie(url, { email: ann.email, password: 'another good password' })
  })
})
