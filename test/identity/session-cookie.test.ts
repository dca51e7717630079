/** The session cookie as a credential of the API: for which requests it counts, and when it stops counting. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateKey } from '../../src/identity/keys/key.ts'
import { stream as openStream } from '../api/events/listener.ts'
import { openWebSocket, until } from '../api/transports/service.ts'
import { sqlite } from '../setups/sqlite.ts'
import { advance } from './accounts/self-service/own-pages.ts'
import { type Fixture, formWith, newTokens, sharedFixtures } from './conformance/server.ts'
import { sameOrigin, signedInCookie } from './own-page.ts'

const withFixture = sharedFixtures(sqlite)

/** The id of the user that the API recognises, or the status of the refusal. */
async function signedInEmail({ call }: Fixture, headers: Readonly<Record<string, string>>): Promise<unknown> {
  const { status, json } = await call('/api/v1/me', { headers })
  return status === 200 ? (json.id ?? json) : status
}

test('the cookie counts only in requests from pages of the same origin, for reads as for writes', async () => {
  await withFixture(async fixture => {
    const { ann, call, url } = fixture
    const Cookie = await signedInCookie(url, ann)
    const rows: readonly [Readonly<Record<string, string>>, boolean][] = [
      [{ 'Sec-Fetch-Site': 'same-origin' }, true],
      [{ 'Sec-Fetch-Site': 'same-origin', Origin: 'https://evil.example' }, true],
      [{ Origin: url }, true],
      [{ Referer: `${url}/docs?x` }, true],
      [{}, false],
      [{ 'Sec-Fetch-Site': 'none' }, false],
      [{ 'Sec-Fetch-Site': 'same-site' }, false],
      [{ 'Sec-Fetch-Site': 'cross-site' }, false],
      [{ 'Sec-Fetch-Site': 'cross-site', Origin: url, Referer: `${url}/` }, false],
      [{ 'Sec-Fetch-Site': 'same-origin, cross-site' }, false],
      [{ 'Sec-Fetch-Site': 'SAME-ORIGIN' }, false],
      [{ 'Sec-Fetch-Site': '' }, false],
      [{ Origin: 'null' }, false],
      [{ Origin: `${url}.evil.example` }, false],
      [{ Origin: url.replace('http:', 'https:') }, false],
      [{ Origin: 'https://evil.example', Referer: `${url}/` }, false],
      [{ Referer: `https://evil.example/?${url}/` }, false],
      [{ Referer: `${url}.evil.example/` }, false],
      [{ Referer: 'no address' }, false],
    ]
    for (const [headers, counts] of rows) {
      const details = JSON.stringify(headers)
      assert.equal(await signedInEmail(fixture, { Cookie, ...headers }), counts ? ann.id : 401, details)
      const body = { title: 'By cookie', body: 'text', author_id: ann.id }
      const created = await call('/api/v1/posts', { method: 'POST', body, headers: { Cookie, ...headers } })
      assert.equal(created.status, counts ? 201 : 401, `${details} ${created.text}`)
      const change = { headers: { Cookie, ...headers }, body: { name: 'Ann' } }
      const changed = await call(`/api/v1/users/${ann.id}`, { method: 'PATCH', ...change })
      assert.equal(changed.status, counts ? 200 : 401, `${details} ${changed.text}`)
      const query = { query: '{ me { id } }' }
      const byGraphql = await call('/graphql', {
        method: 'POST',
        body: query,
        headers: { Cookie, ...headers },
      })
      assert.equal(byGraphql.text.includes('"me":{"id":'), counts, `${details} ${byGraphql.text}`)
    }
  })
})

test('any other credential takes precedence over the cookie', async () => {
  await withFixture(async fixture => {
    const { ann, ben, url } = fixture
    const Cookie = await signedInCookie(url, ann)
    const own = { Cookie, ...sameOrigin }
    const app = await fixture.app()
    const { access_token } = await newTokens(fixture, app, {
      browser: fixture.browser(),
      person: ben,
      scope: 'read:user',
    })
    assert.equal(await signedInEmail(fixture, { ...own, 'X-API-Key': ben.key }), ben.id)
    assert.equal(await signedInEmail(fixture, { ...own, Authorization: `Bearer ${ben.key}` }), ben.id)
    assert.equal(await signedInEmail(fixture, { ...own, Authorization: `Bearer ${access_token}` }), ben.id)
    assert.equal(await signedInEmail(fixture, { ...own, Authorization: `Bearer ${generateKey()}` }), 401)
    assert.equal(await signedInEmail(fixture, { ...own, Authorization: 'Basic eDp5' }), 401)
    assert.equal(await signedInEmail(fixture, { ...own, 'X-API-Key': '' }), 401)
  })
})

test('a cookie that is not a session, or is sent twice, is ignored', async () => {
  await withFixture(async fixture => {
    const { ann, ben, call, url } = fixture
    const cookie = await signedInCookie(url, ann)
    const other = await signedInCookie(url, ben)
    const id = cookie.slice('portico_session='.length)
    const hostile = [
      'portico_session=',
      'portico_session',
      `portico_session="${id}"`,
      `portico_session=${id}x`,
      `portico_session=${'A'.repeat(43)}`,
      `portico_session=#${id}`,
      `portico_session=%00${id.slice(3)}`,
      "portico_session=' OR 1=1 --",
      `portico_session=${'a'.repeat(8000)}`,
      `x-portico_session=${id}`,
      `__Host-portico_session=${id}`,
      `PORTICO_SESSION=${id}`,
      `portico_session.sig=${id}`,
      `${cookie}; ${other}`,
      `${cookie}; ${cookie}`,
      ';;;=;portico_session=;',
    ]
    for (const Cookie of hostile) {
      assert.equal(await signedInEmail(fixture, { Cookie, ...sameOrigin }), 401, Cookie.slice(0, 80))
      const open = await call('/api/v1/posts', { headers: { Cookie, ...sameOrigin } })
      assert.equal(open.status, 200, Cookie.slice(0, 80))
    }
    for (const Cookie of [`a=b; ${cookie}`, `${cookie}; theme=dark`, `${cookie};x=${'y'.repeat(4000)}`]) {
      assert.equal(await signedInEmail(fixture, { Cookie, ...sameOrigin }), ann.id)
    }
  })
})

test('shared caches neither store responses to a cookie nor use stored ones for it', async () => {
  await withFixture(async ({ ann, call, url }) => {
    const Cookie = await signedInCookie(url, ann)
    const paths = ['/api/v1/posts', '/api/v1/me', '/api/v1/events?after=0', '/api/v1/nothing']
    for (const path of paths) {
      const own = await call(path, { headers: { Cookie, ...sameOrigin } })
      assert.match(own.headers.get('cache-control') ?? '', /private|no-store/, path)
      assert.match(own.headers.get('vary') ?? '', /\bCookie\b/, path)
      const open = await call(path)
      assert.match(open.headers.get('vary') ?? '', /\bCookie\b/, path)
    }
    const ignored = await call('/api/v1/posts', { headers: { Cookie } })
    assert.equal(ignored.headers.get('cache-control'), 'public, no-cache')
    const own = { Cookie, ...sameOrigin }
    const etag = (await call('/api/v1/me', { headers: own })).headers.get('etag') ?? ''
    const unchanged = await call('/api/v1/me', { headers: { ...own, 'If-None-Match': etag } })
    assert.equal(unchanged.status, 304)
    assert.match(unchanged.headers.get('cache-control') ?? '', /private/)
    assert.match(unchanged.headers.get('vary') ?? '', /\bCookie\b/)
    for (const headers of [{}, { Cookie }])
      assert.equal((await call('/api/v1/me', { headers: { ...headers, 'If-None-Match': etag } })).status, 401)
    const foreign = { Cookie, Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
    for (const path of ['/api/v1/posts', '/api/v1/me', '/account', '/graphql?query={me{id}}']) {
      const { headers } = await call(path, { headers: { ...foreign, Accept: 'application/json' } })
      assert.equal(headers.get('access-control-allow-credentials'), null, path)
      assert.notEqual(headers.get('access-control-allow-origin'), foreign.Origin, path)
    }
  })
})

test('a session ends on the API when it ends in the browser', async () => {
  await withFixture(async fixture => {
    const { admin, ann, ben, call, url } = fixture
    const first = { Cookie: await signedInCookie(url, ben), ...sameOrigin }
    const second = { Cookie: await signedInCookie(url, ben), ...sameOrigin }
    assert.deepEqual(
      [await signedInEmail(fixture, first), await signedInEmail(fixture, second)],
      [ben.id, ben.id],
    )
    const out = await call('/account/sign-out', { method: 'POST', body: {}, headers: first })
    assert.equal(out.status, 204)
    assert.deepEqual(
      [await signedInEmail(fixture, first), await signedInEmail(fixture, second)],
      [401, ben.id],
    )
    // The next user of this browser does not inherit it.
    const next = { Cookie: await signedInCookie(url, ann, { Cookie: first.Cookie }), ...sameOrigin }
    assert.deepEqual([await signedInEmail(fixture, first), await signedInEmail(fixture, next)], [401, ann.id])
    const role = (value: string) =>
      call(`/api/v1/users/${ben.id}`, { method: 'PATCH', key: admin.key, body: { role: value } })
    await role('admin')
    assert.equal((await call('/api/v1/users', { headers: second })).status, 200)
    await role('user')
    const disable = (disabled: boolean) =>
      call(`/api/v1/users/${ben.id}`, { method: 'PATCH', key: admin.key, body: { disabled } })
    assert.equal((await disable(true)).status, 200)
    assert.equal(await signedInEmail(fixture, second), 401)
    assert.equal((await disable(false)).status, 200)
    assert.equal(await signedInEmail(fixture, second), ben.id)
    assert.equal((await call(`/api/v1/users/${ben.id}`, { method: 'DELETE', key: admin.key })).status, 204)
    assert.equal(await signedInEmail(fixture, second), 401)
  })
})

test('a session id planted in the browser is not signed in', async () => {
  await withFixture(async fixture => {
    const { ann, ben, url } = fixture
    const planted = `portico_session=${'p'.repeat(43)}`
    const taken = await signedInCookie(url, ben)
    for (const Cookie of [planted, taken]) {
      const after = await signedInCookie(url, ann, { Cookie })
      assert.notEqual(after, Cookie)
      assert.equal(await signedInEmail(fixture, { Cookie, ...sameOrigin }), 401)
      assert.equal(await signedInEmail(fixture, { Cookie: after, ...sameOrigin }), ann.id)
    }
  })
})

test('connections opened with a cookie end with its session', async () => {
  await withFixture(async ({ admin, ann, call, url }) => {
    const own = { Cookie: await signedInCookie(url, ann), ...sameOrigin }
    const other = { Cookie: await signedInCookie(url, ann), ...sameOrigin }
    const socketUrl = `${url.replace('http', 'ws')}/graphql`
    const opened = async (headers: Readonly<Record<string, string>>) => {
      const socket = await openWebSocket(socketUrl, undefined, headers)
      socket.send({ type: 'connection_init' })
      await until(() => socket.messages.length === 1)
      socket.send({ id: '1', type: 'subscribe', payload: { query: '{ me { email } }' } })
      await until(() => socket.messages.length >= 2)
      return { ...socket, isAnn: socket.messages.join().includes(ann.email) }
    }
    const mine = await opened({ Cookie: own.Cookie, Origin: url })
    const foreign = await opened({ Cookie: own.Cookie, Origin: 'https://evil.example' })
    const keptOpen = await opened(other)
    assert.deepEqual([mine.isAnn, foreign.isAnn, keptOpen.isAnn], [true, false, true])
    const stream = await openStream(url, '', { headers: own })
    assert.equal(stream.status, 200)
    assert.match(stream.headers.get('vary') ?? '', /Cookie/)
    await call('/account/sign-out', { method: 'POST', body: {}, headers: own })
    assert.equal((await mine.closed).code, 4403)
    await stream.end
    assert.equal(keptOpen.socket.readyState, keptOpen.socket.OPEN)
    const body = { disabled: true }
    await call(`/api/v1/users/${ann.id}`, { method: 'PATCH', key: admin.key, body })
    assert.equal((await keptOpen.closed).code, 4403)
    foreign.socket.close()
  })
})

test('a credential in connection_init takes precedence over the cookie', async () => {
  await withFixture(async ({ ann, ben, url }) => {
    const headers = { Cookie: await signedInCookie(url, ann), Origin: url }
    const firstResult = async (payload: unknown) => {
      const socket = await openWebSocket(`${url.replace('http', 'ws')}/graphql`, undefined, headers)
      socket.send({ type: 'connection_init', payload })
      socket.send({ id: '1', type: 'subscribe', payload: { query: '{ me { email } }' } })
      const code = await Promise.race([
        socket.closed.then(closed => closed.code),
        until(() => socket.messages.length >= 2).then(() => socket.messages.join()),
      ])
      socket.socket.close()
      return code
    }
    assert.match(String(await firstResult({ authorization: `Bearer ${ben.key}` })), new RegExp(ben.email))
    assert.match(String(await firstResult(undefined)), new RegExp(ann.email))
    assert.equal(await firstResult({ authorization: `Bearer ${generateKey()}` }), 4403)
  })
})

test('the sign-in form signs in to the API as well', async () => {
  await withFixture(async fixture => {
    const browser = fixture.browser()
    const { ann, url } = fixture
    const page = await browser.open('/account/sign-in')
    const form = 'location' in page ? undefined : formWith(page, 'password')
    assert.ok(form)
    await browser.submit(form, { email: ann.email, password: ann.password })
    const me = await browser.send(new URL('/api/v1/me', url), {
      headers: { ...sameOrigin, Accept: 'application/json' },
    })
    assert.equal(JSON.parse(me.text).id, ann.id)
  })
})

test('a session creates lasting credentials only soon after its sign-in, as on the pages', async () => {
  await withFixture(async fixture => {
    const { ann, call, url } = fixture
    const headers = { Cookie: await signedInCookie(url, ann), ...sameOrigin }
    const app = { name: 'App', type: 'confidential', redirect_uris: ['https://app.example.com/cb'] }
    const webhook = { url: 'https://hook.example.com/', types: ['post.created'] }
    const mutation = 'mutation { createApiKey(name: "by GraphQL") { key } }'
    const make = async (path: string, body: object, method = 'POST') =>
      (await call(path, { method, headers, body })).text
    const created = JSON.parse(await make('/api/v1/webhooks', webhook))
    const own = JSON.parse(await make('/api/v1/oauth_apps', app))
    assert.ok(created.id && own.id)
    const all = () =>
      Promise.all([
        make('/api/v1/api_keys', { name: 'a key' }),
        make('/graphql', { query: mutation }),
        make('/api/v1/oauth_apps', app),
        make(`/api/v1/oauth_apps/${own.id}`, { redirect_uris: app.redirect_uris }, 'PATCH'),
        make('/api/v1/oauth_app_secrets', { app_id: own.id }),
        make('/api/v1/webhooks', webhook),
        make(`/api/v1/webhooks/${created.id}`, { url: webhook.url }, 'PATCH'),
        make(`/api/v1/webhooks/${created.id}`, { enabled: true }, 'PATCH'),
        make(`/api/v1/webhooks/${created.id}`, { enabled: false, url: webhook.url }, 'PATCH'),
        make(`/api/v1/webhooks/${created.id}`, { ...webhook, enabled: false }, 'PUT'),
        make(`/api/v1/webhooks/${created.id}/rotate_secret`, {}),
        make(`/api/v1/webhooks/${created.id}/enable`, {}),
      ])
    for (const text of await all()) assert.doesNotMatch(text, /"error/)
    advance(15 * 60_000)
    for (const text of await all()) assert.match(text, /FORBIDDEN.*sign in again|sign in again.*FORBIDDEN/)
    // Restricting access and all other requests still work; so do other credentials.
    const isOn = async () => (await call(`/api/v1/webhooks/${created.id}`, { headers })).json.enabled
    const off = () => make(`/api/v1/webhooks/${created.id}`, { enabled: false }, 'PATCH')
    const ofGraphql = `mutation { updateWebhook(id: ${created.id}, enabled: false) { enabled } }`
    for (const turnOff of [off, () => make('/graphql', { query: ofGraphql })]) {
      await call(`/api/v1/webhooks/${created.id}`, { method: 'PATCH', key: ann.key, body: { enabled: true } })
      assert.equal(await isOn(), true)
      assert.doesNotMatch(await turnOff(), /"error/)
      assert.equal(await isOn(), false)
    }
    assert.equal((await call(`/api/v1/webhooks/${created.id}`, { method: 'DELETE', headers })).status, 204)
    assert.equal(await signedInEmail(fixture, headers), ann.id)
    const byKey = await call('/api/v1/api_keys', { method: 'POST', key: ann.key, body: { name: 'by key' } })
    assert.equal(byKey.status, 201, byKey.text)
    headers.Cookie = await signedInCookie(url, ann)
    assert.doesNotMatch(await make('/api/v1/api_keys', { name: 'again' }), /"error/)
  })
})

test('a session sets roles, passwords and addresses of others only soon after its sign-in', async () => {
  await withFixture(async ({ admin, ann, call, url }) => {
    const headers = { Cookie: await signedInCookie(url, admin), ...sameOrigin }
    const path = `/api/v1/users/${ann.id}`
    const role = { method: 'PATCH', path: `/users/${ann.id}`, body: { role: 'admin' } }
    const mutation = `(id: ${ann.id}, role: "admin") { role }`
    const all = (email: string) =>
      Promise.all(
        [
          call(path, { method: 'PATCH', headers, body: { role: 'admin' } }),
          call('/api/v1/batch', { method: 'POST', headers, body: { operations: [role] } }),
          call('/graphql', {
            method: 'POST',
            headers,
            body: { query: `mutation { updateUser${mutation} }` },
          }),
          call('/graphql', {
            ...{ method: 'POST', headers },
            body: { query: `mutation @atomic { updateUser${mutation} }` },
          }),
          call(path, { method: 'PATCH', headers, body: { email } }),
          call(`${path}/set_password`, {
            method: 'POST',
            headers,
            body: { password: 'a horse of a password' },
          }),
          call('/api/v1/users', {
            ...{ method: 'POST', headers },
            body: { name: 'New', email: `new.${email}`, role: 'admin' },
          }),
        ].map(async answer => (await answer).text),
      )
    advance(15 * 60_000)
    for (const text of await all(`late.${ann.email}`))
      assert.match(text, /FORBIDDEN.*sign in again|sign in again.*FORBIDDEN/)
    for (const { text } of [
      await call(`${path}/erase`, { method: 'POST', headers, body: { reason: 'asked' } }),
      await call(`${path}/personal_data?reason=asked`, { headers }),
    ])
      assert.match(text, /FORBIDDEN.*sign in again/)
    const { json } = await call(path, { key: admin.key })
    assert.deepEqual([json.role, json.email], ['user', ann.email])
    // Disabling an account needs no recent sign-in.
    const disabled = await call(path, { method: 'PATCH', headers, body: { disabled: true } })
    assert.equal(disabled.status, 200, disabled.text)
    headers.Cookie = await signedInCookie(url, admin)
    for (const text of await all(`soon.${ann.email}`)) assert.doesNotMatch(text, /"error/)
  })
})
