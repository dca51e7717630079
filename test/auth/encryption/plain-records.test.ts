/** A database from before encryption existed: the next start encrypts its secrets, once. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createOneTimeCodes } from '../../../src/auth/accounts/sign-in/one-time-codes.ts'
import { recoveryHash } from '../../../src/auth/accounts/sign-in/recovery-codes.ts'
import { openRecords } from '../../../src/auth/encryption/open-records.ts'
import { isEncrypted, newKeyText } from '../../../src/auth/encryption/record-cipher.ts'
import type { NewRecord, Records } from '../../../src/records.ts'
import { openSqlite } from '../../../src/store/sqlite.ts'
import type { Store } from '../../../src/store/store.ts'
import { blog, createUsers, withFile } from '../../store/blog.ts'
import { databaseKinds } from '../../store/databases.ts'
import { crashingRecords, untilCrash } from '../crashing-records.ts'

const keys = [newKeyText()]
const recordCount = 1200
const userCount = 20

function clientCredentials(at: number): string {
  return `the plain secret number ${at} `
}

function codeOf(user: number): string {
  return `abcde-fgh${String(user)
    .padStart(2, 'j')
    .replaceAll(/\d/g, digit => 'kmnpqrstuv'[Number(digit)] ?? '')}`
}

/** The records of an older version; the first is longer than a page of the database. */
function old(): readonly NewRecord[] {
  const fixed = { expiresAt: null }
  const sessions = Array.from({ length: recordCount }, (_, at) => {
    const text = clientCredentials(at).repeat(at === 0 ? 400 : 3)
    return { ...fixed, kind: 'Session', id: `s${at}`, alias: `uid${at}`, payload: JSON.stringify({ text }) }
  })
  const codes = Array.from({ length: userCount }, (_, at) => {
    const user = at + 1
    return {
      ...fixed,
      kind: 'RecoveryCode',
      id: recoveryHash(user, codeOf(user)),
      owner: String(user),
      payload: '{}',
    }
  })
  const totp = {
    ...fixed,
    kind: 'Totp',
    id: '3',
    owner: '3',
    payload: '{"secret":"JBSWY3DPEHPK3PXP","confirmed":true}',
  }
  const device = { ...fixed, kind: 'DeviceCode', id: 'd', alias: 'WXYZ-ABCD', payload: '{}' }
  return [...sessions, ...codes, totp, device]
}

async function fill(store: Store): Promise<void> {
  await createUsers(store, userCount)
  await Promise.all(old().map(record => store.records.put(record)))
}

function openAll(store: Store, records = store.records, notes: string[] = []) {
  const note = (text: string) => notes.push(text)
  return openRecords({
    records,
    keys,
    database: 'postgres://host/name',
    note,
    rewrite: () => store.rewrite(),
  })
}

/** The records of a process that crashes before its nth write. */
function crashingAt(records: Records, count: number): Records {
  return crashingRecords(
    records,
    untilCrash(write => write < count),
  )
}

async function requireEncrypted(store: Store, opened: Records): Promise<void> {
  const sessions = await store.records.all('Session')
  assert.equal(sessions.length, recordCount)
  assert.ok(sessions.every(({ payload }) => isEncrypted(payload)))
  for (const at of [0, 1, recordCount - 1]) {
    const session = await opened.byAlias('Session', `uid${at}`)
    assert.ok(session?.payload.includes(clientCredentials(at)))
  }
  const codes = await store.records.all('RecoveryCode')
  assert.equal(codes.length, userCount, 'each recovery code once')
  assert.ok(
    codes.every(({ id, payload }) => isEncrypted(payload) && !id.includes(recoveryHash(3, codeOf(3)))),
  )
  assert.deepEqual(await store.records.all('DeviceCode'), [])
  const check = createOneTimeCodes(opened)
  assert.deepEqual([await check.check(3, codeOf(3)), await check.check(3, codeOf(3))], [true, false])
}

for (const databaseKind of databaseKinds) {
  test(`concurrent starts encrypt each secret once, and the log says so (${databaseKind.name})`, async () => {
    await databaseKind.within(async database => {
      const stores = await Promise.all([database.open(blog), database.open(blog), database.open(blog)])
      try {
        const [first] = stores
        assert.ok(first)
        await fill(first)
        const notes: string[] = []
        const opened = await Promise.all(stores.map(store => openAll(store, store.records, notes)))
        for (const [at, store] of stores.entries()) {
          if (at === 0) await requireEncrypted(store, opened[at] ?? assert.fail())
        }
        const encrypted = notes.map(text => Number(/encrypted (\d+) secrets/.exec(text)?.[1] ?? 0))
        assert.equal(
          encrypted.reduce((sum, count) => sum + count, 0),
          recordCount + 21,
          notes.join('\n'),
        )
        assert.match(notes[0] ?? '', /portico keys rotate/)
        notes.length = 0
        await openAll(first, first.records, notes)
        assert.deepEqual(notes, [])
      } finally {
        await Promise.all(stores.map(store => store.close()))
      }
    })
  })

  test(`a start completes the encryption that an earlier one began before it crashed (${databaseKind.name})`, async () => {
    await databaseKind.within(async database => {
      const store = await database.open(blog)
      try {
        await fill(store)
        for (const count of [1, 2, 22, 23, 41, 42, 43, 44, 300, 200]) {
          await assert.rejects(openAll(store, crashingAt(store.records, count)), /crashed/)
        }
        await requireEncrypted(store, await openAll(store))
      } finally {
        await store.close()
      }
    })
  })
}

test('encryption reads the records in batches', async () => {
  await withFile(async file => {
    const store = openSqlite(blog, { file })
    try {
      await fill(store)
      const largest = { batch: 0 }
      const watched: Records = {
        ...crashingAt(store.records, Number.POSITIVE_INFINITY),
        all: () => assert.fail('all at once'),
        after(kind, id, limit) {
          largest.batch = Math.max(largest.batch, limit)
          return store.records.after(kind, id, limit)
        },
      }
      await openAll(store, watched)
      assert.ok(largest.batch > 0 && largest.batch <= 500)
    } finally {
      await store.close()
    }
  })
})

test('the bytes of the file contain no plain-text secret afterwards', async () => {
  await withFile(async file => {
    const bytes = (name: string) => readFileSync(name).toString('latin1')
    const before = openSqlite(blog, { file })
    await fill(before)
    await before.close()
    assert.ok(bytes(file).includes(clientCredentials(0)) && bytes(file).includes(clientCredentials(7)))
    const store = openSqlite(blog, { file })
    await openAll(store)
    await store.close()
    for (const at of [0, 1, 7, recordCount - 1])
      assert.ok(!bytes(file).includes(clientCredentials(at)), clientCredentials(at))
    assert.ok(!bytes(join(file)).includes('WXYZ-ABCD'))
  })
})
