/** The pages of a user’s own keys, apps, webhooks and profile in a browser: by keyboard, accessible, wide and narrow. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import type { ServeOptions } from '../../../src/server/serve/service.ts'
import { withService } from '../../server/serve/service.ts'
import { openBrowser } from './chromium.ts'
import { assertWellFormed, chosenScreens, openVisitor, type Screens, saveScreenshot } from './visitor.ts'

let browser: Browser
before(async () => {
  browser = await openBrowser()
})
after(() => browser.close())

const password = 'correct horse battery'
const hostile = `<img src=x onerror=alert(1)> ${'شركة '.repeat(14)}`.slice(0, 100).trim()

async function signUp(page: Page, url: string, next: string): Promise<void> {
  await page.goto(`${url}/account/sign-up`)
  await page.getByLabel('Your name').fill('Ada Lovelace')
  await page.getByLabel('E-mail address').fill('ada@example.com')
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByText('Sign in with the password that you have just chosen').waitFor()
  await page.goto(url + next)
  await page.getByLabel('E-mail address').fill('ada@example.com')
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
}

type Look = (shot: string) => Promise<void>

async function clipboard(page: Page): Promise<string> {
  return String(await page.evaluate('navigator.clipboard.readText()'))
}

/** Creates the first key by keyboard only. */
async function firstKey(page: Page, look: Look): Promise<void> {
  await page.getByRole('heading', { name: 'New API key' }).waitFor()
  await look('key-new')
  await page.getByRole('textbox', { name: 'Name' }).focus()
  await page.keyboard.type('First key')
  await page.keyboard.press('Tab')
  await page.keyboard.press('ArrowUp')
  assert.equal(await page.getByLabel('Expires').inputValue(), '30')
  await page.locator('#level-post-none').focus()
  await page.keyboard.press('ArrowDown')
  assert.equal(await page.locator('#level-post-read').isChecked(), true)
  await page.getByRole('textbox', { name: 'Name' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Your new key' }).waitFor()
  await look('key-made')
  await page.getByRole('button', { name: 'Copy: API key' }).click()
  assert.match(await clipboard(page), /^pk_\w{38}$/)
  await page.getByRole('button', { name: 'Copy: Try it in a terminal' }).click()
  const { stdout } = await promisify(execFile)('sh', ['-c', await clipboard(page)])
  assert.ok(Array.isArray(JSON.parse(stdout).data), stdout)
}

async function keys(page: Page, look: Look, url: string): Promise<void> {
  await page.goto(`${url}/account/keys/new`)
  await page.evaluate("document.querySelector('main > form').noValidate = true")
  await page.getByRole('button', { name: 'Create the key' }).click()
  await page.getByRole('link', { name: 'Enter a name.' }).waitFor()
  await look('key-faults')
  await page.getByRole('link', { name: 'Enter a name.' }).click()
  assert.equal(await page.evaluate('document.activeElement.id'), 'name')
  await page.getByRole('textbox', { name: 'Name' }).fill(hostile)
  await page.getByLabel('Everything that you may do').check()
  await page.getByLabel('Expires').selectOption('never')
  await page.getByRole('button', { name: 'Create the key' }).click()
  await page.getByRole('link', { name: 'I have saved it' }).click()
  await look('keys')
  await page.getByRole('link', { name: /^Revoke <img/ }).click()
  await look('key-revoke')
  await page.getByRole('button', { name: 'Revoke the key' }).click()
  await page.getByText('The key is revoked').waitFor()
}

async function developer(page: Page, look: Look, url: string): Promise<void> {
  await page.goto(`${url}/account/developer`)
  await look('developer-empty')
  await page.getByRole('link', { name: 'Register an app' }).click()
  await look('app-new')
  await page.getByRole('textbox', { name: 'Name' }).fill(hostile)
  await page.getByLabel('Redirect URIs').fill('http://app.example.com/callback\nhttps://app.example.com/#x')
  await page.getByRole('button', { name: 'Register the app' }).click()
  await page.getByRole('heading', { name: 'There is a problem' }).waitFor()
  await look('app-faults')
  await page.getByLabel('Redirect URIs').fill('https://app.example.com/callback')
  await page.getByRole('button', { name: 'Register the app' }).click()
  await page.getByRole('heading', { name: 'First requests' }).waitFor()
  await look('app')
  await page.getByRole('button', { name: 'New secret' }).click()
  await page
    .getByRole('link', { name: /^End the secret/ })
    .last()
    .waitFor()
  await look('app-secrets')
  await page
    .getByRole('link', { name: /^End the secret/ })
    .last()
    .click()
  await look('secret-end')
  await page.getByRole('button', { name: 'End the secret' }).click()
  await page.getByRole('link', { name: /^Edit/ }).click()
  await look('app-edit')
  await page.getByText('More settings').click()
  await page.getByLabel('Ask for these scopes:').check()
  await page.getByLabel('Default scopes').fill('openid profile')
  await look('app-more')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Your changes are saved').waitFor()
  await look('app-saved')
  await page.goto(`${url}/account/developer`)
  await look('developer')
  await page.getByRole('link', { name: hostile }).click()
  await page.getByRole('link', { name: 'Delete the app' }).click()
  await look('app-delete')
}

async function webhooks(page: Page, look: Look, url: string): Promise<void> {
  await page.goto(`${url}/account/webhooks/new`)
  await look('webhook-new')
  await page.getByLabel('Address').fill(`${url}/${'long/'.repeat(40)}`)
  await page.getByLabel('Description').fill(hostile)
  await page.locator('#type-post-all').check()
  await page.getByRole('button', { name: 'Add the webhook' }).click()
  await page.getByRole('heading', { name: 'Last deliveries' }).waitFor()
  await look('webhook-made')
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.getByText('A test was sent').waitFor()
  await look('webhook')
  await page.goto(`${url}/account/webhooks`)
  await look('webhooks')
  await page.getByRole('link', { name: /^127\.0\.0\.1:/ }).click()
  await page.getByRole('link', { name: 'Delete' }).click()
  await look('webhook-delete')
}

async function profile(page: Page, look: Look, url: string): Promise<void> {
  await page.goto(`${url}/account/profile`)
  await look('profile')
  await page.getByLabel('New address').fill('ada.new@example.com')
  await page.getByRole('button', { name: 'Change the address' }).click()
  await page.getByText('We have sent a link').waitFor()
  await look('profile-waiting')
  await page.getByRole('link', { name: 'Download your data' }).click()
  await look('export')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download' }).click(),
  ])
  assert.match(download.suggestedFilename(), /^account-\d+-.*\.json$/)
  await page.goto(`${url}/account/profile/delete`)
  await look('delete')
  await page.getByLabel('Your e-mail address').fill('somebody@example.com')
  await page.getByRole('button', { name: 'Delete my account' }).click()
  await page.getByRole('link', { name: 'This is not the address of your account.' }).waitFor()
  await look('delete-fault')
  await page.getByLabel('Your e-mail address').fill('ada@example.com')
  await page.getByRole('button', { name: 'Delete my account' }).click()
  await page.getByRole('heading', { name: 'Your account is deleted' }).waitFor()
  await look('deleted')
}

const screens: Screens = {
  'wide-light': { viewport: { width: 1200, height: 800 } },
  'narrow-dark': { viewport: { width: 320, height: 640 }, colorScheme: 'dark' },
}

for (const [name, options] of chosenScreens(screens, 'narrow-dark')) {
  test(`a user creates keys, apps and webhooks and deletes the account, on accessible pages: ${name}`, async () => {
    const settings: ServeOptions = {
      ...{ rateLimit: 'off', 'theme.name': 'Blog', 'webhooks.allowPrivate': true },
      // The mail server never answers: the pages only need one to be set.
      ...{ 'mail.smtp': 'smtp://127.0.0.1:9', 'accounts.signUp': 'open' },
    }
    await withService(settings, async ({ url }) => {
      const permissions = ['clipboard-read', 'clipboard-write']
      const { context, page, faults } = await openVisitor(browser, { ...options, permissions })
      const look: Look = async shot => {
        await assertWellFormed(page)
        await saveScreenshot(page, `own-${name}-${shot}`)
      }
      try {
        await signUp(page, url, '/account/keys/new')
        await firstKey(page, look)
        await keys(page, look, url)
        await developer(page, look, url)
        await webhooks(page, look, url)
        await profile(page, look, url)
        assert.deepEqual(faults, [])
      } finally {
        await context.close()
      }
    })
  })
}
