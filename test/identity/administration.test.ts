/** Administration of accounts through the API, and the credentials that must not allow it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { user } from '../../src/base/principal.ts'
import { action, anyone, collection, type ModelError, model, relation } from '../../src/index.ts'
import { checkModel } from '../../src/model/check/check.ts'
import { administrationActions } from '../../src/server/serve/transports/administration.ts'
import blog from '../models/blog.ts'
import { withService } from '../server/serve/service.ts'
import { sqlite } from '../setups/sqlite.ts'
import { type Fixture, newTokens, type Person, sharedFixtures } from './conformance/server.ts'
import { sameOrigin, signedInCookie } from './own-page.ts'
import { withSmtp } from './smtp.ts'

const withFixture = sharedFixtures(sqlite)
const scopes = [
  'openid',
  'read:user',
  'write:user',
  'read:post',
  'write:api_key',
  'write:oauth_app',
  'write:oauth_app_secret',
]
const scope = scopes.join(' ')

const path = ({ id }: Pick<Person, 'id'>, below = '') => `/api/v1/users/${id}${below}`

async function tokenOf(fixture: Fixture, person: Person, more: object = {}): Promise<string> {
  const body = {
    ...{ name: 'Tool', type: 'confidential', redirect_uris: ['http://127.0.0.1:9/callback'], scopes },
    ...more,
  }
  const created = await fixture.call('/api/v1/oauth_apps', { method: 'POST', key: fixture.admin.key, body })
  assert.equal(created.status, 201, created.text)
  const app = created.json as never
  const { access_token = '' } = await newTokens(fixture, app, { browser: fixture.browser(), person, scope })
  return access_token
}

test('the password set by an administrator becomes the only way to sign in, if the request asks for it', async () => {
  await withFixture(async ({ call, admin, ben, deployment }) => {
    const store = await deployment.openStore(checkModel(blog))
    const owner = String(ben.id)
    const kinds = ['Passkey', 'Identity', 'Totp', 'RecoveryCode']
    const left = async () =>
      (await Promise.all(kinds.map(kind => store.records.byOwner(kind, owner)))).map(({ length }) => length)
    try {
      for (const kind of kinds)
        await store.records.put({ kind, id: `${kind} of ben`, payload: '{}', expiresAt: null, owner })
      const set = (body: object) => call(path(ben, '/set_password'), { method: 'POST', key: admin.key, body })
      const password = 'chosen by an administrator'
      for (const [body, held] of [
        [{ password }, 1],
        [{ password, only_way: false }, 1],
        [{ password, only_way: true }, 0],
      ] as const) {
        assert.equal((await set(body)).status, 204)
        assert.deepEqual(
          await left(),
          kinds.map(() => held),
          JSON.stringify(body),
        )
      }
      assert.equal((await set({ password, only_way: 'yes' })).status, 400)
    } finally {
      await store.close()
    }
  })
})

test('a password set by an administrator revokes what the old password gave access to', async () => {
  await withFixture(async fixture => {
    const { call, admin, ben, url } = fixture
    const Cookie = await signedInCookie(url, ben)
    const password = 'a new one that an administrator chose'
    const set = (body: unknown, headers = {}) =>
      call(path(ben, '/set_password'), { method: 'POST', key: admin.key, body, headers })
    for (const [body, status] of [
      [{}, 400],
      [{ password: 'short' }, 400],
      [{ password: 7 }, 400],
      [{ password, more: 1 }, 400],
      [{ password: 'x'.repeat(257) }, 400],
      [{ password: ben.email }, 400],
    ] as const) {
      assert.equal((await set(body)).status, status, JSON.stringify(body))
    }
    const keyed = { 'Idempotency-Key': 'one' }
    const answer = await set({ password }, keyed)
    assert.equal(answer.status, 204, answer.text)
    assert.equal(answer.text, '')
    const replayed = await set({ password }, keyed)
    assert.equal(replayed.headers.get('idempotent-replayed'), 'true')
    assert.equal((await set({ password: `${password}!` }, keyed)).status, 422)
    assert.equal((await call('/api/v1/me', { headers: { Cookie, ...sameOrigin } })).status, 401)
    assert.equal((await call('/api/v1/me', { key: ben.key })).status, 401)
    await assert.rejects(signedInCookie(url, ben))
    assert.ok(await signedInCookie(url, { ...ben, password }))
    assert.equal(
      (
        await call('/api/v1/users/999999/set_password', {
          method: 'POST',
          key: admin.key,
          body: { password },
        })
      ).status,
      404,
    )
  })
})

test('an administrator lists the sessions and grants of a user, and ends one or all', async () => {
  await withFixture(async fixture => {
    const { call, admin, ben, url } = fixture
    const token = await tokenOf(fixture, ben)
    const Cookie = await signedInCookie(url, ben)
    const as = { key: admin.key }
    type Listed = { readonly data: readonly Record<string, unknown>[]; readonly meta: unknown }
    const listed = async (what: string) => {
      const { status, text, json, headers } = await call(path(ben, `/${what}`), as)
      assert.equal(status, 200, text)
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.ok(!text.includes(token) && !text.includes(Cookie.split('=')[1] ?? Cookie))
      return json as unknown as Listed
    }
    const remove = (what: string) => call(path(ben, `/${what}`), { ...as, method: 'DELETE' })
    const sessions = await listed('sessions')
    assert.equal(sessions.data.length, 2)
    assert.deepEqual(sessions.meta, { total: 2 })
    assert.deepEqual(Object.keys(sessions.data[0] ?? {}), [
      'id',
      'signed_in_at',
      'expires_at',
      'address',
      'browser',
    ])
    assert.equal((await remove('sessions/unknown')).status, 404)
    assert.equal((await remove(`sessions/${sessions.data[0]?.['id']}`)).status, 204)
    assert.equal((await listed('sessions')).data.length, 1)
    assert.equal((await remove('sessions')).status, 204)
    assert.equal((await call('/api/v1/me', { headers: { Cookie, ...sameOrigin } })).status, 401)
    assert.equal((await call('/api/v1/me', { key: token })).status, 200)

    const grants = await listed('grants')
    assert.deepEqual(
      grants.data.map(keyPath => [...(keyPath['scopes'] as string[])].sort()),
      [[...scopes].sort()],
    )
    assert.equal((await remove('grants/unknown')).status, 404)
    assert.equal((await remove(`grants/${grants.data[0]?.['client_id']}`)).status, 204)
    assert.equal((await call('/api/v1/me', { key: token })).status, 401)
    const own = await tokenOf(fixture, ben, { first_party: true })
    assert.equal((await listed('grants')).data.length, 1, 'a first-party app has a grant too')
    assert.equal((await remove('grants')).status, 204)
    assert.deepEqual((await listed('grants')).data, [])
    assert.equal((await call('/api/v1/me', { key: own })).status, 401)
    assert.equal((await call(path(ben, '/sessions/x'), as)).status, 405)
    assert.equal((await call(path(ben, '/sessions?page=1'), as)).status, 400)
  })
})

test('an administrator lists and revokes any user’s API keys, but changes none', async () => {
  await withFixture(async ({ call, admin, ann, ben }) => {
    const list = await call(path(ben, '/api_keys'), { key: admin.key })
    const [key] = list.json['data'] as readonly { id: number }[]
    assert.ok(key, list.text)
    assert.ok(!list.text.includes('hash') && !list.text.includes(ben.key))
    const keyPath = `/api/v1/api_keys/${key.id}`
    assert.equal((await call(keyPath, { key: ann.key })).status, 404)
    assert.equal((await call(keyPath, { key: ann.key, method: 'DELETE' })).status, 404)
    const change = { method: 'PATCH', key: admin.key, body: { expires_at: null } }
    assert.equal((await call(keyPath, change)).status, 403)
    assert.equal((await call(keyPath, { key: admin.key, method: 'DELETE' })).status, 204)
    assert.equal((await call('/api/v1/me', { key: ben.key })).status, 401)
  })
})

type Sender = (fixture: Fixture) => Promise<Readonly<Record<string, string>>>

const bearer = (key: string) => ({ Authorization: `Bearer ${key}` })

/** The text of a key that the credential creates. */
async function keyBy({ call }: Fixture, token: string, scopes: readonly string[]): Promise<string> {
  const created = await call('/api/v1/api_keys', {
    method: 'POST',
    key: token,
    body: { name: 'k', scopes },
  })
  assert.equal(created.status, 201, created.text)
  return String(created.json['key'])
}

const senders: readonly (readonly [what: string, may: boolean, sender: Sender])[] = [
  ['an administrator’s key', true, async ({ admin }) => bearer(admin.key)],
  [
    'an administrator’s key with write:user',
    true,
    async f => bearer(await keyBy(f, f.admin.key, ['write:user', 'read:api_key'])),
  ],
  [
    'an administrator’s session',
    true,
    async f => ({ Cookie: await signedInCookie(f.url, f.admin), ...sameOrigin }),
  ],
  ['a first-party app’s token', true, async f => bearer(await tokenOf(f, f.admin, { first_party: true }))],
  ['a third-party app’s token', false, async f => bearer(await tokenOf(f, f.admin))],
  [
    'a third-party app’s JWT',
    false,
    async f => bearer(await tokenOf(f, f.admin, { access_token_format: 'jwt' })),
  ],
  [
    'a key that a third-party app has created',
    false,
    async f => bearer(await keyBy(f, await tokenOf(f, f.admin), ['write:user', 'write:api_key'])),
  ],
  [
    'a key created with a key that a third-party app has created',
    false,
    async f => {
      const first = await keyBy(f, await tokenOf(f, f.admin), ['write:user', 'write:api_key'])
      return bearer(await keyBy(f, first, ['write:user', 'write:api_key']))
    },
  ],
  ['another user’s key', false, async ({ ann }) => bearer(ann.key)],
]

for (const [what, may, sender] of senders) {
  test(`${what} ${may ? 'can' : 'cannot'} administer accounts`, async () => {
    await withFixture(async fixture => {
      const { call, ben, cleo, admin } = fixture
      const headers = await sender(fixture)
      const password = 'a new one that an administrator chose'
      const rows: readonly (readonly [string, string, unknown?])[] = [
        ['PATCH', path(ben), { disabled: true }],
        ['PATCH', path(ben), { role: 'accountant' }],
        ['POST', path(ben, '/set_password'), { password }],
        ['GET', path(ben, '/sessions')],
        ['DELETE', path(ben, '/sessions')],
        ['GET', path(ben, '/grants')],
        ['DELETE', path(ben, '/grants')],
      ]
      for (const [method, address, body] of rows) {
        const { status, text } = await call(address, { method, headers, body })
        const details = `${method} ${address} ${JSON.stringify(body)}: ${status} ${text}`
        if (may) assert.ok(status < 300, details)
        else assert.equal(status, 403, details)
      }
      const others = await call(path(cleo, '/api_keys'), { headers })
      assert.equal((others.json['data'] as unknown[] | undefined)?.length ?? 0, may ? 1 : 0, others.text)
      const document = '{ updateUser(id: "ID", disabled: true) { id } }'.replace('ID', String(cleo.id))
      await call('/graphql', { method: 'POST', headers, body: { query: `mutation ${document}` } })
      const batch = { operations: [{ method: 'PATCH', path: path(cleo).slice(7), body: { role: 'x' } }] }
      await call('/api/v1/batch', { method: 'POST', headers, body: batch })
      const email = `taken-${cleo.email}`
      await call(path(cleo), { method: 'PATCH', headers, body: { email } })
      const after = await call(path(cleo), { key: admin.key })
      assert.equal(
        after.json['email'],
        may ? email : cleo.email,
        'the owner of the address can reset the password',
      )
      assert.equal(after.json['disabled'], may, 'by GraphQL')
      assert.equal(after.json['role'], may ? 'x' : 'accountant', 'by a batch')
    })
  })
}

test('a third-party app can neither create a first-party app nor change its redirect URIs', async () => {
  await withFixture(async fixture => {
    const { call, admin } = fixture
    const token = await tokenOf(fixture, admin)
    const body = {
      ...{ name: 'Own', type: 'public', redirect_uris: ['https://own.example/'], scopes: ['read:post'] },
      first_party: true,
    }
    const address = '/api/v1/oauth_apps'
    assert.equal((await call(address, { method: 'POST', key: token, body })).status, 403)
    const created = await call(address, { method: 'POST', key: admin.key, body })
    const change = { method: 'PATCH', body: { redirect_uris: ['https://evil.example/'] } }
    const at = `${address}/${created.json['id']}`
    assert.equal((await call(at, { ...change, key: token })).status, 403)
    assert.equal((await call(at, { ...change, key: admin.key })).status, 200)
    const confidential = { ...body, type: 'confidential' }
    const kept = await call(address, { method: 'POST', key: admin.key, body: confidential })
    const secret = { method: 'POST', body: { app_id: kept.json['id'] } }
    assert.equal((await call('/api/v1/oauth_app_secrets', { ...secret, key: token })).status, 403)
    assert.equal((await call('/api/v1/oauth_app_secrets', { ...secret, key: admin.key })).status, 201)
  })
})

test('administration actions can be explained, cannot be part of a batch, and need a scope', async () => {
  await withFixture(async fixture => {
    const { call, admin, ann, ben } = fixture
    const request = { as: ann.id, method: 'POST', path: `/users/${ben.id}/set_password` }
    const body = { ...request, body: { password: 'a new one that an administrator chose' } }
    const asUser = await call('/api/v1/explain', { method: 'POST', key: admin.key, body })
    assert.equal(asUser.json['allowed'], false, asUser.text)
    assert.match(asUser.text, /firstParty/)
    const asAdmin = await call('/api/v1/explain', {
      method: 'POST',
      key: admin.key,
      body: { ...body, as: admin.id },
    })
    assert.equal(asAdmin.json['allowed'], true, asAdmin.text)
    assert.equal((await call('/api/v1/me', { key: ben.key })).status, 200, 'explain changes nothing')
    const Cookie = await signedInCookie(fixture.url, ben)
    const listed = await call(path(ben, '/sessions'), { key: admin.key })
    const [session] = listed.json['data'] as readonly { readonly id: string }[]
    const end = { as: admin.id, method: 'DELETE', path: `/users/${ben.id}/sessions/${session?.id}` }
    const ended = await call('/api/v1/explain', { method: 'POST', key: admin.key, body: end })
    assert.equal(ended.json['allowed'], true, ended.text)
    const own = await call('/api/v1/me', { headers: { Cookie, ...sameOrigin } })
    assert.equal(own.status, 200, 'an explained deletion ends no session')

    const operations = [{ method: 'POST', path: request.path, body: body.body }]
    const batch = await call('/api/v1/batch', { method: 'POST', key: admin.key, body: { operations } })
    assert.equal(batch.status, 400, batch.text)
    const reading = await keyBy(fixture, admin.key, ['read:user'])
    assert.equal((await call(path(ben, '/sessions'), { key: reading })).status, 200)
    const ending = await call(path(ben, '/sessions'), { key: reading, method: 'DELETE' })
    assert.equal(ending.code, 'INSUFFICIENT_SCOPE')
    const setting = await call(path(ben, '/set_password'), { key: reading, method: 'POST', body: body.body })
    assert.equal(setting.code, 'INSUFFICIENT_SCOPE')
    assert.equal((await call(path(ben, '/sessions'))).status, 401)
    const options = await call(path(ben, '/sessions'), { method: 'OPTIONS' })
    assert.equal(options.headers.get('allow'), 'GET, HEAD, DELETE, OPTIONS')
  })
})

test('a user gets one mail when their account is disabled, and one when an administrator sets their password', async () => {
  await withSmtp(async (smtp, received) => {
    await withService({ rateLimit: 'off', 'mail.smtp': smtp }, async ({ call, key }) => {
      const person = { name: 'Ann', email: 'ann@example.com' }
      const created = await call('/api/v1/users', { method: 'POST', key, body: person })
      const at = `/api/v1/users/${created.json['id']}`
      for (const disabled of [true, true, false]) {
        assert.equal((await call(at, { method: 'PATCH', key, body: { disabled } })).status, 200)
      }
      const body = { password: 'never in any mail' }
      assert.equal((await call(`${at}/set_password`, { method: 'POST', key, body })).status, 204)
    })
    // Stopping the service sends the pending mails.
    const sentTo = received.commands.filter(command => command.startsWith('RCPT'))
    assert.deepEqual(sentTo, ['RCPT TO:<ann@example.com>', 'RCPT TO:<ann@example.com>'])
    const subjects = received.data.split('\n').filter(line => line.startsWith('Subject:'))
    assert.match(subjects.sort().join(), /disabled.*password/)
    assert.ok(!received.data.includes('never in any'))
  })
})

test('a session can set a password only soon after its sign-in', async () => {
  // The check comes before any access to the database.
  const action = administrationActions({} as never)
    .get('users')
    ?.get('set_password')
  const target = { id: 2, nested: undefined, input: { password: 'a new one that an administrator chose' } }
  const principal = { ...user(1, 'admin', 'all'), signedInAt: 0 }
  await assert.rejects(async () => action?.(target, principal), /sign in again/)
})

test('a model cannot declare the names of built-in actions again', () => {
  const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
  const declared = model(
    {
      talks: collection({ access, fields: { speaker_id: relation('users', { inverse: 'sessions' }) } }),
    },
    {
      actions: {
        set_password: action({ on: 'users', access: anyone, async run() {} }),
        grants: action({ on: 'users', access: anyone, async run() {} }),
      },
    },
  )
  assert.throws(
    () => checkModel(declared),
    (error: ModelError) => {
      assert.deepEqual(error.faults.map(({ place }) => place).sort(), [
        'actions.grants',
        'actions.set_password',
        'talks.fields.speaker_id.inverse',
      ])
      return true
    },
  )
})
