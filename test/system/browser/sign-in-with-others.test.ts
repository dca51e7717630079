/** Sign-in with another issuer in a real browser; the issuer is a second Portico. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { type Fixture, openFixture, password } from '../../identity/accounts/providers/fixture.ts'
import blog from '../../models/blog.ts'
import { call } from '../../server/serve/service.ts'
import { freePort } from '../processes/port.ts'
import { openBrowser } from './chromium.ts'
import { addAuthenticator, assertWellFormed, openVisitor, saveScreenshot, type Visitor } from './visitor.ts'

let browser: Browser
let issuer: Fixture
/** The service that uses the issuer. It has another host name, because cookies do not depend on the port. */
let service: Fixture
let origin: string
before(async () => {
  browser = await openBrowser()
  issuer = await openFixture({ 'accounts.providers': [], 'theme.name': 'Corp' })
  const port = await freePort()
  origin = `http://localhost:${port}`
  const app = await register(issuer, `${origin}/account/sign-in/corp/callback`)
  const corp = {
    ...{ kind: 'oidc' as const, id: 'corp', name: 'Corp', issuer: issuer.url, allowPrivate: true },
    ...{ clientId: app.client_id, clientSecret: app.client_secret },
  }
  service = await openFixture({ port, baseUrl: origin, 'accounts.providers': [corp] }, blog, true)
})
after(async () => {
  await browser.close()
  await service.close()
  await issuer.close()
})

interface App {
  readonly client_id: string
  readonly client_secret: string
}

async function register(fixture: Fixture, redirectUri: string): Promise<App> {
  const key = await fixture.key(await fixture.user(fixture.email()))
  const created = await call(`${fixture.url}/api/v1/oauth_apps`, {
    method: 'POST',
    key,
    body: {
      name: 'Reading List',
      type: 'confidential',
      redirect_uris: [redirectUri],
      scopes: ['openid', 'profile', 'email'],
    },
  })
  assert.equal(created.status, 201, created.text)
  return created.json as unknown as App
}

async function visit(use: (visitor: Visitor) => Promise<void>): Promise<void> {
  const opened = await openVisitor(browser)
  try {
    await use(opened)
    assert.deepEqual(opened.faults, [])
  } finally {
    await opened.context.close()
  }
}

async function signInAtIssuer(page: Page, email: string): Promise<void> {
  await page.getByText('to continue to Reading List').waitFor()
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'Allow' }).click()
}

async function isSignedIn(page: Page, email: string): Promise<void> {
  await page.waitForURL(`${origin}/account`)
  await page.getByText(email).first().waitFor()
}

test('the first sign-in creates an account, and the second signs in to it', async () => {
  const email = issuer.email()
  await issuer.user(email)
  await visit(async ({ page, context }) => {
    await page.goto(`${origin}/account/sign-in`)
    await assertWellFormed(page)
    await saveScreenshot(page, 'others-sign-in')
    await page.getByRole('button', { name: 'Continue with Corp' }).click()
    await signInAtIssuer(page, email)
    await isSignedIn(page, email)
    const id = (await service.find(email))?.id
    assert.equal((await service.find(email))?.password_hash, null)
    await page.goto(`${origin}/account/security`)
    await assertWellFormed(page)
    await saveScreenshot(page, 'others-security')
    await context.clearCookies({ domain: 'localhost' })
    await page.goto(`${origin}/account/sign-up`)
    await assertWellFormed(page)
    await page.getByRole('button', { name: 'Continue with Corp' }).click()
    // The user has a session at the issuer. Apps at a loopback address ask for consent each time.
    await page.getByRole('button', { name: 'Allow' }).click()
    await isSignedIn(page, email)
    assert.equal((await service.find(email))?.id, id)
  })
})

test('an account from another issuer can add a passkey, and then sign in without the issuer', async () => {
  const email = issuer.email()
  await issuer.user(email)
  await visit(async ({ page, context }) => {
    await addAuthenticator(page, true)
    await page.goto(`${origin}/account/sign-in?next=/account/security`)
    await page.getByRole('button', { name: 'Continue with Corp' }).click()
    await signInAtIssuer(page, email)
    await page.getByLabel('Name').fill('My laptop')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByText('The passkey is added.').waitFor()
    // The passkey is sufficient, so the issuer can be unlinked.
    await page.getByRole('button', { name: 'Unlink Corp' }).click()
    await page.getByRole('button', { name: 'Link Corp' }).waitFor()
    await context.clearCookies()
    await page.goto(`${origin}/account/sign-in`)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await isSignedIn(page, email)
    await service.disable(email)
    await context.clearCookies()
    await page.goto(`${origin}/account/sign-in`)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByText('This account is disabled').waitFor()
  })
})

test('while an app’s request waits, the owner links the existing account, and the app gets its code', async () => {
  const email = issuer.email()
  await issuer.user(email)
  await service.user(email)
  const app = await register(service, 'http://127.0.0.1:9/callback')
  const request = new URLSearchParams({
    ...{ response_type: 'code', client_id: app.client_id, redirect_uri: 'http://127.0.0.1:9/callback' },
    ...{ scope: 'openid email', state: 'a state' },
  })
  await visit(async ({ page }) => {
    await page.goto(`${origin}/oauth/authorize?${request}`)
    await page.getByRole('button', { name: 'Continue with Corp' }).click()
    await signInAtIssuer(page, email)
    await page.getByText('An account with your address at Corp exists already.').waitFor()
    await assertWellFormed(page)
    await page.getByLabel('E-mail address').fill(email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('heading', { name: 'Link Corp?' }).waitFor()
    await assertWellFormed(page)
    await saveScreenshot(page, 'others-link')
    await page.getByRole('button', { name: 'Link Corp', exact: true }).click()
    await page.getByRole('heading', { name: /asks for access to your account/ }).waitFor()
    const arrived = page.waitForRequest(sent => sent.url().startsWith('http://127.0.0.1:9/callback'))
    await page.route('http://127.0.0.1:9/**', route => route.fulfill({ body: 'Back at the app' }))
    await page.getByRole('button', { name: 'Allow' }).click()
    assert.match((await arrived).url(), /[?&]code=/)
  })
})
