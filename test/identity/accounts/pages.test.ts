/** The account’s pages over HTTP: who may see them, what they refuse, and the headers of every response. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import type { Browser, Form, Page } from '../conformance/browser.ts'
import { type Fixture, formWith, type Person, withFixture } from '../conformance/server.ts'
import { formWithField, open, page } from './mail-fixture.ts'

const own = { 'Content-Type': 'application/x-www-form-urlencoded', 'Sec-Fetch-Site': 'same-origin' }

async function signIn(
  browser: Browser,
  { email, password }: Person,
  path = '/account/sign-in',
): Promise<Page> {
  const first = await open(browser, path)
  return page(await browser.submit(formWithField(first, 'password'), { email, password }))
}

function bodyOf({ fields }: Form, values: Readonly<Record<string, string>> = {}): string {
  const pairs = fields
    .filter(({ type }) => type !== 'checkbox')
    .map(({ name, value }) => [name, values[name] ?? value])
  return new URLSearchParams(pairs).toString()
}

const pages = ['/account', '/account/apps', '/account/sessions', '/account/security']

test('a visitor who is not signed in signs in first, and then sees the requested page', async () => {
  await withFixture({}, async ({ ann, browser }) => {
    const visitor = browser()
    for (const path of pages) {
      const signInPage = await open(visitor, path)
      assert.equal(signInPage.url.pathname, '/account/sign-in')
      assert.equal(signInPage.url.searchParams.get('next'), path)
    }
    const landed = await signIn(visitor, ann, '/account/apps')
    assert.equal(landed.url.pathname, '/account/apps')
    assert.equal(landed.status, 200)
    for (const path of pages) assert.equal((await open(visitor, path)).url.pathname, path)
    const again = await open(visitor, '/account/sign-in')
    assert.equal(again.url.pathname, '/account')
  })
})

test('a sign-in never redirects to another site', async () => {
  await withFixture({}, async ({ ann, browser }) => {
    for (const next of [
      'https://evil.example.com',
      '//evil.example.com',
      '/\\evil.example.com',
      '/account/../oauth/logout',
      '/account//evil.example.com',
      '/account@evil.example.com',
      '/account?next=x',
      'javascript:alert(1)',
      '/oauth/authorize',
      '\t/account',
    ]) {
      const visitor = browser()
      const landed = await signIn(visitor, ann, `/account/sign-in?next=${encodeURIComponent(next)}`)
      assert.equal(landed.url.pathname + landed.url.search, '/account', next)
    }
  })
})

test('a wrong password and an unknown address get the same response, without the password; empty fields are reported', async () => {
  await withFixture({}, async ({ ann, browser }) => {
    const visitor = browser()
    const first = await open(visitor, '/account/sign-in')
    const answers = new Set<string>()
    for (const email of [ann.email, 'nobody@example.com']) {
      const refused = page(
        await visitor.submit(formWithField(first, 'password'), { email, password: 'not this one' }),
      )
      assert.equal(refused.status, 400)
      assert.ok(!refused.text.includes('not this one'))
      answers.add(refused.text.replaceAll(email, '…'))
    }
    assert.equal(answers.size, 1)
    const empty = page(await visitor.submit(formWithField(first, 'password'), { email: '', password: '' }))
    assert.match(empty.text, /<a href="#email">Enter your e-mail address\.<\/a>/)
    assert.match(empty.text, /<a href="#password">Enter your password\.<\/a>/)
  })
})

test('a form has no effect without its token, with another token, or from another site', async () => {
  await withFixture({}, async ({ url, ann, browser }) => {
    const visitor = browser()
    const stranger = browser()
    await signIn(visitor, ann)
    await signIn(stranger, ann)
    const good = formWithField(await open(visitor, '/account'), 'csrf')
    const theirs = formWithField(await open(stranger, '/account'), 'csrf')
    const address = new URL('/account/sign-out', url)
    const tries: readonly (readonly [string, Record<string, string>, string])[] = [
      ['no token', own, ''],
      ['another browser’s', own, bodyOf(theirs)],
      ['a changed one', own, `${bodyOf(good)}x`],
      ['cross-site', { ...own, 'Sec-Fetch-Site': 'cross-site' }, bodyOf(good)],
      ['same-site', { ...own, 'Sec-Fetch-Site': 'same-site' }, bodyOf(good)],
      [
        'foreign origin',
        { 'Content-Type': own['Content-Type'], Origin: 'https://evil.example.com' },
        bodyOf(good),
      ],
      ['origin null', { 'Content-Type': own['Content-Type'], Origin: 'null' }, bodyOf(good)],
    ]
    for (const [name, headers, body] of tries) {
      const { status, headers: answered } = await visitor.send(address, { method: 'POST', headers, body })
      assert.equal(status, 403, name)
      assert.match(String(answered['content-type']), /^text\/html/)
    }
    assert.equal((await open(visitor, '/account')).url.pathname, '/account')
    const right = await visitor.send(address, { method: 'POST', headers: own, body: bodyOf(good) })
    assert.equal(right.status, 303)
    assert.equal((await open(visitor, '/account')).url.pathname, '/account/sign-in')
    assert.equal((await open(stranger, '/account')).url.pathname, '/account')
  })
})

test('repeated fields, other media types, other methods and oversized forms are refused', async () => {
  await withFixture({}, async ({ url, browser }) => {
    const visitor = browser()
    const body = bodyOf(formWithField(await open(visitor, '/account/sign-in'), 'password'))
    const address = new URL('/account/sign-in', url)
    const post = (headers: Record<string, string>, sent: string) =>
      visitor.send(address, { method: 'POST', headers: { ...own, ...headers }, body: sent })
    const twice = await post({}, `${body}&email=a%40example.com`)
    assert.equal(twice.status, 400)
    assert.match(twice.text, /`email` occurs twice/)
    assert.equal((await post({}, `${body}&__proto__=1&__proto__=2`)).status, 400)
    for (const type of [
      'text/json',
      'text/plain',
      'multipart/form-data; boundary=x',
      'application/x-www-form-urlencoded\ta',
    ]) {
      assert.equal((await post({ 'Content-Type': type }, body)).status, 415, type)
    }
    assert.equal((await post({}, `${body}&x=${'y'.repeat(70_000)}`)).status, 413)
    const fields = Array.from({ length: 300 }, (_, at) => `f${at}=1`).join('&')
    assert.equal((await post({}, `${body}&${fields}`)).status, 400)
    for (const [method, path, allow] of [
      ['DELETE', '/account/sign-in', 'GET, HEAD, POST'],
      ['PUT', '/account', 'GET, HEAD'],
      ['GET', '/account/sign-out', 'POST'],
      ['GET', '/account/passkeys/get', 'POST'],
    ] as const) {
      const answer = await visitor.send(new URL(path, url), { method })
      assert.equal(answer.status, 405)
      assert.equal(answer.headers.allow, allow)
    }
    for (const path of [
      '/account/',
      '/account/nothing',
      '/ACCOUNT/sign-in',
      '/account/sign-in/',
      '/account/%73ign-in',
    ]) {
      assert.equal((await visitor.send(new URL(path, url))).status, 404, path)
    }
  })
})

test('every page forbids framing, caching and foreign resources', async () => {
  await withFixture({}, async ({ url, ann, browser }) => {
    const visitor = browser()
    await signIn(visitor, ann)
    const paths = [
      ...pages,
      '/account/sign-in?confirm=yes',
      '/account/sign-up',
      '/account/reset',
      '/account/nothing',
    ]
    for (const path of paths) {
      const { headers, text } = await visitor.send(new URL(path, url))
      const policy = String(headers['content-security-policy'])
      assert.match(policy, /^default-src 'none'; style-src 'self'; script-src 'self';/, path)
      assert.match(policy, /form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/, path)
      assert.equal(headers['x-frame-options'], 'DENY', path)
      assert.equal(headers['cache-control'], 'no-store', path)
      assert.equal(headers['referrer-policy'], 'same-origin', path)
      assert.equal(headers['x-content-type-options'], 'nosniff', path)
      assert.equal(headers['api-version'], '1', path)
      assert.ok(headers['x-request-id'], path)
      assert.doesNotMatch(text, /<script(?! src=)|\son\w+=|\sstyle=|<style/, path)
    }
  })
})

test('cookies are limited to our own pages, and are `Secure` over https', async () => {
  await withFixture({}, async ({ url }) => {
    const [cookie = ''] = (await fetch(`${url}/account/sign-in`)).headers.getSetCookie()
    assert.match(cookie, /^portico_form=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
  })
  await withFixture({ baseUrl: 'https://id.example.com' }, async ({ url }) => {
    const [cookie = ''] = (await fetch(`${url}/account/sign-in`)).headers.getSetCookie()
    assert.match(cookie, /^__Host-portico_form=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/)
  })
})

test('the stylesheet and the script are revalidated by their entity tag', async () => {
  await withFixture({ 'theme.colour': '#aa0000' }, async ({ url }) => {
    for (const [path, type] of [
      ['/docs/assets/style.css', 'text/css; charset=utf-8'],
      ['/account/assets/passkeys.js', 'text/javascript; charset=utf-8'],
    ] as const) {
      const first = await fetch(url + path)
      assert.equal(first.headers.get('content-type'), type)
      const text = await first.text()
      if (path.endsWith('css')) assert.match(text, /--accent: #aa0000/)
      const tag = first.headers.get('etag') ?? ''
      const second = await fetch(url + path, { headers: { 'If-None-Match': tag } })
      assert.equal(second.status, 304)
    }
  })
})

async function sessionForms(browser: Browser): Promise<Form[]> {
  const { forms } = await open(browser, '/account/sessions')
  return forms.filter(({ fields }) => fields.some(({ name }) => name === 'session'))
}

test('a user can end another of their own sessions, and no session of another user', async () => {
  await withFixture({}, async ({ url, ann, ben, browser }) => {
    const [here, there, bens] = [browser(), browser(), browser()]
    for (const [visitor, person] of [
      [here, ann],
      [there, ann],
      [bens, ben],
    ] as const) {
      await signIn(visitor, person)
    }
    const [one, everywhere] = await sessionForms(here)
    assert.ok(one && everywhere)
    const id = one.fields.find(({ name }) => name === 'session')?.value ?? ''
    const csrf =
      formWithField(await open(bens, '/account'), 'csrf').fields.find(({ name }) => name === 'csrf')?.value ??
      ''
    const body = new URLSearchParams({ csrf, session: id }).toString()
    await bens.send(new URL('/account/sessions', url), { method: 'POST', headers: own, body })
    assert.equal((await open(there, '/account')).url.pathname, '/account')
    await here.submit(one)
    assert.equal((await open(there, '/account')).url.pathname, '/account/sign-in')
    assert.equal((await open(here, '/account')).url.pathname, '/account')
    await signIn(there, ann)
    await signIn(there, ann, '/account/sign-in?confirm=yes')
    const others = (await sessionForms(here)).at(-1)
    assert.ok(others)
    await here.submit(others)
    assert.equal((await open(there, '/account')).url.pathname, '/account/sign-in')
    assert.equal((await open(here, '/account')).url.pathname, '/account')
    assert.equal((await open(bens, '/account')).url.pathname, '/account')
  })
})

function secretIn({ text }: Page): string {
  return /<span class="secret">([A-Z2-7 ]+)</.exec(text)?.[1]?.replaceAll(' ', '') ?? ''
}

function code(secret: string, offset = 0): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + offset })
}

test('one-time codes are required once they are turned on, and a recovery code replaces one', async () => {
  await withFixture({}, async ({ ann, browser }) => {
    const visitor = browser()
    await signIn(visitor, ann)
    const security = await open(visitor, '/account/security')
    const start = security.forms.find(({ fields }) => fields.some(({ value }) => value === 'start-totp'))
    assert.ok(start)
    const setup = page(await visitor.submit(start))
    assert.match(setup.text, /<svg/)
    const wrong = page(await visitor.submit(formWithField(setup, 'code'), { code: '1' }))
    assert.equal(wrong.status, 400)
    const secret = secretIn(setup)
    assert.equal(secretIn(wrong), secret)
    const done = page(await visitor.submit(formWithField(wrong, 'code'), { code: code(secret) }))
    const recovery = [...done.text.matchAll(/<li>([a-z2-9]{5}-[a-z2-9]{5})<\/li>/g)].map(
      ([, value]) => value ?? '',
    )
    assert.equal(recovery.length, 10)

    const fresh = browser()
    const second = await signIn(fresh, ann, '/account/security')
    assert.match(second.text, /one-time code/)
    assert.equal((await open(fresh, '/account')).url.pathname, '/account/sign-in')
    const refused = page(await fresh.submit(formWithField(second, 'code'), { code: 'aaaaa-aaaaa' }))
    assert.equal(refused.status, 400)
    const landed = page(await fresh.submit(formWithField(refused, 'code'), { code: recovery[3] ?? '' }))
    assert.equal(landed.url.pathname, '/account/security')
    assert.match(landed.text, /You have 9 recovery codes left/)

    const third = browser()
    const codePage = await signIn(third, ann)
    assert.equal(
      page(await third.submit(formWithField(codePage, 'code'), { code: recovery[3] ?? '' })).status,
      400,
    )
    assert.equal(
      page(await third.submit(formWithField(codePage, 'code'), { code: code(secret, 30_000) })).url.pathname,
      '/account',
    )
  })
})

test('sign-in settings cannot be changed without a session, nor by an invalid change', async () => {
  await withFixture({}, async ({ url, ann, browser }) => {
    const visitor = browser()
    const before = formWithField(await open(visitor, '/account/sign-in'), 'csrf')
    const csrf = before.fields.find(({ name }) => name === 'csrf')?.value ?? ''
    const post = (fields: Readonly<Record<string, string>>, path = '/account/security') =>
      visitor.send(new URL(path, url), {
        method: 'POST',
        headers: own,
        body: new URLSearchParams({ csrf, ...fields }).toString(),
      })
    const stranger = await post({ change: 'start-totp' })
    assert.equal(stranger.status, 303)
    assert.match(String(stranger.headers.location), /^\/account\/sign-in/)
    assert.equal((await post({}, '/account/passkeys/create')).status, 401)
    await signIn(visitor, ann)
    for (const change of ['', 'everything', '__proto__', 'toString']) {
      assert.equal((await post({ change })).status, 400, change)
    }
    assert.equal((await post({ change: 'remove-passkey', passkey: 'x' })).status, 404)
    assert.equal((await post({ change: 'add-passkey', passkey: '{' })).status, 400)
    assert.equal(
      (await post({ change: 'add-passkey', passkey: '{"id":"x","response":{"clientDataJSON":"e30"}}' }))
        .status,
      400,
    )
    assert.equal((await post({}, '/account/passkeys/create')).status, 200)
  })
})

const windowMs = 15 * 60_000

/** Windows begin at the same time for everyone: near the end of one, the attempts could be counted in two. */
async function inOneWindow(): Promise<void> {
  const left = windowMs - (Date.now() % windowMs)
  if (left < 30_000) await new Promise(resolve => setTimeout(resolve, left))
}

test('the eleventh attempt is refused with a waiting time, whether or not the account exists', async () => {
  await withFixture({}, async ({ url, ann, browser }) => {
    await inOneWindow()
    const visitor = browser()
    const first = formWithField(await open(visitor, '/account/sign-in'), 'password')
    for (const email of [ann.email, 'a-stranger@example.com']) {
      for (let count = 0; count < 10; count++) {
        const { status } = page(await visitor.submit(first, { email, password: 'wrong' }))
        assert.equal(status, 400)
      }
      const refused = page(await visitor.submit(first, { email, password: ann.password }))
      assert.equal(refused.status, 429)
      assert.ok(Number(refused.headers['retry-after']) > 0)
    }
    // Neither a forged header nor another spelling of the address gains attempts.
    const body = bodyOf(first, { email: ` ${ann.email.toUpperCase()}`, password: ann.password })
    const headers = { ...own, 'X-Forwarded-For': '198.51.100.9', Forwarded: 'for=198.51.100.9' }
    const forged = await visitor.send(new URL('/account/sign-in', url), { method: 'POST', headers, body })
    assert.equal(forged.status, 429)
  })
})

test('a reset request gets the same response for every address', async () => {
  // The mail server never answers: it only has to be set.
  await withFixture({ 'mail.smtp': 'smtp://127.0.0.1:9' }, async ({ ann, browser }) => {
    const visitor = browser()
    const asking = formWithField(await open(visitor, '/account/reset'), 'email')
    const answers = await Promise.all(
      [ann.email, 'nobody@example.com'].map(async email => {
        const { status, text } = page(await visitor.submit(asking, { email }))
        return `${status} ${text.replaceAll(email, 'the address')}`
      }),
    )
    assert.equal(new Set(answers).size, 1)
    const over = await open(visitor, '/account/reset?token=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA')
    assert.equal(over.status, 400)
    assert.equal(formWith(over, 'password'), undefined)
  })
})

test('with sign-up off, no page links to it and its path responds 404', async () => {
  await withFixture({ 'accounts.signUp': 'off' }, async ({ url, browser }) => {
    const visitor = browser()
    const first = await open(visitor, '/account/sign-in')
    assert.doesNotMatch(first.text, /sign-up/)
    assert.equal((await open(visitor, '/account/sign-up')).status, 404)
    const csrf = formWithField(first, 'csrf').fields.find(({ name }) => name === 'csrf')?.value ?? ''
    const body = new URLSearchParams({
      csrf,
      name: 'Eve',
      email: 'eve@example.com',
      password: 'a long enough one',
    })
    const posted = await visitor.send(new URL('/account/sign-up', url), {
      method: 'POST',
      headers: own,
      body: body.toString(),
    })
    assert.equal(posted.status, 404)
  })
})

test('fields that the form does not have are ignored: nobody makes themselves an administrator', async () => {
  await withFixture({}, async ({ url, admin, browser, call }: Fixture) => {
    const visitor = browser()
    const created = formWithField(await open(visitor, '/account/sign-up'), 'password')
    const values = { name: 'Eve', email: 'eve@example.com', password: 'a long enough one' }
    const body = `${bodyOf(created, values)}&role=admin&id=1&password_hash=x&email_verified=true`
    const answer = await visitor.send(new URL('/account/sign-up', url), {
      method: 'POST',
      headers: own,
      body,
    })
    assert.equal(answer.status, 200)
    const { json } = await call('/api/v1/users?email=eve@example.com', { key: admin.key })
    const [eve] = json.data as readonly { role: string; id: number }[]
    assert.equal(eve?.role, 'user')
    assert.notEqual(eve?.id, 1)
    // Signing up does not sign the user in.
    assert.equal((await open(visitor, '/account')).url.pathname, '/account/sign-in')
  })
})

test('a rate-limited request gets an HTML page', async () => {
  await withFixture({ rateLimit: { user: 'off', address: 3, token: 'off' } }, async ({ url }) => {
    // A new window may begin in between.
    let last: Response | undefined
    for (let count = 0; count < 12 && last?.status !== 429; count++)
      last = await fetch(`${url}/account/sign-in`)
    assert.equal(last?.status, 429)
    assert.match(last?.headers.get('content-type') ?? '', /^text\/html/)
    assert.match(last?.headers.get('content-security-policy') ?? '', /default-src 'none'/)
    assert.ok(last?.headers.get('retry-after'))
    assert.equal(last?.headers.get('x-ratelimit-remaining'), '0')
    assert.match((await last?.text()) ?? '', /<h1>Too many attempts<\/h1>/)
  })
})

test('sign-up gets the same response for a known and an unknown address, and signs nobody in', async () => {
  await withFixture({ 'accounts.signUp': 'open' }, async ({ ann, browser }) => {
    const visitor = browser()
    const asking = formWithField(await open(visitor, '/account/sign-up'), 'password')
    const answers = new Set<string>()
    for (const email of [ann.email, 'nobody@example.com']) {
      const values = { name: 'Eve', email, password: 'a long enough one' }
      const { status, text, headers } = page(await visitor.submit(asking, values))
      const names = Object.keys(headers).filter(name => name !== 'x-request-id')
      answers.add(`${status} ${names.join()} ${text.replaceAll(email, '…')}`)
      assert.equal((await open(visitor, '/account')).url.pathname, '/account/sign-in')
    }
    assert.equal(answers.size, 1)
    const landed = await signIn(visitor, {
      ...ann,
      email: 'nobody@example.com',
      password: 'a long enough one',
    })
    assert.equal(landed.url.pathname, '/account')
    assert.equal((await signIn(browser(), ann)).url.pathname, '/account')
  })
})
