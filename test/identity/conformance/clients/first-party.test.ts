/** First-party apps: no consent page, and only administrators can create them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import { createBySystem } from '../../../../src/identity/bootstrap.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { createRun } from '../../../../src/server/serve/store.ts'
import blog from '../../../models/blog.ts'
import { sqlite } from '../../../setups/sqlite.ts'
import {
  type App,
  afterSignIn,
  authorizationUrl,
  clientCredentials,
  consentOf,
  exchangeCode,
  type Fixture,
  formWith,
  newTokens,
  post,
  redirectUri,
  sharedFixtures,
  withFixture as withOwnFixture,
} from '../server.ts'

const withFixture = sharedFixtures(sqlite)

const scope = 'openid profile offline_access read:post write:post'
const registrationToken = 'a-registration-token-of-this-file'
const values = {
  name: 'Console',
  type: 'confidential',
  redirect_uris: [redirectUri],
  scopes: scope.split(' '),
  first_party: true,
}

async function ownApp({ call, admin }: Fixture, more: object = {}): Promise<App> {
  const created = await call('/api/v1/oauth_apps', {
    method: 'POST',
    key: admin.key,
    body: { ...values, ...more },
  })
  assert.equal(created.status, 201, created.text)
  assert.equal(created.json.first_party, true)
  return created.json as unknown as App
}

type Parameters = Readonly<Record<string, string>>

function addressOf({ url }: Fixture, app: App, more: Parameters = {}): URL {
  return authorizationUrl(url, {
    response_type: 'code',
    client_id: app.client_id,
    redirect_uri: app.redirect_uris[0] ?? redirectUri,
    scope,
    state: 's',
    ...more,
  })
}

test('a first-party app gets every requested scope after the sign-in, without a consent page', async () => {
  await withFixture(async fixture => {
    const { ann, call, deployment, url } = fixture
    const app = await ownApp(fixture)
    const browser = fixture.browser()
    const end = await afterSignIn(browser, addressOf(fixture, app), ann)
    assert.ok('location' in end, 'a page was shown')
    const tokens = await exchangeCode(url, app, end.location.searchParams.get('code') ?? '')
    assert.equal(tokens.status, 200, tokens.text)
    assert.ok(tokens.json.refresh_token && tokens.json.id_token)
    assert.deepEqual(String(tokens.json.scope).split(/[ ,]/).sort(), scope.split(' ').sort())
    const key = String(tokens.json.access_token)
    const body = { title: 'By an own app', body: 'text', author_id: ann.id }
    assert.equal((await call('/api/v1/posts', { method: 'POST', key, body })).status, 201)
    // The browser has a session, so it returns at once, also with `prompt=none`.
    for (const prompt of [{}, { prompt: 'none' }]) {
      const again = await browser.open(addressOf(fixture, app, prompt))
      assert.ok('location' in again && again.location.searchParams.get('code'), JSON.stringify(prompt))
    }
    // Each sign-in leaves a grant; when there are too many, old ones end.
    const store = await deployment.openStore(checkModel(blog))
    const owner = String(ann.id)
    const payload = JSON.stringify({ clientId: app.client_id, iat: 1, openid: { scope: 'read:post' } })
    for (let count = 0; count < 100; count++)
      await store.records.put({
        kind: 'Grant',
        id: `old ${ann.id} ${count}`,
        payload,
        expiresAt: null,
        owner,
      })
    await browser.open(addressOf(fixture, app, { prompt: 'none' }))
    const grants = await store.records.byOwner('Grant', owner)
    await store.close()
    assert.equal(grants.length, 80)
    assert.equal((await call('/api/v1/posts', { key })).status, 200)
    // The app is listed as part of the service, and can be disconnected.
    const apps = await browser.open('/account/apps')
    assert.ok('text' in apps)
    assert.match(apps.text, /Console[\s\S]*Part of this service/)
    const disconnect = apps.forms.find(({ fields }) => fields.some(({ name }) => name === 'client_id'))
    assert.ok(disconnect)
    await browser.submit(disconnect)
    assert.equal((await call('/api/v1/me', { key })).status, 401)
  })
})

test('`prompt=consent` shows the consent page, however the request is made', async () => {
  await withFixture(async fixture => {
    const app = await ownApp(fixture)
    const browser = fixture.browser()
    const page = await afterSignIn(browser, addressOf(fixture, app, { prompt: 'consent' }), fixture.ann)
    assert.ok('text' in page && consentOf(page))
    const marked = { prompt: 'consent', portico_implied_consent: 'yes' }
    const again = await browser.open(addressOf(fixture, app, marked))
    assert.ok('text' in again && consentOf(again))
    const allowed = consentOf(again)
    assert.ok(allowed)
    const end = await browser.submit(allowed.form, {}, allowed.button)
    assert.ok('location' in end && end.location.searchParams.get('code'))
    const pushed = await post(`${fixture.url}/oauth/par`, {
      ...{ response_type: 'code', redirect_uri: redirectUri, scope, ...clientCredentials(app) },
    })
    const { request_uri } = pushed.json as { request_uri: string }
    const short = authorizationUrl(fixture.url, { client_id: app.client_id, request_uri })
    const departure = await browser.open(short)
    assert.ok('location' in departure && departure.location.searchParams.get('code'), pushed.text)
  })
})

test('an app that is no longer first-party asks for consent', async () => {
  await withFixture(async fixture => {
    const { admin, ann, call } = fixture
    const app = await ownApp(fixture)
    const browser = fixture.browser()
    assert.ok('location' in (await afterSignIn(browser, addressOf(fixture, app), ann)))
    const body = { first_party: false }
    const change = await call(`/api/v1/oauth_apps/${app.id}`, { method: 'PATCH', key: admin.key, body })
    assert.equal(change.status, 200, change.text)
    const page = await browser.open(addressOf(fixture, app))
    assert.ok('text' in page && consentOf(page))
    const otherApp = await fixture.app()
    const third = await browser.open(addressOf(fixture, otherApp, { scope: 'read:post' }))
    assert.ok('text' in third && consentOf(third))
  })
})

test('a device of a first-party app is confirmed without consent', async () => {
  await withFixture(async fixture => {
    const { ann, url } = fixture
    const app = await ownApp(fixture)
    const device = await post(`${url}/oauth/device`, { scope: 'read:post', ...clientCredentials(app) })
    const { verification_uri_complete: at, device_code } = device.json as Readonly<Record<string, string>>
    const browser = fixture.browser()
    const typed = await browser.open(at ?? '')
    assert.ok('text' in typed && typed.forms[0])
    const confirm = await browser.submit(typed.forms[0])
    assert.ok('text' in confirm && /Console/.test(confirm.text) && confirm.forms[0])
    const signIn = await browser.submit(confirm.forms[0])
    assert.ok('text' in signIn)
    const password = formWith(signIn, 'password')
    assert.ok(password)
    const confirmation = await browser.submit(password, { email: ann.email, password: ann.password })
    assert.ok(
      'text' in confirmation && !consentOf(confirmation),
      'text' in confirmation ? confirmation.text : '',
    )
    const tokens = await post(`${url}/oauth/token`, {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: device_code ?? '',
      ...clientCredentials(app),
    })
    assert.equal(tokens.status, 200, tokens.text)
  })
})

test('only an administrator can make an app first-party, whether by REST, a batch, GraphQL or registration', async () => {
  await withOwnFixture({ 'oauth.registrationToken': registrationToken }, async fixture => {
    const { ann, call } = fixture
    const app = await fixture.app()
    const appPath = `/api/v1/oauth_apps/${app.id}`
    const key = ann.key
    const tries: readonly [string, string, unknown][] = [
      ['POST', '/api/v1/oauth_apps', values],
      ['PATCH', appPath, { first_party: true }],
      ['PUT', appPath, { ...values, type: undefined }],
      ['PATCH', appPath, { first_party: null }],
      [
        'POST',
        '/api/v1/batch',
        { operations: [{ method: 'PATCH', path: `/oauth_apps/${app.id}`, body: { first_party: true } }] },
      ],
    ]
    for (const [method, path, body] of tries) {
      const answer = await call(path, { method, key, body })
      assert.match(
        String(answer.code),
        /^(FORBIDDEN|VALIDATION_FAILED|BAD_REQUEST)$/,
        `${method} ${path} ${answer.text}`,
      )
    }
    const mutation = `mutation { updateOauthApp(id: "${app.id}", firstParty: true) { id } }`
    const byGraphql = await call('/graphql', { method: 'POST', key, body: { query: mutation } })
    assert.match(byGraphql.text, /"code":"(FORBIDDEN|VALIDATION_FAILED)"/)
    const creation = `mutation { createOauthApp(name: "X", redirectUris: [], firstParty: true) { id } }`
    const created = await call('/graphql', { method: 'POST', key, body: { query: creation } })
    assert.match(created.text, /"code":"(FORBIDDEN|VALIDATION_FAILED)"/)
    const registered = await call('/oauth/register', {
      method: 'POST',
      headers: { Authorization: `Bearer ${registrationToken}` },
      body: { redirect_uris: ['https://app.example.com/cb'], first_party: true, client_name: 'Sly' },
    })
    assert.equal(registered.status, 201, registered.text)
    assert.equal(registered.json.first_party, undefined)
    const stored = await call(appPath, { key })
    assert.equal(stored.json.first_party, false)
  })
})

test('an administrator can make another user’s app first-party, and change nothing else of it', async () => {
  await withFixture(async fixture => {
    const { admin, ann, ben, call } = fixture
    const app = await fixture.app({ scopes: scope.split(' ') })
    const appPath = `/api/v1/oauth_apps/${app.id}`
    const patch = (key: string, body: object) => call(appPath, { method: 'PATCH', key, body })
    const ids = async (key: string) => {
      const { json } = await call('/api/v1/oauth_apps?per_page=100', { key })
      return (json.data as readonly { id: number }[]).map(({ id }) => id)
    }
    assert.deepEqual(
      [(await ids(admin.key)).includes(app.id), (await ids(ben.key)).includes(app.id)],
      [true, false],
    )
    const browser = fixture.browser()
    const consentPage = await afterSignIn(browser, addressOf(fixture, app), fixture.cleo)
    assert.ok('text' in consentPage && consentOf(consentPage))
    const marked = await patch(admin.key, { first_party: true })
    assert.deepEqual([marked.status, marked.json.first_party], [200, true], marked.text)
    const unasked = await browser.open(addressOf(fixture, app))
    assert.ok('location' in unasked && unasked.location.searchParams.get('code'))

    const evil = { redirect_uris: ['https://evil.example/cb'] }
    assert.equal((await patch(ann.key, evil)).status, 403)
    assert.equal((await patch(ann.key, { first_party: false })).status, 403)
    assert.equal((await patch(ben.key, { first_party: false })).status, 404)
    const { name, redirect_uris } = marked.json
    for (const body of [evil, { name: 'Mine' }, { first_party: false, scopes: null }, { logo_uri: null }]) {
      const refused = await patch(admin.key, body)
      assert.deepEqual([refused.status, refused.code], [403, 'FORBIDDEN'], refused.text)
    }
    const replaced = await call(appPath, { method: 'PUT', key: admin.key, body: { name, redirect_uris } })
    assert.equal(replaced.status, 403, replaced.text)
    const query = `mutation { updateOauthApp(id: "${app.id}", name: "Mine") { id } }`
    assert.match(
      (await call('/graphql', { method: 'POST', key: admin.key, body: { query } })).text,
      /FORBIDDEN/,
    )
    assert.equal((await call(appPath, { method: 'DELETE', key: admin.key })).status, 403)
    const secret = { method: 'POST', key: admin.key, body: { app_id: app.id } }
    assert.ok((await call('/api/v1/oauth_app_secrets', secret)).status >= 400)
    // A webhook of an app receives data of the app’s users.
    const hook = { url: 'https://hooks.example.com/', types: ['post.created'], app_id: app.id }
    const webhook = await call('/api/v1/webhooks', { method: 'POST', key: admin.key, body: hook })
    assert.match(webhook.text, /"field":"app_id","code":"not_found"/)
    const { json } = await call(appPath, { key: ann.key })
    assert.deepEqual([json.name, json.redirect_uris, json.first_party], [name, redirect_uris, true])

    const owner = fixture.browser()
    await afterSignIn(owner, '/account/sign-in', ann)
    for (const path of ['/account/developer', `/account/developer/${app.id}`]) {
      const page = await owner.open(path)
      assert.ok('text' in page && /part of this service/i.test(page.text), path)
    }
    const administrator = fixture.browser()
    await afterSignIn(administrator, '/account/sign-in', admin)
    const foreign = await administrator.open(`/account/developer/${app.id}`)
    assert.ok('text' in foreign && !foreign.text.includes(app.client_id))
    assert.equal((await patch(admin.key, { first_party: false })).status, 200)
    const again = await browser.open(addressOf(fixture, app))
    assert.ok('text' in again && consentOf(again))
  })
})

test('a third-party app’s token cannot make an app first-party or change a first-party app’s redirect URIs', async () => {
  await withFixture(async fixture => {
    const { admin, call } = fixture
    const otherApp = await fixture.app()
    const own = await ownApp(fixture)
    const grantTo = (app: App) =>
      newTokens(fixture, app, {
        browser: fixture.browser(),
        person: admin,
        scope: 'read:oauth_app write:oauth_app',
      })
    const scopes = ['read:oauth_app', 'write:oauth_app']
    const { access_token: theirs } = await grantTo(await fixture.app({ scopes, default_scopes: null }))
    const { access_token: ours } = await grantTo(await ownApp(fixture, { scopes }))
    const rows: readonly [App, object, number][] = [
      [otherApp, { first_party: true }, 404],
      [otherApp, { name: 'Mine' }, 404],
      [own, { first_party: false }, 403],
      [own, { redirect_uris: ['https://evil.example/cb'] }, 403],
      [own, { name: 'Ours' }, 200],
    ]
    for (const [{ id }, body, status] of rows) {
      const answer = await call(`/api/v1/oauth_apps/${id}`, { method: 'PATCH', key: theirs ?? '', body })
      assert.equal(answer.status, status, `${JSON.stringify(body)} ${answer.text}`)
    }
    const created = await call('/api/v1/oauth_apps', { method: 'POST', key: theirs ?? '', body: values })
    assert.equal(created.status, 403, created.text)
    const body = { first_party: true }
    const marked = await call(`/api/v1/oauth_apps/${otherApp.id}`, { method: 'PATCH', key: ours ?? '', body })
    assert.equal(marked.status, 200, marked.text)
  })
})

test('an owner who is not an administrator can change neither the redirect URIs nor the scopes of a first-party app', async () => {
  await withFixture(async fixture => {
    const { ann, call, deployment } = fixture
    const model = checkModel(blog)
    const store = await deployment.openStore(model)
    const { type: _type, ...rest } = values
    const client_id = `app_of_${ann.id}`
    const run = createRun(createGuard(model), store)
    const id = await createBySystem(
      run,
      'oauth_apps',
      { ...rest, type: 'public' },
      { client_id, user_id: ann.id },
    )
    await store.close()
    const appPath = `/api/v1/oauth_apps/${id}`
    const key = ann.key
    const evil = 'https://evil.example/cb'
    const bodies: readonly [string, Readonly<Record<string, unknown>>, number][] = [
      ['PATCH', { redirect_uris: [evil] }, 403],
      ['PATCH', { redirect_uris: [redirectUri, evil] }, 403],
      ['PATCH', { redirect_uris: [] }, 403],
      ['PATCH', { scopes: null }, 403],
      ['PATCH', { scopes: [...values.scopes, 'write:user'] }, 403],
      ['PUT', { name: 'Console', redirect_uris: [evil], scopes: values.scopes }, 403],
      ['PUT', { name: 'Console', redirect_uris: [redirectUri] }, 403],
      ['PATCH', { name: 'The console', redirect_uris: [redirectUri] }, 200],
      ['PUT', { name: 'Console', redirect_uris: [redirectUri], scopes: values.scopes }, 200],
    ]
    for (const [method, body, status] of bodies) {
      const answer = await call(appPath, { method, key, body })
      assert.equal(answer.status, status, `${method} ${JSON.stringify(body)} ${answer.text}`)
    }
    const query = `mutation { updateOauthApp(id: "${id}", redirectUris: ["${evil}"]) { id } }`
    assert.match(
      (await call('/graphql', { method: 'POST', key, body: { query } })).text,
      /"code":"FORBIDDEN"/,
    )
    const operations = [{ method: 'PATCH', path: `/oauth_apps/${id}`, body: { redirect_uris: [evil] } }]
    const batch = await call('/api/v1/batch', { method: 'POST', key, body: { operations } })
    assert.match(batch.text, /each in a separate request/)
    const many = await call('/api/v1/oauth_apps', {
      method: 'PATCH',
      key,
      body: [{ id, redirect_uris: [evil] }],
    })
    assert.ok(many.status >= 400, many.text)
    const { json } = await call(appPath, { key })
    assert.deepEqual(
      [json.redirect_uris, json.scopes, json.first_party],
      [[redirectUri], values.scopes, true],
    )
  })
})

test('a public native app asks for consent, unless the service runs on the user’s machine too', async () => {
  const pkce = { code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' }
  const uris = [redirectUri, 'com.example.app:/cb', 'https://app.example.com/cb']
  const firstPage = async (fixture: Fixture) => {
    const app = await ownApp(fixture, { type: 'public', redirect_uris: uris })
    const browser = fixture.browser()
    await afterSignIn(browser, '/account/sign-in', fixture.ann)
    const pages: boolean[] = []
    for (const redirect_uri of uris) {
      const request = addressOf(fixture, app, { redirect_uri, scope: 'read:post', ...pkce })
      const end = await browser.open(new URL(request.pathname + request.search, fixture.url))
      pages.push('text' in end)
    }
    return pages
  }
  await withFixture(async fixture => assert.deepEqual(await firstPage(fixture), [false, false, false]))
  await withOwnFixture({ baseUrl: 'http://id.example.com' }, async fixture => {
    assert.deepEqual(await firstPage(fixture), [true, true, false])
  })
})

test('a device flow of a public app asks for consent, because anyone can name the app', async () => {
  const firstPage = async (fixture: Fixture) => {
    const { ann, url } = fixture
    const app = await ownApp(fixture, { type: 'public', redirect_uris: ['https://app.example.com/cb'] })
    const { client_id } = app
    const device = await post(`${url}/oauth/device`, { scope: 'openid read:post write:post', client_id })
    const browser = fixture.browser()
    await afterSignIn(browser, '/account/sign-in', ann)
    const typed = await browser.open(`/oauth/device?user_code=${device.json.user_code}`)
    assert.ok('text' in typed && typed.forms[0])
    const [code] = typed.forms
    const confirm = await browser.submit({ ...code, action: new URL(code.action.pathname, url) })
    assert.ok('text' in confirm && confirm.forms[0], 'text' in confirm ? confirm.text : '')
    const end = await browser.submit(confirm.forms[0])
    assert.ok('text' in end)
    return consentOf(end) !== undefined
  }
  await withFixture(async fixture => assert.equal(await firstPage(fixture), false))
  await withOwnFixture({ baseUrl: 'http://id.example.com' }, async fixture => {
    assert.equal(await firstPage(fixture), true)
  })
})
