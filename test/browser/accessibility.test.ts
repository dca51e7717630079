/** The pages that the way of an app does not pass: each without a fault of axe-core, light and dark, 320 pixels wide. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { createAddresses } from '../../src/auth/accounts/addresses.ts'
import { createTokens } from '../../src/auth/accounts/link-tokens.ts'
import { createKey } from '../../src/auth/bootstrap.ts'
import { checkModel } from '../../src/model/check.ts'
import { createGuard } from '../../src/plan/guard.ts'
import { createRun } from '../../src/serve/store.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import asking from '../models/asking.ts'
import { type TestService, withService } from '../serve/service.ts'
import { openBrowser } from './chromium.ts'
import { assertSound, shoot, visitor } from './visitor.ts'

let browser: Browser
before(async () => {
  browser = await openBrowser()
})
after(() => browser.close())

const password = 'correct horse battery'
const email = 'ada@example.com'

/** A link as it would stand in a mail. */
async function resetToken(file: string, userId: number): Promise<string> {
  const store = openSqlite(checkModel(asking), { file })
  try {
    return await createTokens(store.records).issue(
      'PasswordReset',
      { userId, email },
      { owner: String(userId) },
    )
  } finally {
    await store.close()
  }
}

const longName = 'Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunt'

/** Apps that the user has connected, one with a picture that is not there. Returns their client ids. */
async function connectApps({ file, call, key }: TestService, userId: number): Promise<readonly string[]> {
  const make = async (name: string, more: object) => {
    const body = { name, type: 'public', redirect_uris: ['https://app.example.com/cb'], ...more }
    const { json, text } = await call('/api/v1/oauth_apps', { method: 'POST', key, body })
    assert.ok(json.client_id, text)
    return String(json.client_id)
  }
  const ids = [
    await make(longName, { homepage_uri: 'https://app.example.com' }),
    await make('تطبيق القراءة الطويل', { logo_uri: 'https://logo.example.com/none.png' }),
  ]
  const store = openSqlite(checkModel(asking), { file })
  const owner = String(userId)
  const scopes = ['openid', 'profile', 'email', 'offline_access', 'read:user', 'write:user', 'write:webhook']
  try {
    for (const clientId of ids) {
      const payload = JSON.stringify({ clientId, scopes, at: Date.now() })
      await store.records.put({
        kind: 'Consent',
        id: `${owner}:${clientId}`,
        payload,
        expiresAt: null,
        owner,
      })
    }
  } finally {
    await store.close()
  }
  return ids
}

/** The first pages of an account; in one of the colour schemes wide too. */
async function firstPages(
  page: Page,
  look: (shot: string) => Promise<void>,
  url: string,
  isWideToo: boolean,
): Promise<void> {
  const narrow = page.viewportSize()
  for (const [shot, path] of [
    ['overview', '/account'],
    ['sessions', '/account/sessions'],
    ['apps', '/account/apps'],
    ['sent', '/account/security?done=sent'],
  ] as const) {
    await page.goto(url + path)
    await page.getByRole('heading', { name: /Confirm your e-mail address|Look into your mail/ }).waitFor()
    await look(shot)
    if (!isWideToo || !narrow) continue
    await page.setViewportSize({ width: 1280, height: 800 })
    await look(`${shot}-wide`)
    await page.setViewportSize(narrow)
  }
}

/** What went wrong, unfolded. */
async function errors(
  page: Page,
  look: (shot: string) => Promise<void>,
  url: string,
  [clientId = '']: readonly string[],
): Promise<void> {
  const elsewhere = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: 'https://evil.example.com',
    scope: 'openid',
  })
  for (const [shot, path] of [
    ['error-app', '/oauth/authorize?client_id=nobody'],
    ['error-address', `/oauth/authorize?${elsewhere}`],
    ['error-interaction', '/oauth/interaction/abcdefghijklmnopqrstu'],
    ['error-404', '/account/nothing'],
  ] as const) {
    await page.goto(url + path)
    await page.locator('details summary').click()
    await look(shot)
  }
}

/** A key, and an address that waits for its link, whose token is returned. */
async function plant(file: string, userId: number): Promise<string> {
  const model = checkModel(asking)
  const store = openSqlite(model, { file })
  try {
    await createKey(createRun(createGuard(model), store), userId, { name: 'a key', scopes: ['*'] })
    const fresh = 'ada.new@example.com'
    await createAddresses(store.records).wait(userId, fresh)
    const claimed = { userId, email: fresh, isNew: true }
    return await createTokens(store.records).issue('AddressVerification', claimed, { owner: String(userId) })
  } finally {
    await store.close()
  }
}

async function newAddress(page: Page, look: (shot: string) => Promise<void>, service: TestService) {
  const { url, file } = service
  const token = await plant(file, 2)
  await page.goto(`${url}/account`)
  await page.getByRole('heading', { name: 'New address' }).waitFor()
  await look('account-waiting')
  await page.goto(`${url}/account/verify?token=${token}`)
  await look('verify-new')
  await page.getByLabel('Your password').fill('not that one')
  await page.getByRole('button', { name: 'Confirm the address' }).click()
  await page.getByRole('link', { name: 'This is not your password.' }).waitFor()
  await look('verify-new-fault')
  await page.goto(`${url}/account/security`)
  await page.getByLabel('Revoke my API key too').waitFor()
  await look('security-with-key')
}

async function signUp(page: Page, look: (shot: string) => Promise<void>, url: string): Promise<void> {
  await page.goto(`${url}/account/sign-up`)
  await look('sign-up')
  await page.evaluate('document.forms[0].noValidate = true')
  await page.getByLabel('Your age').fill('seven')
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('link', { name: /^Your handle: an answer is needed/ }).waitFor()
  await look('sign-up-faults')
  // The fault is read out with its field, and the summary leads to it.
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
  await look('signed-up')
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Your account' }).waitFor()
}

/** Turns on one-time codes; returns the secret. */
async function turnOnCodes(page: Page, look: (shot: string) => Promise<void>, url: string): Promise<string> {
  await page.goto(`${url}/account/security`)
  await page.getByRole('button', { name: 'Turn on one-time codes' }).click()
  await page.getByRole('heading', { name: 'Turn on one-time codes' }).waitFor()
  const secret = ((await page.locator('.secret').textContent()) ?? '').replaceAll(/\s/g, '')
  await page.getByLabel('Code', { exact: true }).fill('000000')
  await page.locator('main button:not(.plain):not(.danger)').last().click()
  await page.getByRole('heading', { name: 'There is a problem' }).waitFor()
  await look('totp-fault')
  await page
    .getByLabel('Code', { exact: true })
    .fill(new TOTP({ secret: Secret.fromBase32(secret) }).generate())
  await page.locator('main button:not(.plain):not(.danger)').last().click()
  await page.locator('.codes').waitFor()
  await look('recovery-codes')
  await page.goto(`${url}/account/security`)
  await look('security-with-codes')
  return secret
}

async function reset(page: Page, look: (shot: string) => Promise<void>, service: TestService): Promise<void> {
  const { url, file } = service
  await page.goto(`${url}/account/reset`)
  await page.getByLabel('E-mail address').fill('nobody@example.com')
  await page.locator('main button').click()
  await page.getByRole('heading', { name: 'Look into your mail' }).waitFor()
  await look('reset-sent')
  await page.goto(`${url}/account/reset?token=${'x'.repeat(43)}`)
  await look('reset-over')
  await page.goto(`${url}/account/reset?token=${await resetToken(file, 2)}`)
  await look('reset-link')
  await page.evaluate('document.forms[0].noValidate = true')
  await page.locator('main button').click()
  await page.getByRole('heading', { name: 'There is a problem' }).waitFor()
  await look('reset-fault')
  await page.getByLabel('New password').fill('a staple in the meadow')
  await page.locator('main button').click()
  await page.getByRole('heading', { name: 'Your password is set' }).waitFor()
  await look('reset-done')
  await page.goto(`${url}/account/verify?token=${'x'.repeat(43)}`)
  await look('verify-over')
}

const screens: Readonly<Record<string, BrowserContextOptions>> = {
  light: { viewport: { width: 320, height: 640 } },
  dark: { viewport: { width: 320, height: 640 }, colorScheme: 'dark' },
}

for (const [name, options] of Object.entries(screens)) {
  test(`every other page is without a fault: ${name}, 320 pixels wide`, async () => {
    await withService(
      { rateLimit: 'off', 'theme.colour': '#ffd54a' },
      async service => {
        const { context, page, faults } = await visitor(browser, options)
        const look = async (shot: string) => {
          await assertSound(page)
          await shoot(page, `other-${name}-${shot}`)
        }
        try {
          const { url } = service
          await signUp(page, look, url)
          const secret = await turnOnCodes(page, look, url)
          const apps = await connectApps(service, 2)
          await page.route('https://logo.example.com/**', route => route.fulfill({ status: 404 }))
          await firstPages(page, look, url, name === 'light')
          await errors(page, look, url, apps)
          await newAddress(page, look, service)
          await page.goto(`${url}/oauth/logout`)
          await look('sign-out')
          await page.locator('main button').first().click()
          await page.waitForLoadState()
          await look('signed-out')
          await page.goto(`${url}/account/sign-in`)
          await page.getByLabel('E-mail address').fill(email)
          await page.getByLabel('Password').fill(password)
          await page.getByRole('button', { name: 'Sign in', exact: true }).click()
          await page.getByRole('heading', { name: 'Your one-time code' }).waitFor()
          await look('second-factor')
          assert.match(secret, /^[A-Z2-7]+$/)
          await reset(page, look, service)
          await page.goto(`${url}/oauth/device?user_code=WRNG-CODE`)
          await look('device-code')
          await page.locator('main button').first().click()
          await page.waitForLoadState()
          await look('device-fault')
          assert.deepEqual(faults, [])
        } finally {
          await context.close()
        }
      },
      asking,
    )
  })
}

test('what looks at the pages sees what is wrong', async () => {
  await withService({ rateLimit: 'off' }, async ({ url }) => {
    const { context, page } = await visitor(browser, {})
    try {
      await page.goto(`${url}/account/sign-in`)
      await assertSound(page)
      await page.evaluate("document.querySelector('label[for=email]').removeAttribute('for')")
      await assert.rejects(assertSound(page), /label|nameless|email/)
      await page.reload()
      await page.evaluate(
        "document.querySelector('input[name=email]').setAttribute('aria-describedby', 'nowhere'); document.querySelector('h1').outerHTML = '<h1>Sign in</h1><ul><p>x</p></ul>'",
      )
      await assert.rejects(assertSound(page), /list: |aria-valid-attr-value/)
    } finally {
      await context.close()
    }
  })
})
