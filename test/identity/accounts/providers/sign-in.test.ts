/** Sign-in with each kind of provider, from its button to the account. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, test } from 'node:test'
import { model, string, users } from '../../../../src/index.ts'
import blog from '../../../models/blog.ts'
import { call } from '../../../server/serve/service.ts'
import {
  type Fixture,
  formTo,
  formWithField,
  mailedLink,
  openFixture,
  page,
  redirectOf,
  signedInEmail,
  signIn,
  signInByPassword,
  startSignIn,
  textOf,
} from './fixture.ts'
import { emailsOf, expiringToken, tokenRefusals, userOf } from './github-responses.ts'
import { consumerTenant, tenant } from './stub.ts'

let fixture: Fixture
before(async () => {
  fixture = await openFixture()
})
after(() => fixture.close())

test('Google: the first sign-in creates an account with a confirmed address; the second finds it by its subject', async () => {
  const email = fixture.email()
  const browser = fixture.browser()
  const first = await signIn(fixture, browser, 'google', {
    sub: 'g1',
    email,
    email_verified: true,
    name: 'Ada',
  })
  assert.match(textOf(first), new RegExp(`Your account .*${email}`))
  assert.match(textOf(first), /Confirmed/)
  const second = fixture.browser()
  // A changed address and name at the provider change nothing here.
  await signIn(fixture, second, 'google', {
    sub: 'g1',
    email: fixture.email(),
    email_verified: true,
    name: 'Eve',
  })
  assert.equal(await signedInEmail(second), email)
})

test('GitHub: the form-encoded token response, /user and the verified primary address sign a user in', async () => {
  for (const [id, address] of [
    [7, ''],
    [9, null],
  ] as const) {
    const email = fixture.email()
    const browser = fixture.browser()
    const tweaks = { emails: emailsOf(email, 'ada'), grant: id === 9 ? expiringToken : {} }
    await signIn(fixture, browser, 'github', userOf(id, 'ada', address), tweaks)
    assert.equal(await signedInEmail(browser), email)
  }
})

test('GitHub: an error response signs nobody in, and an address without a `verified` flag is not trusted', async () => {
  for (const [what, answer] of Object.entries(tokenRefusals)) {
    const browser = fixture.browser()
    const email = fixture.email()
    const tweaks = { emails: emailsOf(email, 'ada'), answer }
    const refused = await signIn(fixture, browser, 'github', userOf(7, 'ada', null), tweaks)
    assert.match(textOf(refused), /GitHub/, what)
    assert.doesNotMatch(textOf(refused), /passed|MUST match/, what)
    assert.equal(await signedInEmail(browser), undefined, what)
  }
  const email = fixture.email()
  const addressPage = await signIn(fixture, fixture.browser(), 'github', userOf(11, 'ada', null), {
    emails: [email],
  })
  assert.match(textOf(addressPage), /Create an account/)
  assert.equal(await fixture.find(email), undefined)
})

test('GitHub: an unverified primary address is confirmed with a mailed link and the same identity', async () => {
  const email = fixture.email()
  const browser = fixture.browser()
  const emails = [{ email, primary: true, verified: false }]
  const user = { id: 8, login: 'grace', name: 'Grace' }
  const addressPage = await signIn(fixture, browser, 'github', user, { emails })
  assert.match(textOf(addressPage), /Create an account/)
  const sent = page(await browser.submit(formWithField(addressPage, 'email'), { email }))
  assert.match(textOf(sent), /Check your mail/)
  assert.equal(await fixture.find(email), undefined)
  const link = await mailedLink(fixture, email, /\/account\/verify\?account=[\w-]+/)
  const opened = page(await browser.open(link))
  const left = await browser.submit(formWithField(opened, 'account'))
  assert.ok('location' in left)
  await browser.open(fixture.providers.authorize(left.location, user, { emails }))
  assert.equal(await signedInEmail(browser), email)
  assert.match(textOf(page(await browser.open('/account'))), /Confirmed/)
})

test('the mail with the link is in the language of the browser', async () => {
  const email = fixture.email()
  const browser = fixture.browser()
  const emails = [{ email, primary: true, verified: false }]
  const addressPage = await signIn(
    fixture,
    browser,
    'github',
    { id: 12, login: 'emmy', name: 'Emmy' },
    { emails },
  )
  browser.languages = 'de'
  page(await browser.submit(formWithField(addressPage, 'email'), { email }))
  await mailedLink(fixture, email, /\/account\/verify\?account=[\w-]+/)
  assert.match(fixture.mails.findLast(({ to }) => to === email)?.subject ?? '', /^Schließen Sie/)
})

test('Microsoft: any tenant signs in through the shared issuer; its address is trusted only with xms_edov', async () => {
  const email = fixture.email()
  const claims = { sub: 'm1', tid: tenant, email, name: 'Ada' }
  const addressPage = await signIn(fixture, fixture.browser(), 'microsoft', claims)
  assert.match(textOf(addressPage), /Create an account/)
  const browser = fixture.browser()
  await signIn(fixture, browser, 'microsoft', { ...claims, tid: consumerTenant, xms_edov: true })
  assert.equal(await signedInEmail(browser), email)
})

test('Apple: the posted callback becomes a redirect that signs the user in, and the name is taken from it', async () => {
  const email = fixture.email()
  const browser = fixture.browser()
  const left = await startSignIn(browser, 'apple')
  assert.equal(left.searchParams.get('response_mode'), 'form_post')
  const callback = fixture.providers.authorize(left, { sub: 'a1', email, email_verified: 'true' })
  callback.searchParams.set('user', JSON.stringify({ name: { firstName: 'Ada', lastName: 'Lovelace' } }))
  const posted = await fixture.browser().send(new URL(callback.pathname, fixture.url), {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Origin: 'https://appleid.apple.com' },
    body: callback.searchParams.toString(),
  })
  assert.equal(posted.status, 303)
  await browser.open(new URL(posted.headers.location ?? '', fixture.url))
  assert.equal(await signedInEmail(browser), email)
  assert.equal((await fixture.find(email))?.name, 'Ada Lovelace')
})

test('a provider that does not respond gets an error page that names it', async () => {
  fixture.providers.unreachableHosts.add('corp.example.com')
  const browser = fixture.browser()
  const form = formWithField(page(await browser.open('/account/sign-in')), 'csrf')
  const shown = page(await browser.submit({ ...form, action: new URL('/account/sign-in/corp', fixture.url) }))
  fixture.providers.unreachableHosts.clear()
  assert.equal(shown.status, 503)
  assert.match(textOf(shown), /Corp SSO does not answer/)
})

test('a user who cancels at the provider learns that they are not signed in', async () => {
  const parameters = { code: undefined, error: 'access_denied', error_description: '<b>no</b>' }
  const shown = await signIn(fixture, fixture.browser(), 'google', {}, { parameters })
  assert.match(textOf(shown), /You are not signed in/)
  assert.doesNotMatch(shown.text, /<b>no/)
})

test('fields that the model requires at sign-up are asked for before the account is created, and `check` applies', async () => {
  const strict = await openFixture(
    {},
    model({
      users: users({
        fields: { company: string({ optional: true, signUp: true, max: 80 }) },
        check: ({ next }) => {
          if (next.company === 'Evil') return [{ field: 'company' as const, message: 'is not welcome.' }]
          return []
        },
      }),
    }),
  )
  try {
    const email = strict.email()
    const browser = strict.browser()
    const fieldsPage = await signIn(strict, browser, 'google', {
      sub: 'f1',
      email,
      email_verified: true,
      name: 'Ada',
    })
    assert.equal(await strict.find(email), undefined)
    const form = formWithField(fieldsPage, 'field_company')
    assert.match(textOf(page(await browser.submit(form))), /Company is required/)
    assert.match(
      textOf(page(await browser.submit(form, { field_company: 'Evil' }))),
      /Company: is not welcome/,
    )
    assert.equal(await strict.find(email), undefined)
    // The address is the provider’s, whatever the form says.
    const fields = [...form.fields, { name: 'email', type: 'email', value: 'x@example.com', checked: false }]
    await browser.submit({ ...form, fields }, { field_company: 'Analytical Engines' })
    assert.equal(await signedInEmail(browser), email)
    assert.equal(await strict.find('x@example.com'), undefined)
  } finally {
    await strict.close()
  }
})

test('a sign-in with a provider expires after ten minutes', async () => {
  const late = await openFixture()
  try {
    const browser = late.browser()
    const left = await startSignIn(browser, 'google')
    late.clock.advance({ minutes: 11 })
    const callback = late.providers.authorize(left, { sub: 'l1', email: late.email(), email_verified: true })
    assert.match(textOf(page(await browser.open(callback))), /This sign-in is over/)
  } finally {
    await late.close()
  }
})

/** A user who is signed in by password. */
async function signedInBrowser() {
  const email = fixture.email()
  await fixture.user(email)
  const browser = fixture.browser()
  await signInByPassword(browser, email)
  return { browser, email }
}

const confirming = '/account/sign-in?confirm=yes&next=/account/security'

test('the provider reauthenticates a user who is already signed in, whatever the form says', async () => {
  const { browser, email } = await signedInBrowser()
  const shown = page(await browser.open(confirming))
  assert.equal((await startSignIn(browser, 'corp', confirming)).searchParams.get('prompt'), 'login')
  const { fields, ...form } = formTo(shown, '/account/sign-in/corp')
  assert.ok(fields.some(({ name }) => name === 'confirm'))
  const withoutIt = { ...form, fields: fields.filter(({ name }) => name !== 'confirm') }
  assert.equal(redirectOf(await browser.submit(withoutIt)).searchParams.get('prompt'), 'login')
  // The page with the fault keeps asking for it.
  const refused = page(await browser.submit(formWithField(shown, 'password'), { email, password: 'wrong' }))
  assert.match(textOf(refused), /how your account is protected, so sign in once more/)
  const again = redirectOf(await browser.submit(formTo(refused, '/account/sign-in/corp')))
  assert.equal(again.searchParams.get('prompt'), 'login')
  // A first sign-in may use the session at the provider.
  assert.equal((await startSignIn(fixture.browser(), 'corp')).searchParams.get('prompt'), null)
})

test('a confirmation is refused if `auth_time` is older than its request', async () => {
  const email = fixture.email()
  const known = { sub: 'c-again', email, email_verified: true, name: 'Ada' }
  const browser = fixture.browser()
  // Not the clock of the scene, which stands still: the request has the time of the process.
  const nowSeconds = () => Math.floor(Date.now() / 1000)
  // A first sign-in accepts an older one.
  await signIn(fixture, browser, 'corp', { ...known, auth_time: nowSeconds() - 86_400 })
  assert.equal(await signedInEmail(browser), email)
  const confirm = async (claims: object) => {
    const at = await startSignIn(browser, 'corp', confirming)
    return textOf(page(await browser.open(fixture.providers.authorize(at, { ...known, ...claims }))))
  }
  assert.match(await confirm({ auth_time: nowSeconds() - 120 }), /could not sign you in/)
  assert.match(await confirm({ auth_time: nowSeconds() }), /Security/)
  // Issuers may omit `auth_time`.
  assert.match(await confirm({}), /Security/)
})

test('an app’s request for reauthentication is passed on to the provider', async () => {
  const redirect_uri = 'https://app.example.com/callback'
  const created = await call(`${fixture.url}/api/v1/oauth_apps`, {
    method: 'POST',
    key: await fixture.key(await fixture.user(fixture.email())),
    body: { name: 'Reader', redirect_uris: [redirect_uri], scopes: ['openid'] },
  })
  const { client_id } = created.json as { client_id: string }
  const request = { response_type: 'code', client_id, redirect_uri, scope: 'openid', state: 's' }
  for (const [parameters, expected] of [
    [{}, null],
    [{ prompt: 'login' }, 'login'],
    [{ prompt: 'login consent' }, 'login'],
    [{ max_age: '0' }, 'login'],
    [{ max_age: '3600' }, 'login'],
    [{ prompt: 'consent' }, null],
  ] as const) {
    const path = `/oauth/authorize?${new URLSearchParams({ ...request, ...parameters })}`
    const at = await startSignIn(fixture.browser(), 'corp', path)
    assert.equal(at.searchParams.get('prompt'), expected, JSON.stringify(parameters))
  }
  // With a session, the form alone does not decide.
  const { browser } = await signedInBrowser()
  const shown = page(
    await browser.open(`/oauth/authorize?${new URLSearchParams({ ...request, max_age: '0' })}`),
  )
  const { fields, ...form } = formTo(shown, '/account/sign-in/corp')
  const withoutIt = { ...form, fields: fields.filter(({ name }) => name !== 'reauthenticate') }
  assert.equal(redirectOf(await browser.submit(withoutIt)).searchParams.get('prompt'), 'login')
})

test('an issuer with a private address is contacted only if its settings allow that', async () => {
  let connections = 0
  const server = createServer(socket => {
    connections++
    socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const corp = {
    ...{ kind: 'oidc' as const, id: 'corp', name: 'Corp', clientId: 'x' },
    issuer: `https://127.0.0.1:${port}`,
  }
  try {
    for (const allowPrivate of [false, true]) {
      const own = await openFixture({ 'accounts.providers': [{ ...corp, allowPrivate }] }, blog, true)
      try {
        const browser = own.browser()
        const form = formTo(page(await browser.open('/account/sign-in')), '/account/sign-in/corp')
        const shown = page(await browser.submit(form))
        assert.equal(shown.status, 503)
        assert.match(textOf(shown), /Corp does not answer/)
        assert.equal(connections > 0, allowPrivate)
      } finally {
        await own.close()
      }
    }
  } finally {
    server.close()
  }
})
