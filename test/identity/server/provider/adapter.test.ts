import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openSqlite, type SqliteStore } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { Consents } from '../../../../src/identity/server/consent/consents.ts'
import { Adapter, storedId } from '../../../../src/identity/server/provider/adapter.ts'
import { secretHash } from '../../../../src/identity/server/secret.ts'
import { accountEndRecord, signInTime } from '../../../../src/identity/server/sessions/session-ends.ts'
import { Sessions } from '../../../../src/identity/server/sessions/sessions.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import blog from '../../../models/blog.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-adapter-'))
let store: SqliteStore
before(() => {
  store = openSqlite(checkModel(blog), { file: join(folder, 'test.db') })
})
after(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

class UsedUp extends Error {}
class Replayed extends Error {}

const apps = new Map([
  ['app', { client_id: 'app' }],
  ['older', { client_id: 'older', scope: 'write:post read:removed write:vault' }],
])

function adapter(kind: string, isExposed = false, isSignOut = false) {
  return new Adapter(kind, {
    records: store.records,
    findClient: id => apps.get(id),
    scopes: new Set(['openid', 'read:post', 'write:post', 'write:vault']),
    jwtRecordId: () => undefined,
    browser: () => ({ userAgent: 'A browser', address: '192.0.2.1' }),
    noteUse: async () => {},
    isExposed: () => isExposed,
    isSignOut: () => isSignOut,
    consumedError: () => new UsedUp(),
    replayedError: () => new Replayed(),
    unknownTokenError: () => new Error('unknown'),
  })
}

const exp = Math.floor(Date.now() / 1000) + 600

test('a record that is stored under a secret cannot be used by a reader of the database', async () => {
  const codes = adapter('AuthorizationCode')
  await codes.upsert('the-secret', { jti: 'the-secret', exp, grantId: 'g', accountId: '7' }, 600)
  const [stored] = store.records.all('AuthorizationCode')
  assert.equal(stored?.id, secretHash('the-secret'))
  assert.ok(!JSON.stringify(stored).includes('the-secret'))
  // Kept for ten more minutes, so that a late client gets an error that says so.
  const end = (exp + 10 * 60) * 1000
  assert.deepEqual([stored?.grant, stored?.owner, stored?.expiresAt], ['g', '7', end])
  assert.equal((await codes.find('the-secret'))?.jti, 'the-secret')
  assert.equal(await codes.find(String(stored?.id)), undefined)
  assert.equal(await codes.find(`#${stored?.id}`), undefined)
})

test('an app keeps its scopes, except those that the model no longer has', async () => {
  const clients = adapter('Client')
  const { scope } = (await clients.find('older')) ?? {}
  assert.deepEqual(String(scope).split(' ').sort(), ['read:post', 'write:post', 'write:vault'])
  await clients.upsert('registered', { client_id: 'registered', scope: 'read:post read:removed' }, undefined)
  assert.equal((await clients.find('registered'))?.scope, 'read:post')
  assert.equal('scope' in ((await clients.find('app')) ?? {}), false)
})

test('a device code found by its user code can be saved, but its internal handle is not a code', async () => {
  const devices = adapter('DeviceCode')
  await devices.upsert('device-secret', { jti: 'device-secret', exp, userCode: 'ABCD' }, 600)
  const found = await devices.findByUserCode('ABCD')
  assert.equal(found?.jti, `#${secretHash('device-secret')}`)
  await devices.upsert(String(found?.jti), { ...found, accountId: '7' }, 600)
  assert.equal((await devices.find('device-secret'))?.accountId, '7')
  assert.equal((await devices.find(String(found?.jti)))?.accountId, '7')
  assert.equal(await adapter('DeviceCode', true).find(String(found?.jti)), undefined)
})

test('of concurrent uses of a code one succeeds, and the others end its grant with all its tokens', async () => {
  const codes = adapter('AuthorizationCode')
  await codes.upsert('c', { jti: 'c', exp, grantId: 'grant' }, 600)
  await adapter('Grant').upsert('grant', { jti: 'grant', exp, clientId: 'app' }, 600)
  await adapter('AccessToken').upsert('t', { jti: 't', exp, grantId: 'grant' }, 600)
  assert.equal(storedId('Grant', 'grant'), 'grant')
  const uses = await Promise.allSettled(Array.from({ length: 20 }, () => codes.consume('c')))
  assert.equal(uses.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const use of uses) if (use.status === 'rejected') assert.ok(use.reason instanceof UsedUp)
  for (const [kind, id] of [
    ['Grant', 'grant'],
    ['AccessToken', 't'],
    ['AuthorizationCode', 'c'],
  ] as const) {
    assert.equal(await adapter(kind).find(id), undefined, kind)
  }
  await assert.rejects(codes.consume('unknown'), UsedUp)
})

test('a used code has the time of its use', async () => {
  const codes = adapter('AuthorizationCode')
  await codes.upsert('once', { jti: 'once', exp }, 600)
  assert.ok(!('consumed' in ((await codes.find('once')) ?? {})))
  await codes.consume('once')
  const consumed = Number((await codes.find('once'))?.consumed)
  assert.ok(Math.abs(consumed - Date.now() / 1000) < 60, `in seconds since 1970: ${consumed}`)
})

test('of concurrent uses of a one-time id, one is stored and the others are refused', async () => {
  const payload = { exp, iss: 'app' }
  const outcomes = await Promise.allSettled(
    [1, 2, 3].map(() => adapter('ReplayDetection').upsert('a-jti', payload, 600)),
  )
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof Replayed)
  await adapter('ReplayDetection').upsert('another', payload, 600)
})

test('a proof whose `iat` is five minutes ahead stays used until it is no longer accepted', async () => {
  const proofs = adapter('ReplayDetection')
  const now = Math.floor(Date.now() / 1000)
  // Used 298 seconds ago: it is accepted for 302 seconds more.
  await proofs.upsert('ahead', { exp: now + 2, iss: 'app' }, 2)
  // Used 310 seconds ago: it is accepted for 290 seconds more, though oidc-provider’s record has expired.
  await proofs.upsert('expired', { exp: now - 10, iss: 'app' }, -10)
  for (const id of ['ahead', 'expired']) {
    await assert.rejects(proofs.upsert(id, { exp: now + 300, iss: 'app' }, 300), Replayed, id)
  }
  // Used 601 seconds ago.
  await proofs.upsert('old', { exp: now - 301, iss: 'app' }, -301)
  await proofs.upsert('old', { exp: now + 300, iss: 'app' }, 300)
})

test('a session is found by its uid, and the browser’s details are stored with it but not returned', async () => {
  const sessions = adapter('Session')
  await sessions.upsert('cookie', { jti: 'cookie', exp, uid: 'u1', accountId: '7' }, 600)
  const found = await sessions.findByUid('u1')
  assert.deepEqual([found?.accountId, found?.browser], ['7', undefined])
  assert.match(store.records.byAlias('Session', 'u1')?.payload ?? '', /A browser/)
  assert.ok(!JSON.stringify(store.records.all('Session')).includes('cookie'))
  await sessions.destroy('cookie')
  assert.equal(await sessions.findByUid('u1'), undefined)
})

test('an interaction does not store the session’s cookie', async () => {
  const session = { accountId: '7', uid: 'u', cookie: 'session-cookie' }
  await adapter('Interaction').upsert('i', { jti: 'i', exp, session }, 600)
  assert.ok(!JSON.stringify(store.records.all('Interaction')).includes('session-cookie'))
  assert.deepEqual((await adapter('Interaction').find('i'))?.session, { accountId: '7', uid: 'u' })
})

test('an app takes precedence over a self-registered client of the same id, whose secret is stored as a hash', async () => {
  const clients = adapter('Client')
  await clients.upsert('self', { client_id: 'self', client_secret: 'hush-hush' }, undefined)
  await clients.upsert('app', { client_id: 'evil' }, undefined)
  assert.deepEqual(await clients.find('app'), { client_id: 'app' })
  const found = await clients.find('self')
  assert.equal(found?.client_secret, secretHash('hush-hush'))
  assert.ok(!JSON.stringify(store.records.all('Client')).includes('hush-hush'))
  assert.equal(await clients.find('nobody'), undefined)
})

/** Stores the session as a request does that has read it earlier. */
function saved(id: string, uid: string) {
  return adapter('Session').upsert(id, { jti: id, uid, exp, accountId: '7' }, 600)
}

test('a request in progress does not restore a session that has ended in the meantime', async () => {
  const sessions = new Sessions(store.records, 600)
  await saved('cookie', 'ended')
  assert.equal(await sessions.revoke(7, 'ended'), true)
  await saved('cookie', 'ended')
  assert.equal(await adapter('Session').find('cookie'), undefined)
  await saved('new cookie', 'ended')
  assert.equal(await adapter('Session').find('new cookie'), undefined)
  assert.equal(await sessions.revoke(7, 'ended'), false)
})

test('a request in progress does not restore a session that an app has signed out', async () => {
  await saved('signed in', 'signed out')
  await adapter('Session', false, true).destroy('signed in')
  await saved('signed in', 'signed out')
  assert.equal(await adapter('Session').find('signed in'), undefined)
})

test('a request of an ended session gets no code and approves no device', async () => {
  const sessions = new Sessions(store.records, 600)
  await saved('mine', 'kept')
  await saved('another', 'over')
  await sessions.revokeAll(7, 'kept')
  for (const kind of ['AuthorizationCode', 'DeviceCode']) {
    for (const sessionUid of ['kept', 'over']) {
      await adapter(kind).upsert(sessionUid, { jti: sessionUid, exp, accountId: '7', sessionUid }, 600)
    }
    assert.equal((await adapter(kind).find('kept'))?.sessionUid, 'kept', kind)
    assert.equal(await adapter(kind).find('over'), undefined, kind)
  }
  await saved('mine', 'kept')
  assert.equal((await adapter('Session').find('mine'))?.uid, 'kept')
})

test('a session that another request has given a new cookie keeps the new one', async () => {
  await saved('old', 'renamed')
  await adapter('Session').destroy('old')
  await saved('renewed', 'renamed')
  await saved('old', 'renamed')
  assert.equal(await adapter('Session').find('old'), undefined)
  assert.equal((await adapter('Session').find('renewed'))?.uid, 'renamed')
})

test('ending an account’s sessions removes the interactions that would still sign it in', async () => {
  const sessions = new Sessions(store.records, 600)
  const interactions = adapter('Interaction')
  const login = { login: { accountId: '8' } }
  await interactions.upsert('proven', { jti: 'proven', exp, result: login }, 600)
  await interactions.upsert('other', { jti: 'other', exp, result: { login: { accountId: '9' } } }, 600)
  await interactions.upsert('mine', { jti: 'mine', exp, session: { uid: 'kept', accountId: '8' } }, 600)
  await sessions.revokeAll(8, 'kept')
  assert.equal(await interactions.find('proven'), undefined)
  assert.notEqual(await interactions.find('other'), undefined)
  assert.notEqual(await interactions.find('mine'), undefined)
})

test('a sign-in in progress while its account is ended stores neither session nor code, even within the same second', async () => {
  const { records } = store
  const nowMs = Date.now()
  const proven = await signInTime(records, 11, nowMs)
  await records.put(await accountEndRecord(records, 11, nowMs, 'spared'))
  const afterwards = await signInTime(records, 11, nowMs)
  assert.ok(afterwards > proven)
  const seen: Record<string, unknown> = {}
  for (const [uid, at] of [
    ['resumed', proven],
    ['spared', proven],
    ['again', afterwards],
  ] as const) {
    const shared = { exp, accountId: '11' }
    await adapter('Session').upsert(uid, { ...shared, jti: uid, uid, loginTs: at }, 600)
    seen[uid] = [(await adapter('Session').find(uid)) !== undefined]
    for (const kind of ['AuthorizationCode', 'DeviceCode']) {
      await adapter(kind).upsert(uid, { ...shared, jti: uid, sessionUid: uid, authTime: at }, 600)
      seen[uid] = [...(seen[uid] as boolean[]), (await adapter(kind).find(uid)) !== undefined]
    }
  }
  const [none, all] = [Array(3).fill(false), Array(3).fill(true)]
  assert.deepEqual(seen, { resumed: none, spared: all, again: all })
  await records.put(await accountEndRecord(records, 11, nowMs, undefined))
  await adapter('Session').upsert(
    'again',
    { exp, accountId: '11', jti: 'again', uid: 'again', loginTs: afterwards },
    600,
  )
  assert.equal(await adapter('Session').find('again'), undefined)
})

test('a consent in a session that has ended in the meantime is not stored', async () => {
  const consents = new Consents(store.records)
  const about = { clientId: 'app', sessionUid: 'gone' }
  await consents.remember(12, about, ['read:post'], ['read:post'])
  assert.equal(await consents.find(12, 'app'), undefined)
  await adapter('Session').upsert('here', { jti: 'here', uid: 'here', exp, accountId: '12' }, 600)
  await consents.remember(12, { clientId: 'app', sessionUid: 'here' }, ['read:post'], ['read:post'])
  assert.deepEqual((await consents.find(12, 'app'))?.scopes, ['read:post'])
  await consents.endOthers(12, 'here')
  assert.notEqual(await consents.find(12, 'app'), undefined)
  await consents.endOthers(12, 'another')
  assert.equal(await consents.find(12, 'app'), undefined)
})
