/** When an owner takes an account back, everything that an attacker created there stops working. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setups } from '../../../setups/setups.ts'
import {
  type App,
  authorizationUrl,
  clientCredentials,
  consentOf,
  type Fixture,
  newTokens,
  type Person,
  post,
} from '../../conformance/server.ts'
import type { Received } from '../../smtp.ts'
import { formWithField, newestLink, open, page, withMail } from '../mail-fixture.ts'

const fresh = 'a staple in the meadow'

async function signedInBrowser(fixture: Fixture, { email, password }: Pick<Person, 'email' | 'password'>) {
  const visitor = fixture.browser()
  const first = await open(visitor, '/account/sign-in')
  const landed = page(await visitor.submit(formWithField(first, 'password'), { email, password }))
  assert.equal(landed.url.pathname, '/account')
  return visitor
}

/** Not a loopback URI: native apps are asked for consent each time. */
const redirect_uris = ['https://app.example.com/callback']

const usual = 'openid read:post'

function requestOf({ url }: Fixture, { client_id }: App, scope = usual): URL {
  const [redirect_uri = ''] = redirect_uris
  return authorizationUrl(url, { response_type: 'code', client_id, redirect_uri, scope })
}

/** The apps of an attacker, of both token formats, with consents and tokens. */
async function attackerApps(fixture: Fixture) {
  const { ann } = fixture
  const attacker = fixture.browser()
  const apps: { readonly app: App; readonly tokens: Readonly<Record<string, string>> }[] = []
  for (const access_token_format of ['opaque', 'jwt']) {
    const app = await fixture.app({ access_token_format, redirect_uris })
    const options = { browser: attacker, person: ann, scope: `${usual} offline_access` }
    apps.push({
      app,
      tokens: await newTokens(fixture, app, { ...options, parameters: { prompt: 'consent' } }),
    })
    assert.ok(apps.at(-1)?.tokens.refresh_token)
    // A repeated request needs no consent now; the tests check that this ends.
    assert.ok('location' in (await attacker.open(requestOf(fixture, app))))
  }
  return { attacker, apps }
}

/** The attacker’s credentials that still work. */
async function workingCredentials(fixture: Fixture, { apps }: Awaited<ReturnType<typeof attackerApps>>) {
  const found: string[] = []
  for (const { app, tokens } of apps) {
    for (const url of fixture.urls) {
      const { status } = await fetch(`${url}/api/v1/posts`, {
        headers: { Authorization: `Bearer ${tokens.access_token}` },
      })
      if (status !== 401) found.push(`an access token: ${status}`)
    }
    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '' }
    const { status } = await post(`${fixture.url}/oauth/token`, { ...refresh, ...clientCredentials(app) })
    if (status !== 400) found.push(`a refresh token: ${status}`)
  }
  for (const url of fixture.urls) {
    const { status } = await fetch(`${url}/api/v1/me`, { headers: { 'X-API-Key': fixture.ann.key } })
    if (status !== 401) found.push(`an API key: ${status}`)
  }
  return found
}

async function reset(fixture: Fixture, received: Received) {
  const owner = fixture.browser()
  await owner.submit(formWithField(await open(owner, '/account/reset'), 'email'), {
    email: fixture.ann.email,
  })
  const opened = await open(owner, await newestLink(received, /\/account\/reset\?token=[\w-]+/g))
  return page(await owner.submit(formWithField(opened, 'password'), { password: fresh }))
}

for (const setup of setups) {
  test(`${setup.name}: after a reset no earlier credential works, and every app asks for consent again`, async () => {
    await withMail(
      async (fixture, received) => {
        const left = await attackerApps(fixture)
        const done = await reset(fixture, received)
        assert.match(done.text, /Your password is set/)
        assert.match(done.text, /2 connected apps/)
        assert.match(done.text, /1 API key/)
        assert.deepEqual(await workingCredentials(fixture, left), [])
        const { pathname } = (await open(left.attacker, '/account')).url
        assert.equal(pathname, '/account/sign-in')

        const victim = await signedInBrowser(fixture, { email: fixture.ann.email, password: fresh })
        for (const { app } of left.apps) {
          const consentPage = page(await victim.open(requestOf(fixture, app)))
          assert.ok(consentOf(consentPage), `no consent page: ${consentPage.url.href}`)
        }
        await newestLink(received, /The password of your account at Portico was reset/g)
      },
      { setup },
    )
  })
}

test('a password change ends the other sessions, the tokens and the consents, and lists what is left', async () => {
  await withMail(async (fixture, received) => {
    const { ann } = fixture
    const left = await attackerApps(fixture)
    const owner = await signedInBrowser(fixture, ann)
    const change = formWithField(await open(owner, '/account/security'), 'new_password')
    const done = page(
      await owner.submit(change, { current_password: ann.password, new_password: fresh, keys: 'yes' }),
    )
    assert.match(done.text, /2 connected apps/)
    assert.deepEqual(await workingCredentials(fixture, left), [])
    assert.equal((await open(left.attacker, '/account')).url.pathname, '/account/sign-in')
    assert.equal((await open(owner, '/account')).url.pathname, '/account')
    for (const { app } of left.apps) {
      assert.ok(consentOf(page(await owner.open(requestOf(fixture, app)))))
    }
    await newestLink(received, /The password of your account at Portico was changed/g)
  })
})

test('a password change offers to revoke the API keys, and can keep them', async () => {
  await withMail(async fixture => {
    const { ann } = fixture
    const owner = await signedInBrowser(fixture, ann)
    const change = formWithField(await open(owner, '/account/security'), 'new_password')
    const keysBox = change.fields.find(({ name }) => name === 'keys')
    assert.ok(keysBox?.type === 'checkbox' && keysBox.checked)
    const unticked = { ...change, fields: change.fields.filter(({ name }) => name !== 'keys') }
    const done = page(await owner.submit(unticked, { current_password: ann.password, new_password: fresh }))
    assert.match(done.text, /1 API key/)
    assert.equal((await fixture.call('/api/v1/me', { key: ann.key })).status, 200)
  })
})

test('a consent given while the account is taken back is not remembered', async () => {
  await withMail(async (fixture, received) => {
    const { ann } = fixture
    const app = await fixture.app({ redirect_uris })
    const attacker = await signedInBrowser(fixture, ann)
    const consentPage = page(await attacker.open(requestOf(fixture, app)))
    const answer = consentOf(consentPage)
    assert.ok(answer)
    await reset(fixture, received)
    const late = await attacker.submit(answer.form, {}, answer.button)
    assert.ok('text' in late, 'the app got a code')
    const victim = await signedInBrowser(fixture, { email: ann.email, password: fresh })
    const again = page(await victim.open(requestOf(fixture, app)))
    assert.ok(consentOf(again))
  })
})

test('confirming the address ends what other sessions have created, and keeps what the confirming session has created', async () => {
  await withMail(
    async (fixture, received) => {
      const { call } = fixture
      const person = { name: 'Eve', email: 'eve@example.com', password: 'a long enough one' }
      const first = fixture.browser()
      await first.submit(formWithField(await open(first, '/account/sign-up'), 'password'), person)
      const path = await newestLink(received, /\/account\/verify\?token=[\w-]+/g)
      const [owner, stranger] = [
        await signedInBrowser(fixture, person),
        await signedInBrowser(fixture, person),
      ]
      const options = { person: person as unknown as Person, scope: 'read:user' }
      const scopes = { scopes: ['read:user'], default_scopes: ['read:user'], redirect_uris }
      const [ownApp, foreignApp] = [await fixture.app(scopes), await fixture.app(scopes)]
      const kept = await newTokens(fixture, ownApp, { browser: owner, ...options })
      const lost = await newTokens(fixture, foreignApp, { browser: stranger, ...options })

      const done = page(await owner.submit(formWithField(await open(owner, path), 'token')))
      assert.match(done.text, /Your address is confirmed\. Other sessions have ended/)
      const status = async (key = '') => (await call('/api/v1/me', { key })).status
      assert.deepEqual([await status(kept.access_token), await status(lost.access_token)], [200, 401])
      assert.equal((await open(stranger, '/account')).url.pathname, '/account/sign-in')
      const request = (app: App) => owner.open(requestOf(fixture, app, 'read:user'))
      const again = await request(ownApp)
      assert.ok('location' in again, 'text' in again ? again.url.href + again.text : '')
      assert.ok(consentOf(page(await request(foreignApp))))
    },
    { 'accounts.signUp': 'open' },
  )
})
