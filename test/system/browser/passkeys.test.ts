/** Passkeys in a real browser with a virtual authenticator. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { type TestService, withService } from '../../server/serve/service.ts'
import { freePort } from '../processes/port.ts'
import { openBrowser } from './chromium.ts'
import { addAuthenticator, assertWellFormed, openVisitor, saveScreenshot, type Visitor } from './visitor.ts'

let browser: Browser
before(async () => {
  browser = await openBrowser()
})
after(() => browser.close())

interface Fixture extends Visitor {
  readonly origin: string
  readonly service: TestService
}

async function withFixture(isUserVerified: boolean, use: (fixture: Fixture) => Promise<void>): Promise<void> {
  // The port must be known first: a passkey is bound to a host name, which cannot be an IP address.
  const port = await freePort()
  const origin = `http://localhost:${port}`
  await withService({ port, rateLimit: 'off', baseUrl: origin }, async service => {
    const visit = await openVisitor(browser)
    try {
      await addAuthenticator(visit.page, isUserVerified)
      await visit.page.goto(`${origin}/account/sign-up`)
      await visit.page.getByLabel('Your name').fill('Ada')
      await visit.page.getByLabel('E-mail address').fill('ada@example.com')
      await visit.page.getByLabel('Password').fill('correct horse battery')
      await visit.page.getByRole('button', { name: 'Create account' }).click()
      await visit.page.getByText('Sign in with the password that you have just chosen').waitFor()
      await visit.page.getByLabel('Password').fill('correct horse battery')
      await visit.page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await visit.page.getByRole('heading', { name: 'Your account' }).waitFor()
      await use({ ...visit, origin, service })
      assert.deepEqual(visit.faults, [])
    } finally {
      await visit.context.close()
    }
  })
}

async function addPasskey({ page, origin }: Fixture): Promise<void> {
  await page.goto(`${origin}/account/security`)
  await page.getByLabel('Name').fill('My laptop')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
}

async function signOut({ page, origin }: Fixture): Promise<void> {
  await page.goto(`${origin}/account`)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
}

test('a passkey is added, signs its owner in, and is refused once it is removed', async () => {
  await withFixture(true, async fixture => {
    const { page } = fixture
    await addPasskey(fixture)
    await page.getByText('The passkey is added.').waitFor()
    await page.getByRole('heading', { name: 'My laptop' }).waitFor()
    await assertWellFormed(page)
    await saveScreenshot(page, 'passkeys')
    await signOut(fixture)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByText('Signed in as ada@example.com').waitFor()
    await page.goto(`${fixture.origin}/account/security`)
    await page.getByRole('button', { name: 'Remove My laptop' }).click()
    await page.getByText('The passkey is removed.').waitFor()
    await signOut(fixture)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByText('The passkey was not accepted.').waitFor()
    await page.goto(`${fixture.origin}/account`)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  })
})

test('an authenticator gets one passkey per account, because a second one would silently replace it', async () => {
  await withFixture(true, async fixture => {
    const { page } = fixture
    await addPasskey(fixture)
    await page.getByText('The passkey is added.').waitFor()
    await addPasskey(fixture)
    await page.getByText('This device already has a passkey for this account.').waitFor()
    await page.reload()
    assert.equal(await page.getByRole('heading', { name: 'My laptop' }).count(), 1)
    await signOut(fixture)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByText('Signed in as ada@example.com').waitFor()
  })
})

test('an app’s own page signs in with a passkey by JSON, as the guide shows', async () => {
  await withFixture(true, async fixture => {
    const { page } = fixture
    await addPasskey(fixture)
    await page.getByText('The passkey is added.').waitFor()
    await signOut(fixture)
    const user = await page.evaluate(`(async () => {
      const account = (path, body) => fetch('/account/' + path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      }).then(answer => answer.json())
      const options = await account('passkeys/get', {})
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
      const passkey = await navigator.credentials.get({ publicKey })
      const first = await account('sign-in', { passkey: passkey.toJSON() })
      const again = await account('sign-in', { passkey: passkey.toJSON() })
      const me = await fetch('/api/v1/me').then(answer => answer.json())
      return [first.user.email, again.error.code, me.email]
    })()`)
    assert.deepEqual(user, ['ada@example.com', 'UNAUTHORIZED', 'ada@example.com'])
  })
})

test('a passkey is not added by an authenticator that does not verify its user', async () => {
  await withFixture(false, async fixture => {
    await addPasskey(fixture)
    await fixture.page.getByText('The passkey was not added. Try again.').waitFor()
    await fixture.page.reload()
    assert.equal(await fixture.page.getByRole('heading', { name: 'My laptop' }).count(), 0)
  })
})

test('a passkey response is not accepted a second time', async () => {
  await withFixture(true, async fixture => {
    const { page, origin } = fixture
    await addPasskey(fixture)
    await page.getByText('The passkey is added.').waitFor()
    await signOut(fixture)
    const sent = page.waitForRequest(
      request => request.method() === 'POST' && request.url().endsWith('/sign-in'),
    )
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    const form = new URLSearchParams((await sent).postData() ?? '')
    await page.getByText('Signed in as ada@example.com').waitFor()
    await signOut(fixture)
    const csrf = await page.locator('input[name=csrf]').first().inputValue()
    const replayed = await page.request.post(`${origin}/account/sign-in`, {
      form: { csrf, passkey: form.get('passkey') ?? '' },
      headers: { 'Sec-Fetch-Site': 'same-origin' },
      maxRedirects: 0,
    })
    assert.equal(replayed.status(), 400)
    assert.match(await replayed.text(), /The passkey was not accepted/)
  })
})
