/** Links in mails, from a real mail server to the pages that they open, and what they end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { createOneTimeCodes } from '../../../src/identity/accounts/sign-in/one-time-codes.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import blog from '../../models/blog.ts'
import type { Deployment } from '../../setups/setup.ts'
import type { Browser, Page } from '../conformance/browser.ts'
import { authorizationUrl, consentOf, newTokens, redirectUri, withFixture } from '../conformance/server.ts'
import { recordsOfOtherProcess } from '../encryption/other-process.ts'
import type { Received } from '../smtp.ts'
import { addressees, formWithField, newestLink, open, page, withMail } from './mail-fixture.ts'

/** Waits until this many mails to the address have arrived. */
async function untilMails(received: Received, email: string, count: number): Promise<void> {
  const arrived = () => addressees(received).filter(address => address === email).length
  for (let tries = 0; tries < 6000 && arrived() < count; tries++)
    await new Promise(resolve => setTimeout(resolve, 20))
  assert.equal(arrived(), count, email)
}

test('with a mail server, opening the link creates the account, and nothing before does', async () => {
  await withMail(async ({ browser, admin, call }, received) => {
    const visitor = browser()
    const values = { name: 'Eve', email: 'eve@example.com', password: 'a long enough one' }
    const sent = page(
      await visitor.submit(formWithField(await open(visitor, '/account/sign-up'), 'password'), values),
    )
    assert.match(sent.text, /Check your mail/)
    const users = async () =>
      (await call('/api/v1/users?email=eve@example.com', { key: admin.key })).json.data
    assert.deepEqual(await users(), [])
    const path = await newestLink(received, /\/account\/verify\?account=[\w-]+/g)
    const other = browser()
    const wrong = page(
      await other.submit(formWithField(await open(other, path), 'password'), { password: 'not that one' }),
    )
    assert.equal(wrong.status, 400)
    assert.deepEqual(await users(), [])
    const done = page(await other.submit(formWithField(wrong, 'password'), { password: values.password }))
    assert.equal(done.url.pathname, '/account')
    assert.match(done.text, /<span class="state good">Confirmed<\/span>/)
    assert.equal((await open(browser(), path)).status, 400)
  })
})

test('the page after a sign-up names the address, sends the link again, and leads back to the form to correct it', async () => {
  await withMail(async ({ browser, ann, url }, received) => {
    const visitor = browser()
    const password = 'a long enough one'
    const signUp = async (email: string) => {
      const form = formWithField(await open(visitor, '/account/sign-up'), 'password')
      return page(await visitor.submit(form, { name: 'Eve', email, password }))
    }
    const sent = await signUp('ev@example.com')
    assert.match(sent.text, /We have sent a message to <strong>ev@example\.com<\/strong>/)
    const first = await newestLink(received, /\/account\/verify\?account=[\w-]+/g)
    const again = page(await visitor.submit(formWithField(sent, 'again')))
    assert.match(again.text, /<h1>Check your mail<\/h1>[\s\S]*<strong>ev@example\.com<\/strong>/)
    await untilMails(received, 'ev@example.com', 2)
    // Both links work: the second mail ends nothing.
    assert.equal((await open(browser(), first)).status, 200)

    const [, href = ''] = /<a href="([^"]*)">correct it<\/a>/.exec(again.text) ?? []
    const form = formWithField(await open(visitor, new URL(href, url)), 'password')
    const enteredIn = (name: string) => form.fields.find(field => field.name === name)?.value
    assert.deepEqual(
      [enteredIn('name'), enteredIn('email'), enteredIn('password')],
      ['Eve', 'ev@example.com', ''],
    )
    const corrected = page(await visitor.submit(form, { email: 'eve@example.com', password }))
    assert.match(corrected.text, /<strong>eve@example\.com<\/strong>/)
    await untilMails(received, 'eve@example.com', 1)

    // A taken address gets the same page, and its owner a notice for each request.
    const taken = await signUp(ann.email)
    const shape = (text: string, email: string) =>
      text.replaceAll(email, 'EMAIL').replace(/again=[\w-]+|value="[\w-]+"/g, 'SECRET')
    assert.equal(shape(taken.text, ann.email), shape(sent.text, 'ev@example.com'))
    page(await visitor.submit(formWithField(taken, 'again')))
    await untilMails(received, ann.email, 2)

    const stale = { ...formWithField(sent, 'again') }
    const fields = stale.fields.map(field =>
      field.name === 'again' ? { ...field, value: 'x'.repeat(43) } : field,
    )
    const over = page(await visitor.submit({ ...stale, fields }))
    assert.equal(over.status, 400)
    assert.match(over.text, /Fill in the form again/)
  })
})

test('the page after a reset names the entered address, escaped, and sends the link again', async () => {
  await withMail(async ({ browser, ann }, received) => {
    const visitor = browser()
    const ask = async (email: string) => {
      const form = formWithField(await open(visitor, '/account/reset'), 'email')
      return page(await visitor.submit(form, { email }))
    }
    const sent = await ask(ann.email)
    assert.ok(sent.text.includes(`<strong>${ann.email}</strong>`))
    await untilMails(received, ann.email, 1)
    const again = page(await visitor.submit(formWithField(sent, 'email')))
    assert.ok(again.text.includes(`<strong>${ann.email}</strong>`))
    const hostile = await ask('<script>alert(1)</script>@example.com')
    assert.doesNotMatch(hostile.text, /<script>alert/)
  })
})

test('a confirmation link that is opened in another browser leads over its sign-in to the confirmation', async () => {
  await withMail(async ({ browser, ann, ben }, received) => {
    const first = browser()
    const signIn = async (visitor: Browser, at: Page, { email, password }: typeof ann) =>
      page(await visitor.submit(formWithField(at, 'password'), { email, password }))
    const account = await signIn(first, await open(first, '/account/sign-in'), ann)
    page(await first.submit(formWithField(account, 'send')))
    const link = await newestLink(received, /\/account\/verify\?token=[\w-]+/g)

    const phone = browser()
    const asked = await open(phone, link)
    assert.equal(asked.url.pathname, '/account/sign-in')
    const confirming = await signIn(phone, asked, ann)
    assert.match(confirming.text, new RegExp(`Is ${ann.email} yours\\?`))

    // A browser in which somebody else is signed in offers to change to the account of the link.
    const other = browser()
    await signIn(other, await open(other, '/account/sign-in'), ben)
    const foreign = await open(other, link)
    assert.match(foreign.text, /This link is for another account/)
    const [, href = ''] = /class="button plain" href="([^"]*)"/.exec(foreign.text) ?? []
    const switching = await open(other, href.replaceAll('&amp;', '&'))
    const owner = await signIn(other, switching, ann)
    const done = page(await other.submit(formWithField(owner, 'token')))
    assert.match(done.text, /Your address is confirmed/)
  })
})

test('a reset ends every session and every token, and the old password no longer works', async () => {
  await withMail(async (fixture, received) => {
    const { ann, browser, call, app } = fixture
    const visitor = browser()
    const tokens = await newTokens(fixture, await app(), {
      browser: visitor,
      person: ann,
      scope: 'openid read:post offline_access',
    })
    const access = tokens.access_token ?? ''
    const read = async () => (await call('/api/v1/posts', { key: access })).status
    assert.equal(await read(), 200)
    assert.equal((await open(visitor, '/account')).url.pathname, '/account')

    const other = browser()
    await other.submit(formWithField(await open(other, '/account/reset'), 'email'), { email: ann.email })
    const path = await newestLink(received, /\/account\/reset\?token=[\w-]+/g)
    const opened = await open(other, path)
    const short = page(await other.submit(formWithField(opened, 'password'), { password: 'short' }))
    assert.equal(short.status, 400)
    const done = page(
      await other.submit(formWithField(short, 'password'), { password: 'a staple in the meadow' }),
    )
    assert.match(done.text, /Your password is set/)

    assert.equal(await read(), 401)
    assert.equal((await open(visitor, '/account')).url.pathname, '/account/sign-in')
    const signIn = formWithField(await open(other, '/account/sign-in'), 'password')
    assert.equal(page(await other.submit(signIn, { email: ann.email, password: ann.password })).status, 400)
    const fresh = { email: ann.email, password: 'a staple in the meadow' }
    assert.equal(page(await other.submit(signIn, fresh)).url.pathname, '/account')
    assert.equal((await open(browser(), path)).status, 400)
  })
})

test('links contain the service’s base URL, whatever host the request names', async () => {
  await withMail(async ({ url, ann, browser }, received) => {
    const visitor = browser()
    const asking = formWithField(await open(visitor, '/account/reset'), 'email')
    const csrf = asking.fields.find(({ name }) => name === 'csrf')?.value ?? ''
    const { status } = await visitor.send(new URL('/account/reset', url), {
      method: 'POST',
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded',
        'Sec-Fetch-Site': 'same-origin',
        Host: 'evil.example.com',
        'X-Forwarded-Host': 'evil.example.com',
        'X-Forwarded-Proto': 'https',
      },
      body: new URLSearchParams({ csrf, email: ann.email }).toString(),
    })
    assert.equal(status, 200)
    await newestLink(received, /\/account\/reset\?token=[\w-]+/g)
    assert.doesNotMatch(received.data, /evil/)
    assert.ok(received.data.replace(/=\n/g, '').includes(`${url}/account/reset?token`))
  })
})

/** Turns on one-time codes while the service runs, as another process would. */
async function turnOnCodes(deployment: Deployment, userId: number): Promise<string> {
  const store = await deployment.openStore(checkModel(blog))
  try {
    const codes = createOneTimeCodes(await recordsOfOtherProcess(store, deployment))
    const { secret } = await codes.start(userId, 'ann@example.com', 'Example')
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate()
    assert.ok(await codes.confirm(userId, code))
    return secret
  } finally {
    await store.close()
  }
}

test('an authorization request returns no code before the one-time code is entered', async () => {
  await withFixture({}, async ({ url, deployment, ann, app, browser }) => {
    const secret = await turnOnCodes(deployment, ann.id)
    const { client_id } = await app()
    const visitor = browser()
    const request = { response_type: 'code', client_id, redirect_uri: redirectUri, scope: 'read:post' }
    const first = await open(visitor, authorizationUrl(url, request))
    const codePage = page(
      await visitor.submit(formWithField(first, 'password'), { email: ann.email, password: ann.password }),
    )
    assert.match(codePage.text, /one-time code/)
    const again = await open(visitor, authorizationUrl(url, request))
    formWithField(again, 'password')
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + 30_000 })
    const consent = page(
      await visitor.submit({ ...formWithField(codePage, 'code'), action: again.url }, { code }),
    )
    const answer = consentOf(consent)
    assert.ok(answer, consent.text)
    const left = await visitor.submit(answer.form, {}, answer.button)
    assert.ok('location' in left && left.location.searchParams.get('code'))
  })
})
