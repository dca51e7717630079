/** What users have allowed apps: remembered by user and app, scope by scope, and taken back. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type Provider from 'oidc-provider'
import type { Context } from 'oidc-provider'
import { Consents, loadGrant } from '../../../../src/auth/server/consent/consents.ts'
import { checkModel } from '../../../../src/model/check.ts'
import { openSqlite, type SqliteStore } from '../../../../src/store/sqlite.ts'
import blog from '../../../models/blog.ts'

let store: SqliteStore
let consents: Consents
before(() => {
  store = openSqlite(checkModel(blog), { file: ':memory:' })
  consents = new Consents(store.records)
})
after(() => store.close())

const app = { clientId: 'app', sessionUid: undefined }

/** An id that no other test has. */
let users = 0
const newUser = () => ++users

async function allowed(userId: number, clientId = 'app'): Promise<readonly string[]> {
  return [...((await consents.find(userId, clientId))?.scopes ?? [])].sort()
}

test('only what was ticked is remembered', async () => {
  const user = newUser()
  await consents.remember(user, app, ['read:post', 'write:post', 'read:user'], ['read:post'])
  assert.deepEqual(await allowed(user), ['read:post'])
})

test('what was unticked is allowed no more; what was not asked about stays', async () => {
  const user = newUser()
  await consents.remember(user, app, ['read:post', 'read:user'], ['read:post', 'read:user'])
  await consents.remember(user, app, ['read:user', 'write:post'], ['write:post'])
  assert.deepEqual(await allowed(user), ['read:post', 'write:post'])
})

test('it is one user’s, for one app', async () => {
  const [user, other] = [newUser(), newUser()]
  await consents.remember(user, app, ['read:post'], ['read:post'])
  assert.deepEqual([await allowed(other), await allowed(user, 'other')], [[], []])
  assert.deepEqual(
    (await consents.all(user)).map(({ clientId, scopes }) => [clientId, scopes]),
    [['app', ['read:post']]],
  )
  assert.deepEqual(await consents.all(other), [])
})

async function grantOf(userId: number, clientId: string): Promise<string> {
  const [grant, owner] = [`grant ${userId} ${clientId}`, String(userId)]
  await store.records.put({
    kind: 'Grant',
    id: grant,
    payload: JSON.stringify({ clientId }),
    expiresAt: null,
    owner,
  })
  for (const kind of ['AccessToken', 'RefreshToken']) {
    await store.records.put({ kind, id: grant, payload: '{}', expiresAt: null, grant, owner })
  }
  return grant
}

async function kindsLeft(grant: string): Promise<readonly string[]> {
  const kinds = ['Grant', 'AccessToken', 'RefreshToken']
  const found = await Promise.all(kinds.map(kind => store.records.get(kind, grant)))
  return kinds.filter((_, at) => found[at] !== undefined)
}

test('to take it back ends everything of this app and nothing of another, or of another user', async () => {
  const [user, other] = [newUser(), newUser()]
  await consents.remember(user, app, ['read:post'], ['read:post'])
  const [own, ofOther, ofAnother] = [
    await grantOf(user, 'app'),
    await grantOf(user, 'other'),
    await grantOf(other, 'app'),
  ]
  await consents.revoke(user, 'app')
  assert.deepEqual(await allowed(user), [])
  assert.deepEqual(await kindsLeft(own), [])
  for (const grant of [ofOther, ofAnother]) {
    assert.deepEqual(await kindsLeft(grant), ['Grant', 'AccessToken', 'RefreshToken'])
  }
})

class Grant {
  static find(id: string) {
    return { found: id }
  }
  readonly #scopes: string[] = []
  addOIDCScope(scope: string) {
    this.#scopes.push(scope)
  }
  addOIDCClaims() {}
  async save() {}
  get scopes() {
    return this.#scopes
  }
}

interface Asking {
  readonly scopes: readonly string[]
  readonly prompts?: readonly string[]
  readonly userId?: number
}

/** The grant that a request gets without asking: its scopes; undefined: the user is asked. */
async function granted({ scopes, prompts = [], userId }: Asking): Promise<unknown> {
  const oidc = {
    client: { clientId: 'app' },
    account: userId === undefined ? undefined : { accountId: String(userId) },
    params: { scope: scopes.join(' ') },
    requestParamScopes: new Set(scopes),
    prompts: new Set(prompts),
    result: undefined,
  }
  const grant: unknown = await loadGrant({ Grant } as unknown as Provider, consents, {
    oidc,
  } as unknown as Context)
  return (grant as Grant | undefined)?.scopes
}

test('nobody is asked again for what was allowed, and everybody for anything more', async () => {
  const userId = newUser()
  await consents.remember(userId, app, ['write:post', 'read:user'], ['write:post', 'read:user'])
  assert.deepEqual(await granted({ userId, scopes: ['read:user'] }), ['read:user'])
  assert.deepEqual(await granted({ userId, scopes: ['read:post', 'read:user'] }), ['read:post read:user'])
  assert.equal(await granted({ userId, scopes: ['read:user', 'write:user'] }), undefined)
  assert.equal(await granted({ userId, scopes: ['write:user'] }), undefined)
  assert.equal(await granted({ userId, scopes: ['read:user'], prompts: ['consent'] }), undefined)
  assert.equal(await granted({ userId, scopes: [] }), undefined)
  assert.equal(await granted({ scopes: ['read:user'] }), undefined)
  assert.equal(await granted({ userId: newUser(), scopes: ['read:user'] }), undefined)
})

test('an app that asks one user again and again keeps the newest hundred grants', async () => {
  const [user, other] = [newUser(), newUser()]
  const put = (owner: number, id: string, clientId: string, iat: number) =>
    store.records.put({
      ...{ kind: 'Grant', id, payload: JSON.stringify({ clientId, iat }) },
      ...{ expiresAt: null, owner: String(owner) },
    })
  for (let at = 0; at < 105; at++) await put(user, `g${at}`, 'app', at)
  await put(user, 'newest', 'app', 0)
  await put(user, 'of another app', 'other', 0)
  await put(other, 'of another user', 'app', 0)
  const refreshing = { kind: 'RefreshToken', id: 'a token', payload: '{}', grant: 'g0', owner: String(user) }
  await store.records.put({ ...refreshing, expiresAt: null })
  await consents.endOldest(user, 'app', 'newest')
  const left = (await store.records.byOwner('Grant', String(user))).map(({ id }) => id)
  assert.equal(left.length, 101)
  assert.deepEqual(
    ['g0', 'g1', 'g6', 'g7', 'newest', 'of another app'].map(id => left.includes(id)),
    [true, false, false, true, true, true],
  )
  assert.equal((await store.records.byOwner('Grant', String(other))).length, 1)
})
