/** The React example in a browser: on another origin than the service, signed in with PKCE, updated by events. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { type TestService, withService } from '../../server/serve/service.ts'
import { openBrowser } from './chromium.ts'
import { type AppFile, type AppServer, buildApp, serveApp } from './react-app.ts'
import { openRelay, type Relay } from './relay.ts'
import { assertWellFormed, openVisitor, saveScreenshot } from './visitor.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const password = 'correct horse battery'
let browser: Browser
before(async () => {
  browser = await openBrowser()
})
after(() => browser.close())

/** Registers the app as its README says. */
async function clientIdFor({ call, key }: TestService, url: string): Promise<string> {
  const { json, text } = await call('/api/v1/oauth_apps', {
    method: 'POST',
    key,
    body: {
      name: 'Posts',
      type: 'public',
      redirect_uris: [`${url}/`],
      scopes: ['openid', 'offline_access', 'read:user', 'read:post', 'write:post'],
    },
  })
  assert.ok(json.client_id, text)
  return String(json.client_id)
}

interface Fixture {
  readonly service: TestService
  readonly relay: Relay
  readonly app: AppServer
}

async function withFixture(use: (fixture: Fixture) => Promise<void>): Promise<void> {
  const [relay, app] = [await openRelay(), await serveApp()]
  try {
    await withService({ rateLimit: 'off', baseUrl: relay.url }, async service => {
      relay.port = service.port
      const VITE_CLIENT_ID = await clientIdFor(service, app.url)
      app.files = await buildApp({ VITE_SERVICE_URL: relay.url, VITE_CLIENT_ID })
      await use({ service, relay, app })
    })
  } finally {
    await app.close()
    await relay.close()
  }
}

async function signUp(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Create one' }).click()
  await page.getByLabel('Your name').fill('Ada Lovelace')
  await page.getByLabel('E-mail address').fill('ada@example.com')
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByText('Sign in with the password that you have just chosen').waitFor()
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByText('Ada Lovelace').waitFor()
}

const post = (page: Page, title: string) => page.getByRole('heading', { name: title, exact: true })

async function edit(page: Page, from: string, to: string): Promise<void> {
  await page.getByRole('button', { name: `Edit ${from}` }).click()
  await page.getByLabel('New title').fill(to)
  await page.getByRole('button', { name: 'Save' }).click()
}

/** Runs `use` while updates are held back. */
async function whileUpdatesWait(page: Page, use: () => Promise<void>): Promise<void> {
  const released = Promise.withResolvers<void>()
  await page.route('**/api/v1/posts/*', async route => {
    if (route.request().method() === 'PATCH') await released.promise
    await route.continue()
  })
  await use()
  released.resolve()
  await page.unrouteAll({ behavior: 'wait' })
}

/** The compressed size. */
function kilobytes(files: readonly AppFile[]): number {
  const bytes = files.map(({ content }) => gzipSync(content).length)
  return bytes.reduce((sum, length) => sum + length, 0) / 1000
}

/** The sizes that a page states. */
function sizesIn(page: string): readonly number[] {
  const sizes = /JavaScript of (\d+) kB compressed, of which\s+`portico\/client` is (\d+) kB/.exec(page)
  return [Number(sizes?.[1]), Number(sizes?.[2])]
}

test('the app lists, creates and edits posts, reverts a refused edit, shows events, and recovers from a lost connection', async () => {
  await withFixture(async ({ service, relay, app }) => {
    const { context, page, faults } = await openVisitor(browser)
    const write = (title: string) =>
      service.call('/api/v1/posts', { method: 'POST', key: service.key, body: { title } })
    try {
      await write('Written before')
      await page.goto(app.url)
      await page.getByText('Sign in to read').waitFor()
      await assertWellFormed(page)
      await signUp(page)
      await post(page, 'Written before').waitFor()
      assert.equal(await page.getByRole('button', { name: /^Edit/ }).count(), 0)
      assert.equal(new URL(page.url()).search, '')

      await page.setViewportSize({ width: 320, height: 640 })
      await page.emulateMedia({ colorScheme: 'dark' })
      await assertWellFormed(page)
      await saveScreenshot(page, 'react-narrow-dark')

      await page.getByLabel('Title of a new post').fill('First')
      await page.getByRole('button', { name: 'Post', exact: true }).click()
      await post(page, 'First').waitFor()
      await page.getByRole('button', { name: 'Edit First' }).waitFor()

      await whileUpdatesWait(page, async () => {
        await edit(page, 'First', 'Second')
        await post(page, 'Second').waitFor()
      })
      const tooLong = 'x'.repeat(201)
      await whileUpdatesWait(page, async () => {
        await edit(page, 'Second', tooLong)
        await post(page, tooLong).waitFor()
      })
      await page.getByRole('alert').getByText('title must have at most 200 characters.').waitFor()
      await post(page, 'Second').waitFor()
      await saveScreenshot(page, 'react-refused')

      await write('Written elsewhere')
      await post(page, 'Written elsewhere').waitFor()

      await page.getByText('Live').waitFor()
      relay.cut()
      await page.getByText('Connecting …').waitFor()
      await write('Written meanwhile')
      relay.restore()
      await page.getByText('Live').waitFor()
      await post(page, 'Written meanwhile').waitFor()
      await assertWellFormed(page)
      await saveScreenshot(page, 'react')

      await page.getByRole('button', { name: 'Delete Second' }).click()
      await post(page, 'Second').waitFor({ state: 'detached' })
      await page.reload()
      await page.getByText('Ada Lovelace').waitFor()
      await post(page, 'Written meanwhile').waitFor()
      assert.equal(await post(page, 'Second').count(), 0)
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      assert.deepEqual(
        faults.filter(fault => !/ERR_(CONNECTION|EMPTY|INCOMPLETE|SOCKET)/.test(fault)),
        [],
      )
    } finally {
      await context.close()
    }

    const scripts = app.files.filter(({ name }) => name.endsWith('.js'))
    const client = scripts.filter(({ name }) => name.includes('client'))
    const sizes = [scripts, client].map(files => Math.round(kilobytes(files)))
    for (const page of ['examples/react/README.md', 'docs/generate-client.md'])
      assert.deepEqual(sizesIn(readFileSync(join(root, page), 'utf8')), sizes, page)
  })
})
