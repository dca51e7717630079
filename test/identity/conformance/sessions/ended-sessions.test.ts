/** Requests begun before a session or a password ended cannot be completed afterwards. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Browser, Form, Page } from '../browser.ts'
import { authorizationUrl, type Fixture, formWith, type Person, redirectUri, withFixture } from '../server.ts'

/** Sends a form as a browser would, without following the redirect. */
function sendOnly(
  browser: Browser,
  { action, fields, buttons }: Form,
  values: Readonly<Record<string, string>>,
) {
  const pairs = fields
    .filter(({ type, checked }) => type !== 'checkbox' || checked)
    .map(({ name, value }) => [name, values[name] ?? value] as [string, string])
  const { name, value } = buttons[0] ?? {}
  if (name !== undefined) pairs.push([name, value ?? ''])
  return browser.send(action, {
    method: 'POST',
    body: new URLSearchParams(pairs).toString(),
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      Origin: browser.origin,
      'Sec-Fetch-Site': 'same-origin',
    },
  })
}

async function pageAt(browser: Browser, address: URL | string): Promise<Page> {
  const page = await browser.open(address)
  assert.ok(!('location' in page), 'the browser has left for the app')
  return page
}

async function signIn(browser: Browser, { email, password }: Person): Promise<void> {
  const page = await pageAt(browser, '/account/sign-in')
  const form = formWith(page, 'password')
  assert.ok(form)
  await browser.submit(form, { email, password })
}

async function changePassword({ browser: open }: Fixture, person: Person): Promise<void> {
  const browser = open()
  await signIn(browser, person)
  const form = formWith(await pageAt(browser, '/account/security'), 'password')
  assert.ok(form)
  const page = await browser.submit(form, {
    current_password: person.password,
    new_password: 'quite another password',
  })
  assert.ok('text' in page && page.text.includes('Your password is changed'))
}

test('a sign-in with a password that was changed in the meantime is not completed', async () => {
  await withFixture({}, async fixture => {
    const { ann, url } = fixture
    const app = await fixture.app()
    const thief = fixture.browser()
    const page = await pageAt(
      thief,
      authorizationUrl(url, { response_type: 'code', client_id: app.client_id, redirect_uri: redirectUri }),
    )
    const form = formWith(page, 'password')
    assert.ok(form)
    const proven = await sendOnly(thief, form, { email: ann.email, password: ann.password })
    assert.equal(proven.status, 303, proven.text)
    await changePassword(fixture, ann)
    await thief.open(new URL(String(proven.headers.location), url))
    const account = await pageAt(thief, '/account')
    assert.equal(account.url.pathname, '/account/sign-in')
  })
})

test('a user whom an app wants to sign out can stay signed in or sign out', async () => {
  await withFixture({}, async fixture => {
    const { ann } = fixture
    const app = await fixture.app()
    const browser = fixture.browser()
    await signIn(browser, ann)
    for (const [label, path] of [
      ['Stay signed in', '/account'],
      ['Sign out', '/account/sign-in'],
    ] as const) {
      const [form] = (await pageAt(browser, `/oauth/logout?client_id=${app.client_id}`)).forms
      const button = form?.buttons.find(button => button.label === label)
      assert.ok(form && button, label)
      await browser.submit(form, {}, button)
      assert.equal((await pageAt(browser, '/account')).url.pathname, path, label)
    }
  })
})
