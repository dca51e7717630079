/** A user, a browser and a third-party app. */
import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { type TestService, withService } from '../../server/serve/service.ts'
import { type OtherApp, withApp } from './app.ts'
import { openBrowser } from './chromium.ts'
import { openVisitor, saveScreenshot, type Visitor } from './visitor.ts'

let browser: Browser

/** Opens the browser of a test file, for all of its tests. */
export function shareBrowser(): void {
  before(async () => {
    browser = await openBrowser()
  })
  after(() => browser.close())
}

export const password = 'correct horse battery'
export const back = { name: 'Back at the app' }

/** A visitor with cookies of their own, in the shared browser. */
export const openAnotherVisitor = (): Promise<Visitor> => openVisitor(browser)

export interface Fixture extends Visitor {
  readonly service: TestService
  readonly app: OtherApp
}

export async function withFixture(
  options: BrowserContextOptions,
  use: (fixture: Fixture) => Promise<void>,
): Promise<void> {
  await withService({ rateLimit: 'off', 'theme.name': 'Blog' }, service =>
    withApp(service, async app => {
      const visit = await openVisitor(browser, options)
      try {
        await use({ ...visit, service, app })
        assert.deepEqual(visit.faults, [])
      } finally {
        await visit.context.close()
      }
    }),
  )
}

export async function signUp(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Create one' }).click()
  await page.getByLabel('Your name').fill('Ada Lovelace')
  await page.getByLabel('E-mail address').fill('ada@example.com')
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Create account' }).click()
  await signInAfterSignUp(page)
}

/** Sign-up does not reveal whether an account existed, so the user then signs in. */
export async function signInAfterSignUp(
  page: Page,
  assertPage?: (screenshot: string) => Promise<void>,
): Promise<void> {
  await page.getByText('Sign in with the password that you have just chosen').waitFor()
  await assertPage?.('signed-up')
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

export async function signIn(page: Page): Promise<void> {
  await page.getByLabel('E-mail address').fill('ada@example.com')
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

export async function allow(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByRole('heading', back).waitFor()
}

export async function statusWith(
  { service }: Fixture,
  token: string,
  path = '/api/v1/posts',
): Promise<number> {
  return (await service.call(path, { key: token })).status
}

/** From the sign-up to the revocation; between them, the app calls the API. */
export async function connectAndDisconnect(options: BrowserContextOptions): Promise<void> {
  await withFixture(options, async fixture => {
    const { page, app } = fixture
    await page.goto(app.authorizeUrl('openid profile read:post write:post'))
    await saveScreenshot(page, 'sign-in')
    await signUp(page)
    await page.getByRole('heading', { name: 'Reading List asks for access to your account' }).waitFor()
    await saveScreenshot(page, 'consent')
    await page.getByText('You are signed in as ada@example.com.').waitFor()
    await allow(page)
    assert.equal(app.arrived().get('state'), 'a state')
    const token = await app.accessToken()
    assert.equal(await statusWith(fixture, token), 200)
    const { json } = await fixture.service.call('/api/v1/posts', {
      method: 'POST',
      key: token,
      body: { title: 'Written by an app' },
    })
    assert.equal(json.title, 'Written by an app')

    await page.goto(`${fixture.service.url}/account/apps`)
    await saveScreenshot(page, 'apps')
    await page.getByRole('heading', { name: 'Reading List' }).waitFor()
    await page.getByRole('button', { name: 'Disconnect Reading List' }).click()
    await page.getByText('The app is disconnected.').waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Reading List' }).count(), 0)
    assert.equal(await statusWith(fixture, token), 401)
  })
}
