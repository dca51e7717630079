/** A consent page shows the signed-in account, and the user can continue the request with another one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Browser, Departure, Page } from '../browser.ts'
import {
  type App,
  authorizationUrl,
  clientCredentials,
  exchangeCode,
  type Fixture,
  formWith,
  type Person,
  post,
  redirectUri,
  withFixture,
} from '../server.ts'

function requirePage(answer: Page | Departure): Page {
  assert.ok('text' in answer, 'location' in answer ? answer.location.href : '')
  return answer
}

async function signIn(browser: Browser, page: Page, { email, password }: Person): Promise<Page> {
  const form = formWith(page, 'password')
  assert.ok(form, page.text)
  return requirePage(await browser.submit(form, { email, password }))
}

function otherAccount({ forms, text }: Page) {
  const form = forms.find(({ buttons }) => buttons.some(({ label }) => label === 'Use another account'))
  assert.ok(form, text)
  return form
}

async function allow(browser: Browser, { forms, text }: Page) {
  const form = forms.find(({ buttons }) => buttons.some(({ label }) => label === 'Allow'))
  const button = form?.buttons.find(({ label }) => label === 'Allow')
  assert.ok(form && button, text)
  return browser.submit(form, {}, button)
}

/** Ann signs in, and lets Ben continue with his account. */
async function switchAccount(fixture: Fixture, browser: Browser, address: URL | string): Promise<Page> {
  const { ann, ben, url } = fixture
  const consentPage = await signIn(browser, requirePage(await browser.open(address)), ann)
  assert.match(consentPage.text, new RegExp(`You are signed in as ${ann.email}`))
  const login = requirePage(await browser.submit(otherAccount(consentPage)))
  assert.equal(login.url.pathname, consentPage.url.pathname, 'the same request')
  assert.ok(!login.text.includes(ann.email))
  // The browser is signed out, not only the page.
  assert.equal(requirePage(await browser.open(`${url}/account`)).url.pathname, '/account/sign-in')
  const consent = await signIn(browser, requirePage(await browser.open(login.url)), ben)
  assert.match(consent.text, new RegExp(`You are signed in as ${ben.email}`))
  return consent
}

async function owner({ call }: Fixture, token: unknown): Promise<unknown> {
  return (await call('/api/v1/me', { key: String(token) })).json.email
}

async function finish(fixture: Fixture, app: App, consent: Page, browser: Browser): Promise<void> {
  const departure = await allow(browser, consent)
  assert.ok('location' in departure)
  assert.equal(departure.location.searchParams.get('state'), 'kept & whole')
  assert.equal(departure.location.searchParams.get('iss'), fixture.url)
  const tokens = await exchangeCode(fixture.url, app, departure.location.searchParams.get('code') ?? '')
  assert.equal(tokens.status, 200, tokens.text)
  assert.equal(await owner(fixture, tokens.json.access_token), fixture.ben.email)
}

const request = {
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'read:user',
  state: 'kept & whole',
}

test('a request continues unchanged with another account', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const browser = fixture.browser()
    const consent = await switchAccount(
      fixture,
      browser,
      authorizationUrl(fixture.url, { ...request, client_id: app.client_id }),
    )
    await finish(fixture, app, consent, browser)
    // Ann has granted nothing.
    const hers = fixture.browser()
    const page = await signIn(hers, requirePage(await hers.open('/account/apps')), fixture.ann)
    assert.match(page.text, /No app has access to your account/)
  })
})

test('a pushed request continues with another account', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const pushed = await post(`${fixture.url}/oauth/par`, { ...request, ...clientCredentials(app) })
    const browser = fixture.browser()
    const address = authorizationUrl(fixture.url, {
      client_id: app.client_id,
      request_uri: String(pushed.json.request_uri),
    })
    await finish(fixture, app, await switchAccount(fixture, browser, address), browser)
  })
})

test('a device code can be approved with another account', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const device = await post(`${fixture.url}/oauth/device`, {
      ...clientCredentials(app),
      scope: 'read:user',
    })
    const browser = fixture.browser()
    const code = requirePage(await browser.open(String(device.json.verification_uri_complete)))
    const [form] = code.forms
    assert.ok(form)
    const confirm = requirePage(await browser.submit(form))
    const page =
      confirm.forms[0] && formWith(confirm, 'password')
        ? confirm
        : requirePage(await browser.submit(confirm.forms[0] ?? form))
    const answer = requirePage(await allow(browser, await switchAccount(fixture, browser, page.url)))
    assert.match(answer.text, /is connected/)
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
    const tokens = await post(`${fixture.url}/oauth/token`, {
      ...clientCredentials(app),
      grant_type,
      device_code: String(device.json.device_code),
    })
    assert.equal(await owner(fixture, tokens.json.access_token), fixture.ben.email)
  })
})

test('neither another page nor another browser can switch the account', async () => {
  await withFixture({}, async fixture => {
    const { client_id } = await fixture.app()
    const browser = fixture.browser()
    const address = authorizationUrl(fixture.url, { ...request, client_id })
    const consentPage = await signIn(browser, requirePage(await browser.open(address)), fixture.ann)
    const form = otherAccount(consentPage)
    const forged = {
      ...form,
      fields: form.fields.map(field => (field.name === 'csrf' ? { ...field, value: 'x' } : field)),
    }
    assert.equal(requirePage(await browser.submit(forged)).status, 403)
    assert.equal(requirePage(await fixture.browser().submit(form)).status, 404)
    assert.equal(requirePage(await browser.open(`${fixture.url}/account`)).url.pathname, '/account')
    assert.equal(requirePage(await browser.open(consentPage.url)).status, 200)
  })
})
