/** Sessions as their user ends them: one, or all but the current one, with their interactions. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { openSqlite, type SqliteStore } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { LastUses } from '../../../../src/identity/last-use.ts'
import { isEnded } from '../../../../src/identity/server/sessions/session-ends.ts'
import { Sessions } from '../../../../src/identity/server/sessions/sessions.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { createUsers } from '../../../engine/store/blog.ts'
import blog from '../../../models/blog.ts'

let store: SqliteStore
let sessions: Sessions
before(async () => {
  store = openSqlite(checkModel(blog), { file: ':memory:' })
  await createUsers(store, 2)
  sessions = new Sessions(store.records, 3600)
})
after(() => store.close())

const expiresAt = Date.now() + 3_600_000

async function putRecord(
  kind: string,
  id: string,
  owner: string,
  payload: object,
  alias?: string,
): Promise<void> {
  await store.records.put({ kind, id, payload: JSON.stringify(payload), expiresAt, owner, alias })
}

beforeEach(async () => {
  for (const [owner, uids] of [
    ['1', ['here', 'there']],
    ['2', ['elsewhere']],
  ] as const) {
    await store.records.deleteOwned(owner, ['Session', 'Interaction'])
    for (const [at, uid] of uids.entries()) {
      await putRecord(
        'Session',
        `cookie of ${uid}`,
        owner,
        { uid, accountId: owner, loginTs: 1000 + at },
        uid,
      )
      await putRecord('Interaction', `begun ${uid}`, owner, { session: { uid } })
    }
  }
  await putRecord('Interaction', 'begun without', '1', {})
})

const left = async (owner: string) =>
  (await Promise.all(['Session', 'Interaction'].map(kind => store.records.byOwner(kind, owner)))).map(found =>
    found.map(({ id }) => id),
  )

test('a user’s sessions are listed newest first, with times in milliseconds and the current one marked', async () => {
  const all = await sessions.all(1, 'here')
  assert.deepEqual(
    all.map(({ id, userId, signedInAt, current }) => [id, userId, signedInAt, current]),
    [
      ['there', 1, 1_001_000, false],
      ['here', 1, 1_000_000, true],
    ],
  )
})

test('a user can end their own session, and no session of another user', async () => {
  assert.equal(await sessions.revoke(1, 'elsewhere'), false)
  assert.equal(await sessions.revoke(1, 'nowhere'), false)
  assert.deepEqual((await left('2'))[0], ['cookie of elsewhere'])
  assert.equal(await sessions.revoke(1, 'there'), true)
  assert.deepEqual((await left('1'))[0], ['cookie of here'])
  assert.deepEqual(await Promise.all(['there', 'elsewhere'].map(uid => isEnded(store.records, uid))), [
    true,
    false,
  ])
})

test('ending all sessions keeps the current one and its interactions', async () => {
  await sessions.revokeAll(1, 'here')
  assert.deepEqual(await left('1'), [['cookie of here'], ['begun here']])
  assert.deepEqual(await left('2'), [['cookie of elsewhere'], ['begun elsewhere']])
})

test('ending all sessions without a current one keeps none', async () => {
  await sessions.revokeAll(1, undefined)
  assert.deepEqual(await left('1'), [[], []])
})

test('a user who signs in repeatedly keeps the newest hundred sessions', async () => {
  for (let at = 0; at < 105; at++)
    await putRecord(
      'Session',
      `cookie ${at}`,
      '1',
      { uid: `uid ${at}`, accountId: '1', loginTs: 2000 + at },
      `uid ${at}`,
    )
  // Clocks differ, so the session that has just begun counts as the newest.
  await sessions.endOldest(1, 'here')
  const ids = (await sessions.all(1, undefined)).map(({ id }) => id)
  assert.equal(ids.length, 100)
  assert.deepEqual([ids[0], ids[98], ids[99]], ['uid 104', 'uid 6', 'here'])
  assert.ok(await isEnded(store.records, 'there'))
  assert.deepEqual((await left('2'))[0], ['cookie of elsewhere'])
})

test('the last use of a session is stored once an hour with its place, and is deleted with the session', async t => {
  const start = expiresAt
  t.mock.timers.enable({ apis: ['Date'], now: start })
  const uses = () => store.records.byOwner('SessionUse', '1')
  const here = async () => (await sessions.all(1, 'here')).find(({ id }) => id === 'here')
  const note = async (address: string, country?: string) => {
    const session = await here()
    assert.ok(session)
    await sessions.noteUse(session, { address, country }, Date.now())
  }
  const last = async () => {
    const session = await here()
    return session && [session.usedAt, session.address, session.country]
  }
  for (const uid of ['here', 'there'])
    await store.records.put({
      ...{
        kind: 'Session',
        id: `cookie of ${uid}`,
        alias: uid,
        owner: '1',
        expiresAt: start + 100 * 3_600_000,
      },
      payload: JSON.stringify({ uid, accountId: '1', loginTs: 1000, browser: { address: '192.0.2.1' } }),
    })
  assert.deepEqual(await last(), [1_000_000, '192.0.2.1', undefined])
  await Promise.all([note('192.0.2.2', 'DE'), note('192.0.2.3')])
  assert.deepEqual(await last(), [start, '192.0.2.2', 'DE'])
  t.mock.timers.tick(3_599_999)
  await note('192.0.2.4')
  assert.deepEqual(await last(), [start, '192.0.2.2', 'DE'])
  t.mock.timers.tick(1)
  // Another process has not seen the use.
  const elsewhere = new LastUses(store.records)
  const used = { kind: 'SessionUse', id: 'here', owner: '1', expiresAt: start + 100 * 3_600_000 } as const
  await elsewhere.note(used)
  assert.deepEqual(await last(), [start + 3_600_000, '192.0.2.2', 'DE'])
  await note('192.0.2.5')
  assert.deepEqual(await last(), [start + 3_600_000, '192.0.2.2', 'DE'])
  assert.equal((await uses()).length, 1)
  await sessions.revoke(1, 'here')
  assert.equal((await uses()).length, 0)
})
