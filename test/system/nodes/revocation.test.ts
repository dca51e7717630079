/** A credential revoked on one node is refused by all, and its open connections are closed. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Browser } from '../../identity/conformance/browser.ts'
import {
  type App,
  clientCredentials,
  type Fixture,
  formWith,
  newTokens,
  post,
  sharedFixtures,
} from '../../identity/conformance/server.ts'
import { postJson, sameOrigin, signedInCookie } from '../../identity/own-page.ts'
import { call } from '../../server/serve/service.ts'
import { nodeSetups } from '../../setups/setups.ts'
import { endWithinSecond } from '../../within-second.ts'
import { type CredentialHeaders, headersOf, listen, stream } from './listeners.ts'

const scope = 'openid offline_access read:user read:post'

interface RevokedCredential {
  readonly token: CredentialHeaders
  revoke(url: string): Promise<unknown>
}

async function newKey({ ben }: Fixture, url: string): Promise<{ id: number; key: string }> {
  const body = { name: 'to be revoked', scopes: ['*'] }
  const created = await call(`${url}/api/v1/api_keys`, { method: 'POST', key: ben.key, body })
  assert.equal(created.status, 201, created.text)
  return created.json as unknown as { id: number; key: string }
}

async function issue(
  fixture: Fixture,
  format: string,
): Promise<{ app: App; token: string; browser: Browser }> {
  const app = await fixture.app({ access_token_format: format })
  const browser = fixture.browser()
  const options = { browser, person: fixture.ben, scope, parameters: { prompt: 'consent' } }
  const { access_token = '' } = await newTokens(fixture, app, options)
  return { app, token: access_token, browser }
}

/** Disconnects the app on the page of connected apps. */
async function disconnect(browser: Browser, { url }: Fixture): Promise<void> {
  const page = await browser.open(`${url}/account/apps`)
  assert.ok(!('location' in page))
  const form = page.forms.find(({ buttons }) => buttons.some(({ label }) => /disconnect/i.test(label)))
  assert.ok(form, page.text)
  const after = await browser.submit(form)
  assert.ok(!('location' in after) && after.status === 200)
}

const remove = async (address: string, key: string) =>
  assert.equal((await call(address, { method: 'DELETE', key })).status, 204)

const ways: Readonly<Record<string, (fixture: Fixture) => Promise<RevokedCredential>>> = {
  'a deleted API key': async fixture => {
    const { id, key } = await newKey(fixture, fixture.url)
    return { token: key, revoke: url => remove(`${url}/api/v1/api_keys/${id}`, fixture.ben.key) }
  },
  'an API key of a deleted user': async fixture => {
    const { key } = await newKey(fixture, fixture.url)
    return {
      token: key,
      revoke: url => remove(`${url}/api/v1/users/${fixture.ben.id}`, fixture.admin.key),
    }
  },
  'an opaque token revoked by its app': async fixture => {
    const { app, token } = await issue(fixture, 'opaque')
    const revoke = async (url: string) =>
      assert.equal((await post(`${url}/oauth/revoke`, { token, ...clientCredentials(app) })).status, 200)
    return { token, revoke }
  },
  'a JWT of an app that the user disconnects': async fixture => {
    const { token, browser } = await issue(fixture, 'jwt')
    return { token, revoke: () => disconnect(browser, fixture) }
  },
  'an opaque token of an app that the user disconnects': async fixture => {
    const { token, browser } = await issue(fixture, 'opaque')
    return { token, revoke: () => disconnect(browser, fixture) }
  },
  'the cookie of a session that has signed out': async fixture => {
    const token = { Cookie: await signedInCookie(fixture.url, fixture.ben), ...sameOrigin }
    const revoke = (url: string) => postJson(`${url}/account/sign-out`, {}, token)
    return { token, revoke }
  },
  'a JWT of a deleted app': async fixture => {
    const { app, token } = await issue(fixture, 'jwt')
    return { token, revoke: url => remove(`${url}/api/v1/oauth_apps/${app.id}`, fixture.ann.key) }
  },
}

async function statusOf(url: string, token: CredentialHeaders): Promise<number> {
  return (await call(`${url}/api/v1/me`, { headers: headersOf(token) })).status
}

for (const setup of nodeSetups)
  suite(setup.name, () => {
    const withShared = sharedFixtures(setup)
    for (const [name, way] of Object.entries(ways)) {
      test(`${name} is refused by every node, and its connections are closed (${setup.name})`, async t => {
        await withShared(async fixture => {
          const { urls } = fixture
          const { token, revoke } = await way(fixture)
          const sockets = await Promise.all(urls.map(url => listen(url, token)))
          const streams = await Promise.all(urls.map(url => stream(url, token)))
          for (const url of urls) assert.equal(await statusOf(url, token), 200)
          const [idle = '', revoking = '', ...others] = urls
          const ends = [
            ...sockets.map(({ closed }) => closed),
            ...streams.map(({ end }) => end.catch(() => 'cut')),
          ]
          await revoke(revoking)
          const since = performance.now()
          const inTime = endWithinSecond(ends, () => Promise.all(urls.map(url => call(`${url}/healthz`))))
          // After the acknowledgement, every node refuses it. The idle node must close its connections without a request.
          const statuses = await Promise.all([revoking, ...others].map(url => statusOf(url, token)))
          assert.ok(await inTime, 'a connection is still open after a second')
          t.diagnostic(`${Math.round(performance.now() - since)} ms until the last connection was closed`)
          assert.deepEqual(new Set(statuses), new Set([401]))
          assert.equal(await statusOf(idle, token), 401)
        })
      })
    }

    test(`every credential of a disabled account is refused by every node until the account is enabled (${setup.name})`, async t => {
      await withShared(async fixture => {
        const { urls, admin, ben } = fixture
        const tokens = [
          (await newKey(fixture, fixture.url)).key,
          (await issue(fixture, 'opaque')).token,
          (await issue(fixture, 'jwt')).token,
          { Cookie: await signedInCookie(fixture.url, ben), ...sameOrigin },
        ]
        const open = tokens.flatMap(token => urls.map(url => ({ url, token })))
        const sockets = await Promise.all(open.map(({ url, token }) => listen(url, token)))
        const streams = await Promise.all(open.map(({ url, token }) => stream(url, token)))
        const ends = [
          ...sockets.map(({ closed }) => closed),
          ...streams.map(({ end }) => end.catch(() => 'cut')),
        ]
        const set = (disabled: boolean) =>
          call(`${urls[1]}/api/v1/users/${ben.id}`, { method: 'PATCH', key: admin.key, body: { disabled } })
        assert.equal((await set(true)).status, 200)
        const since = performance.now()
        const ask = () => Promise.all(urls.map(url => call(`${url}/healthz`)))
        assert.ok(await endWithinSecond(ends, ask), 'a connection is still open after a second')
        t.diagnostic(`${Math.round(performance.now() - since)} ms until the last connection was closed`)
        const statuses = () => Promise.all(open.map(({ url, token }) => statusOf(url, token)))
        assert.deepEqual(new Set(await statuses()), new Set([401]))
        assert.equal((await set(false)).status, 200)
        assert.deepEqual(
          new Set(await statuses()),
          new Set([200]),
          'the credentials were suspended, not revoked',
        )
      })
    })

    test(`two administrators cannot disable or demote each other at the same time on two nodes (${setup.name})`, async () => {
      await withShared(async fixture => {
        const { urls, admin, ben, call: ask } = fixture
        const patch = (url: string, key: string, id: number, body: unknown) =>
          call(`${url}/api/v1/users/${id}`, { method: 'PATCH', key, body })
        const all = await ask('/api/v1/users?role=admin&per_page=100', { key: admin.key })
        for (const { id } of all.json['data'] as readonly { readonly id: number }[]) {
          if (id !== admin.id) await patch(fixture.url, admin.key, id, { role: 'user' })
        }
        const [first = '', second = ''] = urls
        let last = admin
        for (let round = 0; round < 8; round++) {
          const otherPerson = last === admin ? ben : admin
          const again = await patch(first, last.key, otherPerson.id, { role: 'admin', disabled: false })
          assert.equal(again.status, 200, again.text)
          const change = round % 2 === 0 ? { disabled: true } : { role: 'user' }
          const answers = await Promise.all([
            patch(first, last.key, otherPerson.id, change),
            patch(second, otherPerson.key, last.id, change),
          ])
          const results = answers.map(({ status }) => status === 200)
          assert.deepEqual([...results].sort(), [false, true], answers.map(({ text }) => text).join())
          if (results[1]) last = otherPerson
        }
      })
    })

    test(`the owner of an app cannot change its redirect URIs once it is marked as first-party (${setup.name})`, async () => {
      await withShared(async fixture => {
        const { urls, admin, ann } = fixture
        const app = await fixture.app()
        const path = `/api/v1/oauth_apps/${app.id}`
        const patch = (url: string, key: string, body: object) =>
          call(url + path, { method: 'PATCH', key, body })
        for (let round = 0; round < 8; round++) {
          const changes = urls.map(url =>
            patch(url, ann.key, { redirect_uris: [`https://${round}.example`] }),
          )
          const [marked] = await Promise.all([
            patch(fixture.url, admin.key, { first_party: true }),
            ...changes,
          ])
          assert.equal(marked.status, 200, marked.text)
          // The redirect URIs in the administrator's response are final.
          const { json } = await fixture.call(path, { key: ann.key })
          assert.deepEqual(json['redirect_uris'], marked.json['redirect_uris'])
          assert.equal((await patch(fixture.url, admin.key, { first_party: false })).status, 200)
        }
      })
    })

    test(`a change of role takes effect on every node at once (${setup.name})`, async () => {
      await withShared(async fixture => {
        const { urls, admin, ben } = fixture
        const created = await fixture.call('/api/v1/posts', {
          method: 'POST',
          key: fixture.ann.key,
          body: { title: 'Ann’s' },
        })
        const change = (url: string) =>
          call(`${url}/api/v1/posts/${created.json.id}`, {
            method: 'PATCH',
            key: ben.key,
            body: { title: 'x' },
          })
        const set = (url: string, role: string) =>
          call(`${url}/api/v1/users/${ben.id}`, { method: 'PATCH', key: admin.key, body: { role } })
        for (const [turn, role] of ['admin', 'user', 'admin', 'user'].entries()) {
          assert.equal((await set(urls[turn % urls.length] ?? '', role)).status, 200)
          for (const url of urls) assert.equal((await change(url)).status, role === 'admin' ? 200 : 403, url)
        }
      })
    })

    test(`a sign-out on one node ends the session on all (${setup.name})`, async () => {
      await withShared(async fixture => {
        const browser = fixture.browser()
        const isSignedIn = async () => {
          const page = await browser.open(`${fixture.url}/account`)
          return !('location' in page) && formWith(page, 'password') === undefined
        }
        const first = await browser.open(`${fixture.url}/account`)
        const form = 'location' in first ? undefined : formWith(first, 'password')
        assert.ok(form)
        await browser.submit(form, { email: fixture.ben.email, password: fixture.ben.password })
        for (const _ of fixture.urls) assert.ok(await isSignedIn())
        const page = await browser.open(`${fixture.url}/account`)
        assert.ok(!('location' in page))
        const out = page.forms.find(({ buttons }) => buttons.some(({ label }) => /sign out/i.test(label)))
        assert.ok(out, page.text)
        await browser.submit(out)
        for (const _ of fixture.urls) assert.ok(!(await isSignedIn()))
      })
    })
  })
