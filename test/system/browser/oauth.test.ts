/** A user, a browser and a third-party app: from the sign-up to the revocation. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import {
  allow,
  back,
  connectAndDisconnect,
  openAnotherVisitor,
  password,
  shareBrowser,
  signIn,
  signInAfterSignUp,
  signUp,
  statusWith,
  withFixture,
} from './oauth.ts'
import { assertWellFormed, chosenScreens, type Screens, saveScreenshot } from './visitor.ts'

shareBrowser()

// With JavaScript, `npm test` runs it: test/system/smoke/consent.test.ts.
test('a user signs up, consents, and revokes the app, which calls the API in between; JavaScript off', () =>
  connectAndDisconnect({ javaScriptEnabled: false }))

test('an unticked scope is not granted, and the next consent marks only new scopes', async () => {
  await withFixture({}, async fixture => {
    const { page, app } = fixture
    await page.goto(app.authorizeUrl('openid profile read:post'))
    await signUp(page)
    await allow(page)
    await page.goto(app.authorizeUrl('openid profile read:post write:post read:user'))
    const fresh = page.locator('.choice', { has: page.locator('.new') })
    assert.equal(await fresh.count(), 2)
    await saveScreenshot(page, 'consent-new')
    await page.locator('input[name=scope][value="write:post"]').uncheck()
    await allow(page)
    const token = await app.accessToken()
    assert.equal(await statusWith(fixture, token, '/api/v1/users'), 200)
    const refused = await fixture.service.call('/api/v1/posts', {
      method: 'POST',
      key: token,
      body: { title: 'Not allowed' },
    })
    assert.equal(refused.code, 'INSUFFICIENT_SCOPE')
  })
})

test('Cancel returns access_denied to the app, and no code', async () => {
  await withFixture({}, async ({ page, app }) => {
    await page.goto(app.authorizeUrl('read:post'))
    await signUp(page)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('heading', back).waitFor()
    assert.equal(app.arrived().get('error'), 'access_denied')
    assert.equal(app.arrived().get('state'), 'a state')
    assert.equal(app.arrived().get('code'), null)
  })
})

/** Presses Tab until the element with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let count = 0; count < 40; count++) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate(`(() => { const at = document.activeElement
      return (at.ariaLabel || at.labels?.[0]?.textContent || at.textContent || '').trim() })()`)
    if (focused !== name) continue
    const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
    assert.equal(outline, 'solid', `${name} has no focus outline`)
    return
  }
  assert.fail(`${name} cannot be reached by Tab`)
}

test('every step works by keyboard, and the focus is visible', async () => {
  await withFixture({}, async fixture => {
    const { page, app } = fixture
    await page.goto(app.authorizeUrl('openid read:post write:post'))
    await tabTo(page, 'Create one')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /Create an account/ }).waitFor()
    for (const [label, value] of [
      ['Your name', 'Ada'],
      ['E-mail address', 'ada@example.com'],
      ['Password', password],
    ] as const) {
      await tabTo(page, label)
      await page.keyboard.type(value)
    }
    await page.keyboard.press('Enter')
    await page.getByText('Sign in with the password that you have just chosen').waitFor()
    await tabTo(page, 'Password')
    await page.keyboard.type(password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /asks for access/ }).waitFor()
    const box = page.locator('input[name=scope][value="write:post"]')
    const label = (await page.locator('.choice', { has: box }).textContent())?.trim() ?? ''
    await tabTo(page, label)
    await page.keyboard.press('Space')
    assert.equal(await box.isChecked(), false)
    await tabTo(page, 'Allow')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', back).waitFor()
    assert.equal(await statusWith(fixture, await app.accessToken()), 200)
    await page.goto(`${fixture.service.url}/account/apps`)
    await tabTo(page, 'Disconnect Reading List')
    await page.keyboard.press('Enter')
    await page.getByText('The app is disconnected.').waitFor()
  })
})

const screens: Screens = {
  wide: {},
  'narrow-dark': { viewport: { width: 320, height: 640 }, colorScheme: 'dark', reducedMotion: 'reduce' },
}

for (const [name, options] of chosenScreens(screens, 'wide')) {
  test(`every page of the flow is accessible: ${name}`, async () => {
    await withFixture(options, async ({ page, app, service }) => {
      const assertPage = async (screenshot: string) => {
        await assertWellFormed(page)
        await saveScreenshot(page, `${name}-${screenshot}`)
      }
      await page.goto(app.authorizeUrl('openid profile email offline_access read:user read:post write:post'))
      await assertPage('sign-in')
      await page.getByLabel('E-mail address').fill('nobody@example.com')
      await page.getByLabel('Password').fill('wrong')
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByText('The e-mail address or the password is wrong.').waitFor()
      assert.match(await page.title(), /^Error: /)
      await assertPage('sign-in-fault')
      await page.getByRole('link', { name: 'Create one' }).click()
      await page.getByRole('heading', { name: /Create an account/ }).waitFor()
      await page.evaluate('document.forms[0].noValidate = true')
      await page.getByRole('button', { name: 'Create account' }).click()
      await page.getByRole('link', { name: /^Enter your name/ }).waitFor()
      await assertPage('sign-up-fault')
      await page.getByRole('link', { name: /^Enter your name/ }).click()
      assert.equal(await page.evaluate('document.activeElement.id'), 'name')
      await page.getByLabel('Your name').fill('Ada Lovelace')
      await page.getByLabel('E-mail address').fill('ada@example.com')
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: 'Create account' }).click()
      await signInAfterSignUp(page, assertPage)
      await page.getByRole('heading', { name: /asks for access/ }).waitFor()
      await assertPage('consent')
      await allow(page)
      for (const path of ['', '/apps', '/sessions', '/security', '/reset', '/nothing-here']) {
        await page.goto(`${service.url}/account${path}`)
        await assertPage(path === '' ? 'account' : path.slice(1))
      }
      await page.goto(`${service.url}/account/security`)
      await page.getByRole('button', { name: 'Turn on one-time codes' }).click()
      await page.getByRole('heading', { name: 'Turn on one-time codes' }).waitFor()
      await assertPage('totp')
      await page.goto(`${service.url}/oauth/authorize?client_id=nobody`)
      await assertPage('protocol-error')
      await page.goto(`${service.url}/oauth/device/verify`)
      await assertPage('device')
      await page.goto(`${service.url}/account`)
      // On a narrow screen, a button opens the navigation.
      const opener = page.getByRole('button', { name: 'Menu' })
      if (await opener.isVisible()) await opener.click()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    })
  })
}

test('a password change in one browser ends the session in another, and the app’s token', async () => {
  await withFixture({}, async fixture => {
    const { page, app, service } = fixture
    await page.goto(app.authorizeUrl('openid read:post offline_access'))
    await signUp(page)
    await allow(page)
    const token = await app.accessToken()
    const other = await openAnotherVisitor()
    try {
      await other.page.goto(`${service.url}/account/security`)
      await signIn(other.page)
      await other.page.getByLabel('Current password').fill(password)
      await other.page.getByLabel('New password').fill('a staple in the meadow')
      await other.page.getByRole('button', { name: 'Change the password' }).click()
      await other.page.getByText('Your password is changed').waitFor()
      assert.equal(await statusWith(fixture, token), 401)
      await page.goto(`${service.url}/account`)
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      await other.page.goto(`${service.url}/account`)
      await other.page.getByRole('heading', { name: 'Your account' }).waitFor()
    } finally {
      await other.context.close()
    }
  })
})

test('a device is connected by its code, after the user has seen what it is', async () => {
  await withFixture({}, async fixture => {
    const { page, service } = fixture
    const created = await service.call('/api/v1/oauth_apps', {
      method: 'POST',
      key: service.key,
      body: {
        name: 'Television',
        type: 'public',
        redirect_uris: ['http://127.0.0.1/callback'],
        scopes: ['read:post'],
      },
    })
    assert.equal(created.status, 201, created.text)
    const clientId = String(created.json.client_id)
    const post = async (path: string, body: Record<string, string>) => {
      const response = await fetch(`${service.url}${path}`, {
        method: 'POST',
        body: new URLSearchParams(body),
      })
      return (await response.json()) as Readonly<Record<string, string>>
    }
    const device = await post('/oauth/device', { client_id: clientId, scope: 'read:post' })
    assert.ok(device.user_code, JSON.stringify(device))
    await page.goto(device.verification_uri ?? '')
    await page.getByLabel('Code').fill(device.user_code)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Connect Television?' }).waitFor()
    await assertWellFormed(page)
    await saveScreenshot(page, 'device-confirm')
    await page.getByRole('button', { name: 'Yes, connect it' }).click()
    await signUp(page)
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByRole('heading', { name: 'Television is connected' }).waitFor()
    await assertWellFormed(page)
    const token = await post('/oauth/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: clientId,
      device_code: device.device_code ?? '',
    })
    assert.ok(token.access_token, JSON.stringify(token))
    assert.equal(await statusWith(fixture, token.access_token), 200)
  })
})
