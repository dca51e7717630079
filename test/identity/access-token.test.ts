/** Access tokens to principals: which records a node reads for a token, and what revokes one. */
import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Principal, system } from '../../src/base/principal.ts'
import type { Records } from '../../src/base/records.ts'
import { createGuard } from '../../src/engine/plan/guard/guard.ts'
import type { Run } from '../../src/engine/plan/run.ts'
import { openSqlite } from '../../src/engine/store/sqlite/sqlite.ts'
import { accessTokenReader } from '../../src/identity/access-token.ts'
import { createUser } from '../../src/identity/bootstrap.ts'
import type { Credential } from '../../src/identity/credentials.ts'
import { grantHash, withDenials } from '../../src/identity/server/tokens/deny-list.ts'
import { TokenSigner } from '../../src/identity/server/tokens/jwt.ts'
import { loadKeys } from '../../src/identity/server/tokens/signing-keys.ts'
import { checkModel } from '../../src/model/check/check.ts'
import { createRun } from '../../src/server/serve/store.ts'
import blog from '../models/blog.ts'
import { cheapHash } from './cheap-hash.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-tokens-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const issuer = 'https://a.example'
const lifetimeSeconds = 3600
const model = checkModel(blog)
let files = 0

type Scopes = ReadonlySet<string> | 'all' | undefined

interface App {
  id: number | null
  scopes: Scopes
  /** Incremented by every change to an app. */
  version: number
}

/** One node: a reader on a database that lists the records it reads. */
function node(file: string, app: App, now = Date.now) {
  const store = openSqlite(model, { file, autoMigrate: true, now })
  const run = createRun(createGuard(model), store)
  const reads: string[] = []
  const counting = new Proxy(store.records, {
    get(target, name: keyof Records) {
      const method = target[name].bind(target) as (...args: unknown[]) => unknown
      if (name !== 'get' && name !== 'all') return method
      return (...args: unknown[]) => {
        reads.push(`${name} ${args[0]}`)
        return method(...args)
      }
    },
  })
  const reader = accessTokenReader({
    run,
    records: counting,
    version: name => store.version(name) + (name === 'oauth_apps' ? app.version : 0),
    rightsOfApp: () =>
      app.scopes === undefined
        ? undefined
        : {
            app: app.id === null ? null : { id: app.id, name: `App ${app.id}` },
            scopes: app.scopes,
            firstParty: false,
            budget: undefined,
          },
    issuer: () => issuer,
    accessSeconds: lifetimeSeconds,
    refreshSeconds: 2_592_000,
    now,
  })
  const read = async (
    text: string,
    { place = 'bearer', proven = false }: { place?: Credential['place']; proven?: boolean } = {},
  ): Promise<Principal | null | undefined> => {
    await store.refresh()
    return reader.read({ place, text }, { headers: {}, query: '', method: 'GET', path: '/', proven })
  }
  return { store, run, reads, read, records: withDenials(store.records, lifetimeSeconds) }
}

type Node = ReturnType<typeof node>

async function withNodes(use: (nodeA: Node, nodeB: Node, app: App) => Promise<void>) {
  const file = join(folder, `${++files}.db`)
  const app: App = { id: 7, scopes: 'all', version: 1 }
  const nodeA = node(file, app)
  const nodeB = node(file, app)
  try {
    await use(nodeA, nodeB, app)
  } finally {
    await nodeA.store.close()
    await nodeB.store.close()
  }
}

const person = (run: Node['run'], role = 'user') =>
  createUser(
    run,
    { name: 'P', email: `${randomBytes(6).toString('hex')}@example.com`, role },
    'a password',
    cheapHash,
  )

interface Issue {
  readonly format: 'opaque' | 'jwt'
  readonly userId?: number
  readonly scope?: string
  readonly claims?: object
  /** The thumbprint of the key that the token is bound to (`cnf.jkt`). */
  readonly jkt?: string
}

/** Stores and signs a token as the authorization server does. */
async function issue({ records }: Node, { format, userId, scope = 'read:post', claims = {}, jkt }: Issue) {
  const text = randomBytes(32).toString('base64url')
  const jti = hash('sha256', text, 'base64url')
  const kind = userId === undefined ? 'ClientCredentials' : 'AccessToken'
  const grant = randomBytes(8).toString('hex')
  const expiresAt = Date.now() + lifetimeSeconds * 1000
  const of = userId === undefined ? {} : { accountId: String(userId), grantId: grant }
  const payload = JSON.stringify({ clientId: 'app', scope, ...of, jkt })
  if (userId !== undefined) {
    await records.put({ kind: 'Grant', id: grant, payload: '{}', expiresAt: null, owner: String(userId) })
  }
  await records.put({ kind, id: jti, payload, expiresAt, grant: of.grantId })
  if (format === 'opaque') return { text, jti, kind, grant }
  const iat = Math.floor(Date.now() / 1000)
  const signed = new TokenSigner(await loadKeys(records)).sign({
    iss: issuer,
    aud: issuer,
    sub: userId === undefined ? 'app' : String(userId),
    client_id: 'app',
    iat,
    exp: iat + lifetimeSeconds,
    jti,
    scope,
    ...(userId === undefined ? undefined : { grant_id: grantHash(grant) }),
    ...(jkt === undefined ? undefined : { cnf: { jkt } }),
    ...claims,
  })
  return { text: signed, jti, kind, grant }
}

test('a JWT is accepted without reading its record; after a revocation a node reads the deny list once', async () => {
  await withNodes(async nodeA => {
    const userId = await person(nodeA.run)
    const tokens = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        issue(nodeA, { format: 'jwt', ...(index % 2 === 0 ? { userId } : {}) }),
      ),
    )
    nodeA.reads.length = 0
    for (const { text } of tokens) assert.ok(await nodeA.read(text))
    assert.deepEqual(nodeA.reads, ['get SigningKeys', 'all Denial'])
    const [first, second, ...rest] = tokens
    assert.ok(first && second)
    await nodeA.records.deleteGrant(first.grant)
    await nodeA.records.delete(second.kind, second.jti)
    nodeA.reads.length = 0
    for (const { text } of [first, second]) assert.equal(await nodeA.read(text), null)
    for (const { text } of rest) assert.ok(await nodeA.read(text))
    assert.deepEqual(nodeA.reads, ['all Denial'])
  })
})

for (const format of ['opaque', 'jwt'] as const) {
  const ends: Readonly<
    Record<string, (nodeA: Node, token: Awaited<ReturnType<typeof issue>>, id: number) => unknown>
  > = {
    'its grant is deleted': ({ records }, { grant }) => records.delete('Grant', grant),
    'its grant is deleted with its tokens': ({ records }, { grant }) => records.deleteGrant(grant),
    'it is revoked': ({ records }, { kind, jti }) => records.delete(kind, jti),
    'all tokens of its user are revoked': ({ records }, _token, id) =>
      records.deleteOwned(String(id), ['AccessToken', 'Grant']),
  }
  for (const [what, end] of Object.entries(ends)) {
    test(`${format}: every node refuses a token once ${what}, and still accepts the token of another user`, async () => {
      await withNodes(async (nodeA, nodeB) => {
        const [userId, strangerId] = [await person(nodeA.run), await person(nodeA.run)]
        const token = await issue(nodeA, { format, userId })
        const stranger = await issue(nodeA, { format, userId: strangerId })
        for (const { read } of [nodeA, nodeB]) {
          assert.equal((await read(token.text))?.userId, userId)
          assert.equal((await read(stranger.text))?.userId, strangerId)
        }
        await end(nodeA, token, userId)
        for (const { read } of [nodeA, nodeB]) {
          assert.equal(await read(token.text), null)
          assert.equal((await read(stranger.text))?.userId, strangerId)
        }
        const late = node(join(folder, `${files}.db`), { id: 7, scopes: 'all', version: 1 })
        assert.equal(await late.read(token.text), null, 'a node that starts later accepts it')
        await late.store.close()
      })
    })
  }

  test(`${format}: every node refuses a revoked client-credentials token, and still accepts another one`, async () => {
    await withNodes(async (nodeA, nodeB) => {
      const [token, stranger] = [await issue(nodeA, { format }), await issue(nodeA, { format })]
      for (const { read } of [nodeA, nodeB]) {
        assert.equal((await read(token.text))?.budgetKey, 'app:app')
        assert.ok(await read(stranger.text))
      }
      await nodeA.records.delete(token.kind, token.jti)
      for (const { read } of [nodeA, nodeB]) {
        assert.equal(await read(token.text), null)
        assert.ok(await read(stranger.text))
      }
    })
  })

  test(`${format}: a live token loses a scope as soon as its app loses it`, async () => {
    await withNodes(async (nodeA, _other, app) => {
      const token = await issue(nodeA, {
        format,
        userId: await person(nodeA.run),
        scope: 'read:post read:user',
      })
      const scopes = async () => (await nodeA.read(token.text))?.access.scopes
      assert.deepEqual(await scopes(), new Set(['read:post', 'read:user']))
      app.scopes = new Set(['read:user'])
      app.version++
      assert.deepEqual(await scopes(), new Set(['read:user']))
    })
  })

  test(`${format}: a principal carries its app and grant; every node applies a change to the app at once`, async () => {
    await withNodes(async (nodeA, nodeB, app) => {
      const token = await issue(nodeA, { format, userId: await person(nodeA.run) })
      const alone = await issue(nodeA, { format })
      for (const id of [7, null, 8]) {
        app.id = id
        app.version++
        const expected = id && { id, name: `App ${id}` }
        for (const { read } of [nodeA, nodeB]) {
          const [ofUser, ofApp] = [await read(token.text), await read(alone.text)]
          assert.deepEqual([ofUser?.app, ofUser?.grant], [expected, `grant:${grantHash(token.grant)}`])
          assert.deepEqual([ofApp?.app, ofApp?.grant], [expected, null])
        }
      }
    })
  })

  test(`${format}: a changed role, a deleted user and a deleted app take effect at once`, async () => {
    await withNodes(async (nodeA, nodeB, app) => {
      const userId = await person(nodeA.run)
      const { text } = await issue(nodeA, { format, userId })
      const roles = async () => [(await nodeA.read(text))?.access.role, (await nodeB.read(text))?.access.role]
      assert.deepEqual(await roles(), ['user', 'user'])
      const set = [{ field: 'role', param: 1 }]
      const select = [{ kind: 'field', key: 'id', field: 'id' }] as const
      const base = { collection: 'users', id: 0, ifMatch: undefined }
      await nodeA.run.write(
        {
          shape: { ...base, kind: 'update', mode: 'merge', set, documents: 'merge', select },
          args: [userId, 'editor'],
        },
        system,
      )
      assert.deepEqual(await roles(), ['editor', 'editor'])
      const deleted = await issue(nodeB, { format, userId })
      assert.ok(await nodeA.read(deleted.text))
      await nodeA.run.write({ shape: { ...base, kind: 'delete' }, args: [userId] }, system)
      assert.deepEqual([await nodeA.read(text), await nodeB.read(deleted.text)], [null, null])
      const ofApp = await issue(nodeA, { format })
      app.scopes = undefined
      assert.equal(await nodeA.read(ofApp.text), null)
    })
  })

  test(`${format}: a cached token expires on time; its principal’s end covers refreshes only with offline_access`, async () => {
    await withNodes(async nodeA => {
      const time = { at: Date.now() }
      const late = node(join(folder, `${files}.db`), { id: 7, scopes: 'all', version: 1 }, () => time.at)
      const userId = await person(nodeA.run)
      const { text } = await issue(nodeA, { format, userId })
      const lasting = await issue(nodeA, { format, userId, scope: 'read:post offline_access' })
      const end = (await late.read(text))?.expiresAt ?? 0
      assert.ok(Math.abs(end - time.at - lifetimeSeconds * 1000) < 2000, 'in milliseconds since 1970')
      const refreshable = (await late.read(lasting.text))?.expiresAt ?? 0
      assert.ok(Math.abs(refreshable - time.at - 2_592_000_000) < 2000, 'until its refresh token expires')
      assert.equal((await late.read(text))?.userId, userId, 'now read from the cache')
      time.at = end - 1
      assert.equal((await late.read(text))?.userId, userId)
      time.at = end
      assert.equal((await late.read(text)) ?? null, null)
      await late.store.close()
    })
  })

  test(`${format}: a DPoP-bound token is refused without its proof, and an unbound one with the DPoP scheme`, async () => {
    await withNodes(async nodeA => {
      const userId = await person(nodeA.run)
      const bound = await issue(nodeA, { format, userId, jkt: 'a-thumbprint' })
      await assert.rejects(nodeA.read(bound.text), { code: 'UNAUTHORIZED' })
      await assert.rejects(nodeA.read(bound.text, { place: 'dpop' }), { code: 'UNAUTHORIZED' })
      assert.equal((await nodeA.read(bound.text, { place: 'dpop', proven: true }))?.userId, userId)
      const bearer = await issue(nodeA, { format, userId })
      await assert.rejects(nodeA.read(bearer.text, { place: 'dpop', proven: true }), { code: 'UNAUTHORIZED' })
      assert.equal((await nodeA.read(bearer.text))?.userId, userId)
    })
  })

  test(`${format}: a token has only the scopes that its app may still request`, async () => {
    const rows: readonly (readonly [
      scope: string,
      app: readonly string[] | 'all',
      expected: readonly string[],
    ])[] = [
      ['read:post write:post', 'all', ['read:post', 'write:post']],
      ['read:post read:user', ['read:user'], ['read:user']],
      ['write:post', ['read:post'], ['read:post']],
      ['read:post', ['write:post'], ['read:post']],
      ['read:post', ['write:user'], []],
    ]
    await withNodes(async (nodeA, _other, app) => {
      const userId = await person(nodeA.run)
      for (const [scope, allowed, expected] of rows) {
        app.scopes = allowed === 'all' ? 'all' : new Set(allowed)
        const principal = await nodeA.read((await issue(nodeA, { format, userId, scope })).text)
        assert.ok(principal && principal.access.scopes !== 'all')
        assert.deepEqual([...principal.access.scopes].sort(), [...expected].sort())
      }
    })
  })
}

test('a cached JWT is verified again when the signing keys change', async () => {
  await withNodes(async nodeA => {
    const token = await issue(nodeA, { format: 'jwt', userId: await person(nodeA.run) })
    assert.ok(await nodeA.read(token.text))
    await nodeA.store.records.put({ kind: 'SigningKeys', id: 'all', payload: '[]', expiresAt: null })
    await nodeA.store.records.delete('SigningKeys', 'all')
    assert.equal(await nodeA.read(token.text), null)
  })
})

test('the record is read for a JWT that could outlive its denial or names no grant', async () => {
  await withNodes(async nodeA => {
    const userId = await person(nodeA.run)
    const iat = Math.floor(Date.now() / 1000)
    for (const claims of [{ grant_id: undefined }, { iat, exp: iat + lifetimeSeconds + 1 }]) {
      const token = await issue(nodeA, { format: 'jwt', userId, claims })
      nodeA.reads.length = 0
      assert.equal((await nodeA.read(token.text))?.userId, userId)
      assert.ok(nodeA.reads.includes('get AccessToken'))
      await nodeA.store.records.delete('AccessToken', token.jti)
      assert.equal(await nodeA.read(token.text), null)
    }
  })
})

test('a JWT whose grant was denied while it was issued is refused', async () => {
  await withNodes(async nodeA => {
    const userId = await person(nodeA.run)
    const token = await issue(nodeA, { format: 'jwt', userId })
    await nodeA.records.delete('Grant', token.grant)
    const payload = JSON.stringify({ clientId: 'app', scope: 'read:post', accountId: String(userId) })
    const late = { kind: 'AccessToken', id: token.jti, payload, expiresAt: null, grant: token.grant }
    await nodeA.records.put(late)
    assert.equal(await nodeA.read(token.text), null)
  })
})

test('a role that changes during its look-up is not cached for later tokens', async () => {
  const lookUps: ((role: string) => void)[] = []
  let users = 1
  const stored = {
    payload: JSON.stringify({ clientId: 'app', accountId: '7', grantId: 'g' }),
    expiresAt: Date.now() + 60_000,
  }
  const reader = accessTokenReader({
    run: {
      item: () =>
        new Promise(resolve =>
          lookUps.push(role => resolve({ kind: 'item', text: JSON.stringify({ role }) })),
        ),
    } as unknown as Run,
    records: {
      get: async (kind: string) => (kind === 'ClientCredentials' ? undefined : stored),
      version: () => 1,
    } as unknown as Records,
    version: name => (name === 'users' ? users : 1),
    rightsOfApp: () => ({ app: null, scopes: 'all', firstParty: false, budget: undefined }),
    issuer: () => issuer,
    accessSeconds: lifetimeSeconds,
    refreshSeconds: lifetimeSeconds,
  })
  const roleBy = async (letter: string) => {
    const read = reader.read(
      { place: 'bearer', text: letter.repeat(43) },
      { headers: {}, query: '', method: 'GET' },
    )
    return (await read)?.access.role
  }
  const early = roleBy('a')
  while (lookUps.length < 1) await turn()
  users++
  const late = roleBy('b')
  while (lookUps.length < 2) await turn()
  lookUps[1]?.('user')
  assert.equal(await late, 'user')
  lookUps[0]?.('admin')
  assert.equal(await early, 'admin', 'the role at the time of the request')
  assert.equal(await roleBy('c'), 'user')
})
