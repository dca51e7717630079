import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../src/base/errors.ts'
import {
  allowedScopes,
  anonymous,
  type Principal,
  type Scopes,
  system,
  user,
} from '../../../src/base/principal.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { createAuthenticate } from '../../../src/identity/authenticate.ts'
import { apiKeyReader } from '../../../src/identity/keys/api-key.ts'
import { generateKey, keyHash } from '../../../src/identity/keys/key.ts'
import { newKeyHook } from '../../../src/identity/keys/new-key.ts'
import type { AppRights } from '../../../src/identity/server/clients/apps.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'

interface Row {
  readonly id: number
  readonly user_id: number
  readonly scopes: readonly string[] | null
  readonly expires_at: string | null
  readonly grant?: string
  readonly user: { readonly role: string } | null
}

/** The key that creates another descends from no grant and no key. */
const plainCreator = {
  item: () => ({ kind: 'item', text: '{"grant":null,"app_id":null,"ancestors":null}' }),
} as unknown as Run

/** No key of these tests descends from a grant. */
const noGrants = { rightsOfGrant: () => assert.fail('no grant is read'), version: () => 0 }

const start = Date.parse('2026-01-01T00:00:00Z')

const shop = { id: 1, name: 'Shop' }

/** A database of keys that counts its look-ups. */
function open() {
  const rows = new Map<string, Row>()
  const app = { app: shop, scopes: 'all', firstParty: true, budget: undefined } as AppRights | undefined
  const state = { lookUps: 0, now: start, later: false, grantsVersion: 1, app }
  const versions: Record<string, number> = { api_keys: 1, users: 1 }
  const version = (collection: string) =>
    versions[collection] ?? assert.fail(`keys do not depend on ${collection}`)
  const change = (collection: 'api_keys' | 'users') => {
    versions[collection] = version(collection) + 1
  }
  const run = {
    list({ args }: { args: readonly JsonValue[] }, principal: unknown) {
      assert.equal(principal, system)
      state.lookUps++
      const row = rows.get(String(args[2]))
      const answer = {
        kind: 'list',
        text: JSON.stringify(row ? [row] : []),
        total: rows.size,
        next: undefined,
      }
      return state.later ? Promise.resolve(answer) : answer
    },
  } as unknown as Run
  const grants = {
    rightsOfGrant: (userId: number, hash: string) => {
      assert.deepEqual([userId, hash], [7, 'x'])
      return state.app
    },
    version: () => state.grantsVersion,
  }
  const reader = apiKeyReader({ run, version, grants, now: () => state.now })
  const add = (row: Partial<Row> = {}) => {
    const key = generateKey()
    rows.set(keyHash(key), {
      id: 3,
      user_id: 7,
      scopes: ['*'],
      expires_at: null,
      user: { role: 'user' },
      ...row,
    })
    return key
  }
  const read = (text: string) => reader.read({ place: 'bearer', text })
  return { rows, state, run, reader, change, add, read }
}

/** The principal of key 3. */
const keyOf = (role: string, scopes: Scopes, expiresAt?: number) =>
  user(7, role, scopes, undefined, expiresAt, { app: null, grant: 'key:3' })

test('a key stands for its user, with the user’s role and the key’s scopes', () => {
  const { add, read } = open()
  assert.deepEqual(read(add()), keyOf('user', 'all'))
  const limited = read(add({ scopes: ['read:post'], user: { role: 'admin' } }))
  assert.deepEqual(limited, keyOf('admin', new Set(['read:post'])))
})

test('a key that descends from a grant has the app, with its present name and rights, and ends with the grant', () => {
  const { add, read, state } = open()
  const [key, other] = [add({ grant: 'grant:x', scopes: ['read:post', 'write:post'] }), add()]
  const principalOf = () => read(key) as Principal | null
  assert.equal(principalOf()?.access.thirdParty, undefined)
  assert.deepEqual(principalOf()?.app, shop)
  const change = (app: AppRights | undefined) => {
    state.app = app
    state.grantsVersion++
  }
  const budget = { key: 'users-of-app:x', limit: 50 }
  change({ app: { ...shop, name: 'Store' }, scopes: new Set(['read:post']), firstParty: false, budget })
  assert.deepEqual(principalOf()?.app, { id: 1, name: 'Store' })
  assert.deepEqual(principalOf()?.appBudget, budget)
  assert.deepEqual(principalOf()?.access.scopes, new Set(['read:post']))
  assert.equal(principalOf()?.access.thirdParty, true)
  change(undefined)
  assert.equal(principalOf(), null)
  assert.deepEqual(read(other), keyOf('user', 'all'))
})

for (const changed of ['api_keys', 'users'] as const) {
  test(`a key is looked up once, and again after ${changed} have changed`, () => {
    const { add, read, state, rows, change } = open()
    const key = add()
    for (let at = 0; at < 5; at++) assert.ok(read(key))
    assert.equal(state.lookUps, 1)
    rows.clear()
    change(changed)
    assert.equal(read(key), null)
    assert.equal(read(key), null)
    assert.equal(state.lookUps, 2, 'a missing key is cached too')
  })
}

test('a key that was refused works as soon as it is created', () => {
  const { read, rows, change } = open()
  const key = generateKey()
  assert.equal(read(key), null)
  rows.set(keyHash(key), { id: 3, user_id: 7, scopes: null, expires_at: null, user: { role: 'user' } })
  change('api_keys')
  assert.ok(read(key))
})

test('a change during a look-up is not missed', async () => {
  const { add, read, state, rows, change } = open()
  const key = add()
  state.later = true
  const reading = read(key)
  rows.clear()
  change('users')
  assert.ok(await reading)
  assert.equal(await read(key), null)
})

test('a key expires to the millisecond, cached or not', () => {
  const { add, read, state } = open()
  const key = add({ expires_at: '2026-01-01T00:00:10.000Z' })
  state.now = start + 9_999
  assert.ok(read(key))
  state.now = start + 10_000
  assert.equal(read(key), null)
  assert.equal(read(add({ expires_at: '2025-12-31T23:59:59.999Z' })), null)
})

test('`expiresAt` of the principal is the expiry of the key', async () => {
  const { add, read } = open()
  const ends = [await read(add({ expires_at: '2026-01-01T00:00:10.000Z' })), await read(add())]
  assert.deepEqual(
    ends.map(principal => principal?.expiresAt),
    [start + 10_000, Number.POSITIVE_INFINITY],
  )
})

test('a wrong checksum is refused without a look-up', () => {
  const { read, state } = open()
  const key = generateKey()
  assert.equal(read(`${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`), null)
  assert.equal(read('pk_short'), null)
  assert.equal(state.lookUps, 0)
})

test('a text that is not a key is left to the next reader, except where only a key is allowed', () => {
  const { reader } = open()
  assert.equal(reader.read({ place: 'bearer', text: 'eyJhbGciOi' }), undefined)
  assert.equal(reader.read({ place: 'key', text: 'eyJhbGciOi' }), null)
  assert.equal(reader.read({ place: 'key', text: '' }), null)
})

test('a key whose user is deleted is refused', () => {
  const { add, read } = open()
  assert.equal(read(add({ user: null })), null)
})

test('the key from the settings needs no checksum', () => {
  const { run, rows } = open()
  const key = 'an-operators-own-key'
  rows.set(keyHash(key), { id: 4, user_id: 1, scopes: ['*'], expires_at: null, user: { role: 'admin' } })
  const reader = apiKeyReader({ run, version: () => 1, grants: noGrants, adminApiKey: key })
  assert.deepEqual(
    reader.read({ place: 'bearer', text: key }),
    user(1, 'admin', 'all', undefined, undefined, { app: null, grant: 'key:4' }),
  )
  assert.equal(reader.read({ place: 'bearer', text: 'another-key-of-no-form' }), undefined)
})

test('null and * stand for every scope, an empty list for none', () => {
  assert.equal(allowedScopes(null), 'all')
  assert.equal(allowedScopes(['read:post', '*']), 'all')
  assert.deepEqual(allowedScopes([]), new Set())
})

test('readers are tried in order, and a reader can refuse a credential', async () => {
  const one = user(1, 'user', 'all')
  const authenticate = createAuthenticate([
    { read: ({ text }) => (text === 'a' ? one : text === 'no' ? null : undefined) },
    { read: async ({ text }) => (text === 'b' || text === 'a' ? user(2, 'user', 'all') : null) },
  ])
  const authenticateWith = (authorization?: string) =>
    authenticate(
      { headers: authorization ? { authorization: `Bearer ${authorization}` } : {}, query: '' },
      '192.0.2.1',
    )
  assert.equal(authenticateWith('a'), one)
  assert.equal((await authenticateWith('b')).userId, 2)
  assert.deepEqual(authenticateWith(), anonymous('192.0.2.1'))
  assert.throws(() => authenticateWith('no'), { code: 'UNAUTHORIZED' })
  await assert.rejects(async () => authenticateWith('other'), { code: 'UNAUTHORIZED' })
})

test('a credential that no reader recognises is refused, not ignored', async () => {
  const authenticate = createAuthenticate([{ read: () => undefined }])
  assert.throws(() => authenticate({ headers: { authorization: 'Bearer x' }, query: '' }, '192.0.2.1'), {
    code: 'UNAUTHORIZED',
  })
})

test('a new key expires with the credential that creates it, and has no scopes that only apps can have', async () => {
  const hook = newKeyHook(plainCreator, 3)
  const end = Date.parse('2026-01-01T00:00:10.000Z')
  const maker = keyOf('user', new Set(['openid', 'offline_access', 'read:a']), end)
  const { computed } = await hook({ name: 'a' }, maker)
  assert.deepEqual([computed.scopes, computed.expires_at], [['read:a'], '2026-01-01T00:00:10.000Z'])
  const requested = await hook({ name: 'a', expires_at: '2026-01-01T00:00:05.000Z' }, maker)
  assert.ok(
    !('expires_at' in requested.computed),
    '`keyRule` compares the requested expiry with the creator’s',
  )
  assert.ok(!('expires_at' in (await hook({ name: 'a' }, keyOf('user', 'all'))).computed))
})

test('a new key has the scopes of the credential that creates it, never more', async () => {
  const hook = newKeyHook(plainCreator, 3)
  const make = async (values: Record<string, JsonValue>, scopes: 'all' | ReadonlySet<string>) =>
    hook(values, user(7, 'user', scopes))
  const free = await make({ name: 'a' }, 'all')
  assert.deepEqual(free.computed.scopes, ['*'])
  const key = String(free.revealed.key)
  assert.deepEqual([free.computed.hash, free.computed.prefix], [keyHash(key), key.slice(0, 10)])
  assert.deepEqual((await make({}, new Set(['write:b', 'read:a']))).computed.scopes, ['read:a', 'write:b'])
  const requested = await make({ scopes: ['read:b'] }, new Set(['write:b']))
  assert.ok(!('scopes' in requested.computed), 'the requested scopes are stored as they are')
  for (const [scopes, named] of [
    [['read:a', 'write:b'], 'read:a'],
    [['*'], '\\*'],
  ] as const) {
    await assert.rejects(make({ scopes }, new Set(['write:b'])), (error: unknown) => {
      return error instanceof ApiError && error.code === 'FORBIDDEN' && new RegExp(named).test(error.message)
    })
  }
  await assert.rejects(async () => hook({}, anonymous('192.0.2.1')), { code: 'UNAUTHORIZED' })
  assert.deepEqual([free.limit?.field, free.limit?.count], ['user_id', 3])
})
