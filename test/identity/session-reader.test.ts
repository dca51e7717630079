/** The session cookie: its name, and how a session is cached and expires. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Records } from '../../src/base/records.ts'
import { createGuard } from '../../src/engine/plan/guard/guard.ts'
import { openSqlite } from '../../src/engine/store/sqlite/sqlite.ts'
import { createUser } from '../../src/identity/bootstrap.ts'
import { secretHash } from '../../src/identity/server/secret.ts'
import { sessionCookieReader } from '../../src/identity/session-cookie.ts'
import { checkModel } from '../../src/model/check/check.ts'
import { createRun } from '../../src/server/serve/store.ts'
import blog from '../models/blog.ts'
import { withFixture } from './conformance/server.ts'

test('a session is read once while nothing changes, and expires by the clock', async () => {
  let time = Date.UTC(2026, 0, 1)
  const now = () => time
  const model = checkModel(blog)
  const store = openSqlite(model, { file: ':memory:', now })
  try {
    const run = createRun(createGuard(model), store)
    const id = await createUser(run, { name: 'Ada', email: 'ada@example.com' }, 'a good long password')
    const cookie = 'c'.repeat(43)
    const signedInFor = (accountId: string | undefined) => ({
      kind: 'Session',
      id: secretHash(cookie),
      payload: JSON.stringify({ accountId }),
      expiresAt: time + 60_000,
    })
    let reads = 0
    const records: Records = Object.create(store.records, {
      get: {
        value: (kind: string, of: string) => {
          reads++
          return store.records.get(kind, of)
        },
      },
      version: { value: (kind: string) => store.records.version(kind) },
    })
    const version = (name: string) => store.version(name)
    const issuer = () => 'https://id.example.com'
    const reader = sessionCookieReader({ run, records, version, issuer, now })
    const headers = { cookie: `__Host-portico_session=${cookie}`, ...{ 'sec-fetch-site': 'same-origin' } }
    const userId = async () => (await reader.read(headers))?.userId
    await store.records.put(signedInFor(undefined))
    assert.equal(await userId(), undefined)
    await store.records.put(signedInFor(String(id)))
    for (let count = 0; count < 3; count++) assert.equal(await userId(), id)
    assert.equal(reads, 2)
    assert.equal(await reader.read({ ...headers, cookie: `portico_session=${cookie}` }), null)
    assert.equal(await reader.read({ 'sec-fetch-site': 'same-origin' }), null)
    assert.equal(await reader.read({ ...headers, 'sec-fetch-site': 'cross-site' }), null)
    assert.equal((await reader.signedIn({ cookie: headers.cookie }))?.userId, id)
    time += 60_000
    assert.equal(await userId(), undefined)
    assert.equal(reads, 2)
  } finally {
    await store.close()
  }
})

test('over https the cookie has the __Host- prefix, and is removed with the attributes it was set with', async () => {
  const issuer = 'https://id.example.com'
  await withFixture({ baseUrl: issuer }, async ({ ann, call }) => {
    const headers = { Origin: issuer }
    const { email, password } = ann
    const sign = (path: string, body: object, more: object = {}) =>
      call(`/account/${path}`, { method: 'POST', headers: { ...headers, ...more }, body })
    const line = (answer: { readonly headers: Headers }) =>
      answer.headers.getSetCookie().find(item => item.startsWith('__Host-portico_session=')) ?? ''
    const set = line(await sign('sign-in', { email, password }))
    assert.match(set, /^__Host-portico_session=[\w-]{43}; path=\/; samesite=lax; secure; httponly$/i)
    const [Cookie = ''] = set.split(';')
    const status = async (cookie: string) =>
      (await call('/api/v1/me', { headers: { ...headers, Cookie: cookie } })).status
    assert.deepEqual([await status(Cookie), await status(Cookie.replace('__Host-', ''))], [200, 401])
    const ended = line(await sign('sign-out', {}, { Cookie }))
    assert.match(
      ended,
      /^__Host-portico_session=; path=\/; expires=Thu, 01 Jan 1970[^;]+; samesite=lax; secure/i,
    )
    assert.equal(await status(Cookie), 401)
  })
})
