/** Accessibility of the pages that the OAuth tests do not visit: axe-core finds nothing, light and dark, 320 pixels wide. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import type { Browser, Page, Route } from 'playwright-core'
import { ApiError } from '../../../src/base/errors.ts'
import { english } from '../../../src/identity/mail/page-texts.ts'
import type { ServeOptions } from '../../../src/server/serve/service.ts'
import { errorPageReply } from '../../../src/web/pages/frame/error-reply.ts'
import { providers } from '../../identity/accounts/providers/stub.ts'
import asking from '../../models/sign-up-fields.ts'
import { type TestService, withService } from '../../server/serve/service.ts'
import { addAccountData, connectApps, email, resetToken } from './account-data.ts'
import { openBrowser } from './chromium.ts'
import { assertWellFormed, chosenScreens, openVisitor, type Screens, saveScreenshot } from './visitor.ts'

let browser: Browser
before(async () => {
  browser = await openBrowser()
})
after(() => browser.close())

const password = 'correct horse battery'

/** The overview pages of an account; with `isWideToo`, wide as well as narrow. */
async function firstPages(
  page: Page,
  assertPage: (screenshot: string) => Promise<void>,
  url: string,
  isWideToo: boolean,
): Promise<void> {
  const narrow = page.viewportSize()
  for (const [screenshot, path] of [
    ['overview', '/account'],
    ['sessions', '/account/sessions'],
    ['apps', '/account/apps'],
    ['sent', '/account/security?done=sent'],
  ] as const) {
    await page.goto(url + path)
    await page.getByRole('heading', { name: /Confirm your e-mail address|Check your mail/ }).waitFor()
    await assertPage(screenshot)
    if (!isWideToo || !narrow) continue
    await page.setViewportSize({ width: 1280, height: 800 })
    await assertPage(`${screenshot}-wide`)
    await page.setViewportSize(narrow)
  }
}

/** Error pages, with their details open. */
async function errors(
  page: Page,
  assertPage: (screenshot: string) => Promise<void>,
  url: string,
  [clientId = '']: readonly string[],
): Promise<void> {
  const elsewhere = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: 'https://evil.example.com',
    scope: 'openid',
  })
  for (const [screenshot, path] of [
    ['error-app', '/oauth/authorize?client_id=nobody'],
    ['error-address', `/oauth/authorize?${elsewhere}`],
    ['error-interaction', '/oauth/interaction/abcdefghijklmnopqrstu'],
    ['error-404', '/account/nothing'],
  ] as const) {
    await page.goto(url + path)
    await page.locator('details summary').click()
    await assertPage(screenshot)
  }
}

/** Error pages of faults that a test cannot cause in a service. */
async function serviceErrors(
  page: Page,
  assertPage: (screenshot: string) => Promise<void>,
  url: string,
): Promise<void> {
  const theme = { name: 'Portico', logo: undefined, colour: '#ffd54a' }
  const frame = { theme, explorer: true, guides: true }
  const path = '/account/failing'
  for (const error of [new Error('secret'), new ApiError('RATE_LIMITED'), new ApiError('UNAVAILABLE')]) {
    const { status, body } = errorPageReply(frame, english, error, { requestId: 'a-request', path })
    await page.route(url + path, route => route.fulfill({ contentType: 'text/html', body: String(body) }))
    await page.goto(url + path)
    await assertPage(`error-${status}`)
    await page.unroute(url + path)
  }
}

async function newAddress(
  page: Page,
  assertPage: (screenshot: string) => Promise<void>,
  service: TestService,
) {
  const { url, file } = service
  const token = await addAccountData(file, 2)
  await page.goto(`${url}/account`)
  await page.getByRole('heading', { name: 'New address' }).waitFor()
  await assertPage('account-waiting')
  await page.goto(`${url}/account/verify?token=${token}`)
  await assertPage('verify-new')
  await page.getByLabel('Your password').fill('not that one')
  await page.getByRole('button', { name: 'Confirm the address' }).click()
  await page.getByRole('link', { name: 'This is not your password.' }).waitFor()
  await assertPage('verify-new-fault')
  await page.goto(`${url}/account/security`)
  await page.getByLabel('Revoke my API key too').waitFor()
  await assertPage('security-with-key')
}

async function signUp(
  page: Page,
  assertPage: (screenshot: string) => Promise<void>,
  url: string,
): Promise<void> {
  await page.goto(`${url}/account/sign-up`)
  await assertPage('sign-up')
  await page.evaluate('for (const form of document.forms) form.noValidate = true')
  await page.getByLabel('Your age').fill('seven')
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('link', { name: /^Your handle is required/ }).waitFor()
  await assertPage('sign-up-faults')
  // The fault is read out with its field, and the summary links to it.
  assert.equal(await page.getByLabel('Your age').getAttribute('aria-invalid'), 'true')
  await page.getByRole('link', { name: /^About you/ }).click()
  assert.equal(await page.evaluate('document.activeElement.id'), 'field_about')
  const answers = {
    'Your name': 'Ada Lovelace',
    'E-mail address': email,
    Password: password,
    'Your handle': 'ada',
    'Company name': 'Engines',
    'About you': 'Several\nlines',
    'Your age': '36',
    'Your height in metres': '1.65',
    Birthday: '1815-12-10',
    'When did you hear of us?': '2026-01-31T12:00:00Z',
    'Your page': 'https://example.com/ada',
    'Device number': 'f81d4fae-7dec-41d0-a765-00a0c91e6bf6',
  }
  for (const [label, value] of Object.entries(answers))
    await page.getByLabel(label, { exact: true }).fill(value)
  await page.getByLabel('Plan').selectOption('team')
  await page.getByLabel('Send me news').check()
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByText('Sign in with the password that you have just chosen').waitFor()
  await assertPage('signed-up')
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Your account' }).waitFor()
}

/** Turns on one-time codes; returns the secret. */
async function turnOnCodes(
  page: Page,
  assertPage: (screenshot: string) => Promise<void>,
  url: string,
): Promise<string> {
  await page.goto(`${url}/account/security`)
  await page.getByRole('button', { name: 'Turn on one-time codes' }).click()
  await page.getByRole('heading', { name: 'Turn on one-time codes' }).waitFor()
  const secret = ((await page.locator('.secret').textContent()) ?? '').replaceAll(/\s/g, '')
  await page.getByLabel('Code', { exact: true }).fill('000000')
  await page.locator('main button:not(.plain):not(.danger)').last().click()
  await page.getByRole('heading', { name: 'There is a problem' }).waitFor()
  await assertPage('totp-fault')
  await page
    .getByLabel('Code', { exact: true })
    .fill(new TOTP({ secret: Secret.fromBase32(secret) }).generate())
  await page.locator('main button:not(.plain):not(.danger)').last().click()
  await page.locator('.codes').waitFor()
  await assertPage('recovery-codes')
  await keepCodes(page)
  await page.goto(`${url}/account/security`)
  await assertPage('security-with-codes')
  return secret
}

/** The codes as a file, by a plain link, and on the clipboard. */
async function keepCodes(page: Page): Promise<void> {
  const codes = await page.locator('.codes li').allTextContents()
  assert.equal(new Set(codes).size, 10)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download' }).click(),
  ])
  assert.equal(download.suggestedFilename(), 'recovery-codes.txt')
  const file = readFileSync(await download.path(), 'utf8')
  assert.deepEqual(file.trim().split('\n').slice(2), codes)
  assert.match(file, new RegExp(`^Recovery codes for ${email}\n\n`))
  await page.getByRole('button', { name: 'Copy: Your recovery codes' }).click()
  await page.getByText('Copied').waitFor()
  const copied = String(await page.evaluate('navigator.clipboard.readText()'))
  assert.deepEqual(copied.split('\n'), codes)
}

async function reset(
  page: Page,
  assertPage: (screenshot: string) => Promise<void>,
  service: TestService,
): Promise<void> {
  const { url, file } = service
  await page.goto(`${url}/account/reset`)
  await page.getByLabel('E-mail address').fill('nobody@example.com')
  await page.locator('main button').click()
  await page.getByRole('heading', { name: 'Check your mail' }).waitFor()
  await assertPage('reset-sent')
  await page.goto(`${url}/account/reset?token=${'x'.repeat(43)}`)
  await assertPage('reset-over')
  await page.goto(`${url}/account/reset?token=${await resetToken(file, 2)}`)
  await assertPage('reset-link')
  await page.evaluate('document.forms[0].noValidate = true')
  await page.locator('main button').click()
  await page.getByRole('heading', { name: 'There is a problem' }).waitFor()
  await assertPage('reset-fault')
  await page.getByLabel('New password').fill('a staple in the meadow')
  await page.locator('main button').click()
  await page.getByRole('heading', { name: 'Your password is set' }).waitFor()
  await assertPage('reset-done')
  await page.goto(`${url}/account/verify?token=${'x'.repeat(43)}`)
  await assertPage('verify-over')
}

/** A device is refused after the page has shown what it is. */
async function refuseDevice(
  page: Page,
  assertPage: (screenshot: string) => Promise<void>,
  url: string,
  [clientId = '']: readonly string[],
): Promise<void> {
  const body = new URLSearchParams({ client_id: clientId, scope: 'openid' })
  const response = await fetch(`${url}/oauth/device`, { method: 'POST', body })
  const { user_code: code } = (await response.json()) as { user_code?: string }
  assert.ok(code)
  await page.goto(`${url}/oauth/device`)
  await page.getByLabel('Code').fill(code)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('Does your device show this code?').waitFor()
  await assertPage('device-confirm')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('heading', { name: 'You have stopped this' }).waitFor()
  await assertPage('device-stopped')
}

const drawing =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M4 0 8 8H0z" fill="#0b6b5b"/></svg>'

/** The service has a logo; that of one app does not exist. */
function logo(route: Route): Promise<void> {
  if (!route.request().url().endsWith('/service.svg')) return route.fulfill({ status: 404 })
  return route.fulfill({ contentType: 'image/svg+xml', body: drawing })
}

const appearance: ServeOptions = {
  // The mail server never answers: the pages only need one to be set.
  ...{ 'mail.smtp': 'smtp://127.0.0.1:9', 'accounts.signUp': 'open' },
  ...{ rateLimit: 'off', 'theme.colour': '#ffd54a', 'theme.logo': 'https://logo.example.com/service.svg' },
  ...{
    secretKeys: ['the-key-of-tests-of-every-page-of-an-account'],
    'accounts.providers': providers.slice(0, 4),
  },
}

const screens: Screens = {
  light: { viewport: { width: 320, height: 640 } },
  dark: { viewport: { width: 320, height: 640 }, colorScheme: 'dark' },
}

for (const [name, options] of chosenScreens(screens, 'light')) {
  test(`every other page is accessible: ${name}, 320 pixels wide`, async () => {
    await withService(
      appearance,
      async service => {
        const permissions = ['clipboard-read', 'clipboard-write']
        const { context, page, faults } = await openVisitor(browser, { ...options, permissions })
        await page.route('https://logo.example.com/**', logo)
        const assertPage = async (screenshot: string) => {
          await assertWellFormed(page)
          await saveScreenshot(page, `other-${name}-${screenshot}`)
        }
        try {
          const { url } = service
          await signUp(page, assertPage, url)
          const secret = await turnOnCodes(page, assertPage, url)
          const apps = await connectApps(service, 2)
          await firstPages(page, assertPage, url, name === 'light')
          await errors(page, assertPage, url, apps)
          await serviceErrors(page, assertPage, url)
          await newAddress(page, assertPage, service)
          await page.goto(`${url}/account/sign-in?confirm=yes`)
          await page.getByRole('heading', { name: /^Confirm it’s you, / }).waitFor()
          await assertPage('confirm')
          await page.goto(`${url}/no/such/page`)
          await page.getByRole('heading', { name: 'There is nothing here' }).waitFor()
          await assertPage('not-found')
          await page.goto(`${url}/oauth/logout`)
          await assertPage('sign-out')
          await page.locator('main button').first().click()
          await page.waitForLoadState()
          await assertPage('signed-out')
          await page.goto(`${url}/account/sign-in`)
          await page.getByLabel('E-mail address').fill(email)
          await page.getByLabel('Password').fill(password)
          await page.getByRole('button', { name: 'Sign in', exact: true }).click()
          await page.getByRole('heading', { name: 'Your one-time code' }).waitFor()
          await assertPage('second-factor')
          assert.match(secret, /^[A-Z2-7]+$/)
          await reset(page, assertPage, service)
          await page.goto(`${url}/oauth/device?user_code=WRNG-CODE`)
          await assertPage('device-code')
          await page.locator('main button').first().click()
          await page.waitForLoadState()
          await assertPage('device-fault')
          await refuseDevice(page, assertPage, url, apps)
          assert.deepEqual(faults, [])
        } finally {
          await context.close()
        }
      },
      asking,
    )
  })
}

test('assertSound detects a missing label, an invalid aria-describedby and an invalid list', async () => {
  await withService({ rateLimit: 'off' }, async ({ url }) => {
    const { context, page } = await openVisitor(browser, {})
    try {
      await page.goto(`${url}/account/sign-in`)
      await assertWellFormed(page)
      await page.evaluate("document.querySelector('label[for=email]').removeAttribute('for')")
      await assert.rejects(assertWellFormed(page), /label|nameless|email/)
      await page.reload()
      await page.evaluate(
        "document.querySelector('input[name=email]').setAttribute('aria-describedby', 'nowhere'); document.querySelector('h1').outerHTML = '<h1>Sign in</h1><ul><p>x</p></ul>'",
      )
      await assert.rejects(assertWellFormed(page), /list: |aria-valid-attr-value/)
    } finally {
      await context.close()
    }
  })
})
