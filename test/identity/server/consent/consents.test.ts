/** Consents of users to apps: stored by user, app and scope, and revocable. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type Provider from 'oidc-provider'
import type { Context } from 'oidc-provider'
import { forwarding } from '../../../../src/base/records.ts'
import { openSqlite, type SqliteStore } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { appUseId, LastUses } from '../../../../src/identity/last-use.ts'
import { Consents, loadGrant } from '../../../../src/identity/server/consent/consents.ts'
import { grantHash } from '../../../../src/identity/server/tokens/deny-list.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import blog from '../../../models/blog.ts'

let store: SqliteStore
let consents: Consents
before(() => {
  store = openSqlite(checkModel(blog), { file: ':memory:' })
  consents = new Consents(store.records)
})
after(() => store.close())

const app = { clientId: 'app', sessionUid: undefined }

/** An unused id. */
let users = 0
const newUser = () => ++users

async function allowed(userId: number, clientId = 'app'): Promise<readonly string[]> {
  return [...((await consents.find(userId, clientId))?.scopes ?? [])].sort()
}

test('only the ticked scopes are stored', async () => {
  const user = newUser()
  await consents.remember(user, app, ['read:post', 'write:post', 'read:user'], ['read:post'])
  assert.deepEqual(await allowed(user), ['read:post'])
})

test('an unticked scope is removed, and scopes that were not asked for stay', async () => {
  const user = newUser()
  await consents.remember(user, app, ['read:post', 'read:user'], ['read:post', 'read:user'])
  await consents.remember(user, app, ['read:user', 'write:post'], ['write:post'])
  assert.deepEqual(await allowed(user), ['read:post', 'write:post'])
})

test('concurrent consents of a user to an app are all stored', async () => {
  for (const first of [[], ['read:user']]) {
    const user = newUser()
    if (first.length > 0) await consents.remember(user, app, first, first)
    const scopes = ['read:post', 'write:post', 'read:key', 'write:key']
    await Promise.all(scopes.map(scope => consents.remember(user, app, [scope], [scope])))
    assert.deepEqual(await allowed(user), [...first, ...scopes].sort())
  }
})

test('a consent does not restore scopes that are revoked concurrently', async () => {
  const user = newUser()
  await consents.remember(user, app, ['read:post'], ['read:post'])
  const records = {
    ...forwarding(store.records),
    async get(kind: string, id: string) {
      const found = await store.records.get(kind, id)
      if (kind === 'Consent' && found) await consents.revoke(user, 'app')
      return found
    },
  }
  await new Consents(records).remember(user, app, ['read:user'], ['read:user'])
  assert.deepEqual(await allowed(user), ['read:user'])
})

test('a consent belongs to one user and one app', async () => {
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

test('revoking a consent ends the grants and tokens of that user and app, and no others', async () => {
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

/** The scopes of the grant that a request gets without asking; undefined if the user is asked. */
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

test('no consent is asked for scopes that were granted before, and it is asked for any other scope', async () => {
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

const daySeconds = 86_400

interface Held {
  readonly id: string
  readonly ageDays: number
  readonly scope?: string
  /** Whether the grant has a live token. */
  readonly isUsed?: boolean
}

async function hold(userId: number, { id, ageDays, scope = 'read:post', isUsed }: Held): Promise<void> {
  const owner = String(userId)
  const iat = Math.floor(Date.now() / 1000) - ageDays * daySeconds
  const payload = JSON.stringify({ clientId: 'app', iat, openid: { scope } })
  await store.records.put({ kind: 'Grant', id: `${userId} ${id}`, payload, expiresAt: null, owner })
  const token = {
    kind: 'RefreshToken',
    id: `${userId} ${id}`,
    payload: '{}',
    grant: `${userId} ${id}`,
    owner,
  }
  if (isUsed) await store.records.put({ ...token, expiresAt: Date.now() + 60_000 })
}

async function left(userId: number): Promise<readonly string[]> {
  const grants = await store.records.byOwner('Grant', String(userId))
  return grants.map(({ id }) => id.split(' ')[1] ?? '')
}

test('silent sign-ins leave at most a hundred grants, and end unused ones before used ones', async () => {
  const userId = newUser()
  const grants: readonly Held[] = [
    { id: 'used', ageDays: 300, isUsed: true },
    { id: 'webhook', ageDays: 299 },
    { id: 'wide', ageDays: 298, scope: 'read:post write:post' },
    ...Array.from({ length: 97 }, (_, age) => ({ id: `idle${age}`, ageDays: age + 1 })),
  ]
  for (const grant of grants) await hold(userId, grant)
  const hook = async () => new Set([grantHash(`${userId} webhook`)])
  const bounded = new Consents(store.records, hook)
  await bounded.boundGrants(userId, 'app')
  assert.equal((await left(userId)).length, 100)
  await hold(userId, { id: 'new', ageDays: 0 })
  await bounded.boundGrants(userId, 'other')
  assert.equal((await left(userId)).length, 101)
  await bounded.boundGrants(userId, 'app')
  const kept = await left(userId)
  assert.equal(kept.length, 80)
  for (const id of ['used', 'webhook', 'wide', 'new', 'idle0']) assert.ok(kept.includes(id), id)
  assert.ok(!kept.includes('idle96'))
})

test('the use of an app that is granted again within the hour is stored again', async () => {
  const userId = newUser()
  const uses = new LastUses(store.records)
  const connected = new Consents(store.records, undefined, uses)
  const use = { kind: 'AppUse', id: appUseId(userId, 'app'), owner: String(userId), expiresAt: null } as const
  await uses.note(use)
  assert.deepEqual([...(await connected.clientIds(userId))], ['app'])
  await connected.revoke(userId, 'app')
  await connected.boundGrants(userId, 'app')
  await uses.note(use)
  assert.deepEqual([...(await connected.clientIds(userId))], ['app'])
})

test('if all grants are in use, the oldest ends', async () => {
  const userId = newUser()
  for (let age = 0; age < 101; age++) await hold(userId, { id: `g${age}`, ageDays: age, isUsed: true })
  await consents.boundGrants(userId, 'app')
  const kept = await left(userId)
  assert.deepEqual([kept.length, kept.includes('g100'), kept.includes('g99')], [100, false, true])
  assert.equal(await store.records.get('RefreshToken', `${userId} g100`), undefined)
})
