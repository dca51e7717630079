import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { NewRecord, Records } from '../../../src/base/records.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { cases } from '../../cases.ts'
import blog from '../../models/blog.ts'
import { type DatabaseKind, databaseKinds, type TestDatabase } from './databases.ts'

const model = checkModel(blog)

interface OpenedStore {
  readonly store: Store
  readonly records: Records
  readonly clock: { now: number }
  readonly database: TestDatabase
}

/** A store whose clock the test sets. */
async function openAt(database: TestDatabase): Promise<OpenedStore> {
  const clock = { now: 1_000_000 }
  const store = await database.open(model, { now: () => clock.now })
  return { store, records: store.records, clock, database }
}

/** A record whose owner does not exist is removed by the cleanup. */
const owners = `INSERT INTO "users" ("id", "name", "email", "role", "created_at")
  VALUES (7, 'Ann', 'ann@example.com', 'user', '2026-01-01T00:00:00.000Z'),
    (70, 'Ben', 'ben@example.com', 'user', '2026-01-01T00:00:00.000Z')`

function within(databaseKind: DatabaseKind, use: (opened: OpenedStore) => Promise<void>) {
  return () =>
    databaseKind.within(async database => {
      const opened = await openAt(database)
      try {
        await database.run(owners)
        await use(opened)
      } finally {
        await opened.store.close()
      }
    })
}

/** Two stores on one database, like those of two nodes. */
function withinTwo(
  databaseKind: DatabaseKind,
  use: (first: OpenedStore, second: OpenedStore) => Promise<void>,
) {
  return within(databaseKind, async first => {
    const second = await openAt(first.database)
    try {
      await use(first, second)
    } finally {
      await second.store.close()
    }
  })
}

/** The version that a request sees. */
async function versionOf({ store, records }: OpenedStore, kind: string): Promise<number> {
  await store.refresh()
  return records.version(kind)
}

function record(id: string, more: Partial<NewRecord> = {}): NewRecord {
  return { kind: 'Token', id, payload: '{"a":1}', expiresAt: 2_000_000, ...more }
}

function idsOf(records: readonly { readonly id: string }[]): string[] {
  return records.map(({ id }) => id)
}

for (const databaseKind of databaseKinds)
  describe(`records on ${databaseKind.name}`, () => scenarios(databaseKind))

function scenarios(databaseKind: DatabaseKind): void {
  it(
    'a stored record is found by its id, alias and owner',
    within(databaseKind, async ({ records }) => {
      await records.put(record('1', { grant: 'g', alias: 'short', owner: '7' }))
      const expected = {
        kind: 'Token',
        id: '1',
        payload: '{"a":1}',
        expiresAt: 2_000_000,
        consumedAt: null,
        grant: 'g',
        alias: 'short',
        owner: '7',
      }
      assert.deepEqual(await records.get('Token', '1'), expected)
      assert.deepEqual(await records.byAlias('Token', 'short'), expected)
      assert.deepEqual(await records.byOwner('Token', '7'), [expected])
      assert.deepEqual(await records.all('Token'), [expected])
      assert.equal(await records.get('Other', '1'), undefined)
      assert.equal(await records.byAlias('Other', 'short'), undefined)
      assert.deepEqual(await records.byOwner('Other', '7'), [])
    }),
  )

  it(
    'swap replaces a payload only if it is still the expected one',
    within(databaseKind, async opened => {
      const { records } = opened
      const key = { kind: 'Token', id: '1' }
      await records.put(record('1', { grant: 'g', alias: 'short', owner: '7' }))
      const version = await versionOf(opened, 'Token')
      assert.equal(await records.swap(key, '{"a":2}', '{"a":3}'), false)
      assert.equal(await versionOf(opened, 'Token'), version)
      assert.equal(await records.swap(key, '{"a":1}', '{"a":3}'), true)
      assert.ok((await versionOf(opened, 'Token')) > version)
      const { payload, grant, alias, owner } = (await records.get('Token', '1')) ?? {}
      assert.deepEqual([payload, grant, alias, owner], ['{"a":3}', 'g', 'short', '7'])
      assert.equal(await records.swap({ ...key, id: '2' }, '{"a":1}', '{"a":3}'), false)
      const round = Array.from({ length: 20 }, (_, index) =>
        records.swap(key, '{"a":3}', `{"a":${index + 10}}`),
      )
      assert.equal((await Promise.all(round)).filter(Boolean).length, 1)
    }),
  )

  it(
    'records are listed by id, in code point order',
    within(databaseKind, async ({ records }) => {
      const ids = ['b', 'B', 'a', 'ä', 'Z', '10', '9', '\u{1f600}', '\uff5e']
      for (const id of ids) await records.put(record(id, { owner: '7' }))
      const sorted = ['10', '9', 'B', 'Z', 'a', 'b', 'ä', '\uff5e', '\u{1f600}']
      assert.deepEqual(idsOf(await records.all('Token')), sorted)
      assert.deepEqual(idsOf(await records.byOwner('Token', '7')), sorted)
      await records.put(record('0', { kind: 'Other' }))
      await records.put(record('5', { expiresAt: 1 }))
      assert.deepEqual(idsOf(await records.after('Token', '', 4)), sorted.slice(0, 4))
      assert.deepEqual(idsOf(await records.after('Token', 'Z', 4)), sorted.slice(4, 8))
      assert.deepEqual(idsOf(await records.after('Token', 'ä', 4)), sorted.slice(7))
      assert.deepEqual(await records.after('Token', '\u{1f600}', 4), [])
    }),
  )

  it(
    'put replaces the record of the same kind and id, and a consumed record stays consumed',
    within(databaseKind, async ({ records, clock }) => {
      await records.put(record('1'))
      assert.equal(await records.consume('Token', '1'), true)
      await records.put(record('1', { payload: '{"a":2}' }))
      assert.equal((await records.get('Token', '1'))?.payload, '{"a":2}')
      assert.equal((await records.get('Token', '1'))?.consumedAt, clock.now)
      assert.equal(await records.consume('Token', '1'), false)
    }),
  )

  it(
    'put replaces every attribute, and deleteOwned deletes only the given kinds',
    within(databaseKind, async ({ records }) => {
      await records.put(record('1', { grant: 'g', alias: 'short', owner: '7' }))
      await records.put(
        record('1', { payload: '{}', expiresAt: null, grant: 'h', alias: 'long', owner: '70' }),
      )
      const { consumedAt: _, ...stored } = (await records.get('Token', '1')) ?? assert.fail()
      const expected = { payload: '{}', expiresAt: null, grant: 'h', alias: 'long', owner: '70' }
      assert.deepEqual(stored, { kind: 'Token', id: '1', ...expected })
      await records.put(record('2', { owner: '70' }))
      await records.put(record('1', { kind: 'Other', owner: '70' }))
      assert.equal(await records.deleteOwned('7', ['Token', 'Other']), 0)
      assert.equal(await records.deleteOwned('70', ['Token', 'Third']), 2)
      assert.deepEqual(idsOf(await records.byOwner('Other', '70')), ['1'])
    }),
  )

  it(
    'the id of an expired record can be added again, even before the cleanup removes the record',
    within(databaseKind, async ({ records, clock }) => {
      await records.put(record('1'))
      clock.now = 1_999_999
      // The periodic cleanup has just run, so it does not remove record 1 at its expiry.
      await records.put(record('2'))
      assert.equal(await records.add(record('1', { expiresAt: 3_000_000 })), false)
      clock.now = 2_000_000
      assert.equal(await records.add(record('1', { expiresAt: 3_000_000 })), true)
      assert.equal((await records.get('Token', '1'))?.expiresAt, 3_000_000)
    }),
  )

  it(
    'an expired record is not found',
    within(databaseKind, async ({ records, clock }) => {
      await records.put(record('1', { alias: 'a', owner: '7' }))
      await records.put(record('2', { expiresAt: null, owner: '7' }))
      clock.now = 2_000_000
      assert.equal(await records.get('Token', '1'), undefined)
      assert.equal(await records.byAlias('Token', 'a'), undefined)
      assert.deepEqual(idsOf(await records.byOwner('Token', '7')), ['2'])
      assert.deepEqual(idsOf(await records.all('Token')), ['2'])
      assert.equal(await records.consume('Token', '1'), false)
      assert.equal(await records.add(record('1', { expiresAt: 3_000_000 })), true)
    }),
  )

  it(
    'of many concurrent consumes of a record, and of many concurrent adds, exactly one succeeds',
    within(databaseKind, async ({ records }) => {
      for (let round = 0; round < 20; round++) {
        const id = `c${round}`
        await records.put(record(id))
        const consumed = await Promise.all(Array.from({ length: 20 }, () => records.consume('Token', id)))
        assert.equal(consumed.filter(Boolean).length, 1)
        const added = await Promise.all(Array.from({ length: 20 }, () => records.add(record(`a${round}`))))
        assert.equal(added.filter(Boolean).length, 1)
      }
      assert.equal(await records.consume('Token', 'unknown'), false)
    }),
  )

  it(
    'of concurrent adds, consumes and deletes of a record in two stores, exactly one each succeeds',
    withinTwo(databaseKind, async (first, second) => {
      const both = [first.records, second.records]
      for (let round = 0; round < 20; round++) {
        const ids = Array.from({ length: 5 }, (_, index) => `${round}/${index}`)
        const added = await Promise.all(
          ids.flatMap(id => both.flatMap(records => [records.add(record(id)), records.add(record(id))])),
        )
        assert.equal(added.filter(Boolean).length, ids.length)
        // The second store uses the reverse order, so the rows are locked in both orders.
        const orders = [ids, ids.toReversed()]
        const consumed = await Promise.all(
          both.flatMap((records, index) => (orders[index] ?? []).map(id => records.consume('Token', id))),
        )
        assert.equal(consumed.filter(Boolean).length, ids.length)
        const deleted = await Promise.all(
          both.flatMap((records, index) => (orders[index] ?? []).map(id => records.delete('Token', id))),
        )
        assert.equal(deleted.filter(Boolean).length, ids.length)
      }
    }),
  )

  it(
    'of concurrent adds and consumes of a record in twenty stores, exactly one each succeeds',
    within(databaseKind, async ({ database }) => {
      const all = await Promise.all(Array.from({ length: 20 }, () => openAt(database)))
      try {
        for (let round = 0; round < 5; round++) {
          const id = `r${round}`
          const added = await Promise.all(all.map(({ records }) => records.add(record(id))))
          assert.equal(added.filter(Boolean).length, 1)
          const consumed = await Promise.all(all.map(({ records }) => records.consume('Token', id)))
          assert.equal(consumed.filter(Boolean).length, 1)
        }
      } finally {
        await Promise.all(all.map(({ store }) => store.close()))
      }
    }),
  )

  it(
    'deleteGrant deletes all kinds, deleteOwned the given kinds',
    within(databaseKind, async ({ records }) => {
      await records.put(record('1', { grant: 'g', owner: '7' }))
      await records.put(record('2', { grant: 'g', kind: 'Code' }))
      await records.put(record('3', { grant: 'h', owner: '7' }))
      await records.put(record('4', { kind: 'Session', owner: '7' }))
      await records.put(record('5', { owner: '70' }))
      assert.equal(await records.deleteGrant('g'), 2)
      assert.equal(await records.get('Code', '2'), undefined)
      assert.equal(await records.deleteOwned('7', ['Token', 'Session']), 2)
      assert.deepEqual(idsOf(await records.all('Token')), ['5'])
      assert.equal(await records.deleteGrant('g'), 0)
      assert.equal(await records.delete('Token', '5'), true)
      assert.equal(await records.delete('Token', '5'), false)
    }),
  )

  it(
    'a duplicate alias within a kind fails that write alone',
    within(databaseKind, async ({ records }) => {
      await records.put(record('1', { alias: 'same' }))
      const [other, duplicate, third] = await Promise.allSettled([
        records.put(record('3', { alias: 'same', kind: 'Other' })),
        records.put(record('2', { alias: 'same' })),
        records.add(record('4')),
      ])
      assert.equal(other.status, 'fulfilled')
      assert.equal(duplicate.status === 'rejected' && duplicate.reason.code, 'CONFLICT')
      assert.equal(third.status === 'fulfilled' && third.value, true)
      assert.equal(await records.get('Token', '2'), undefined)
      assert.deepEqual(idsOf(await records.all('Token')), ['1', '4'])
      assert.deepEqual(idsOf(await records.all('Other')), ['3'])
    }),
  )

  it(
    'the version of a kind changes when a record is changed or deleted, not when one is added',
    within(databaseKind, async opened => {
      const { records } = opened
      const before = await versionOf(opened, 'Token')
      await records.put(record('1', { grant: 'g', owner: '7' }))
      await records.add(record('2', { owner: '7' }))
      assert.equal(await versionOf(opened, 'Token'), before)
      const steps = [
        () => records.put(record('1', { grant: 'g', owner: '7' })),
        () => records.consume('Token', '1'),
        () => records.deleteGrant('g'),
        () => records.deleteOwned('7', ['Token']),
      ]
      let last = before
      for (const step of steps) {
        const other = await versionOf(opened, 'Other')
        await step()
        assert.ok(records.version('Token') > last)
        assert.equal(await versionOf(opened, 'Other'), other)
        last = await versionOf(opened, 'Token')
      }
      await records.delete('Token', 'unknown')
      assert.equal(await versionOf(opened, 'Token'), last)
    }),
  )

  it(
    'the version of a kind changes when another store changes a record',
    withinTwo(databaseKind, async (first, second) => {
      await first.records.put(record('1'))
      const before = await versionOf(second, 'Token')
      await first.records.delete('Token', '1')
      assert.ok((await versionOf(second, 'Token')) > before)
      assert.equal(await second.records.get('Token', '1'), undefined)
    }),
  )

  it(
    'records and their consumption survive a restart',
    within(databaseKind, async ({ store, records, database }) => {
      await records.put(record('1'))
      await records.consume('Token', '1')
      await store.close()
      const again = await openAt(database)
      assert.equal((await again.records.get('Token', '1'))?.consumedAt, 1_000_000)
      assert.equal(await again.records.consume('Token', '1'), false)
      await again.store.close()
    }),
  )

  it(
    'expired records are removed in small steps by later writes',
    within(databaseKind, async ({ records, clock, database }) => {
      const [expired, most] = [1100, 500]
      await Promise.all(Array.from({ length: expired }, (_, index) => records.put(record(`x${index}`))))
      const count = async () => Number((await database.rows('SELECT count(*) AS n FROM "_records"'))[0]?.n)
      let left = await count()
      assert.equal(left, expired)
      clock.now = 2_000_001
      const steps: number[] = []
      for (let write = 0; write < 100 && left > 1; write++) {
        clock.now += 1000
        await records.put(record('kept', { expiresAt: null }))
        const now = await count()
        if (now < left) steps.push(left - now)
        left = now
      }
      assert.equal(left, 1)
      // A write does not wait for the step that follows it, so two steps may fall between two counts.
      assert.ok(steps.length > 1 && steps.every(step => step <= 2 * most), String(steps))
    }),
  )

  it(
    'opening a store creates a missing table of records',
    within(databaseKind, async ({ store, database }) => {
      await store.close()
      await database.run('DROP TABLE "_records"')
      const again = await openAt(database)
      await again.records.put(record('1'))
      assert.equal((await again.records.get('Token', '1'))?.id, '1')
      await again.store.close()
    }),
  )

  it(
    'arbitrary texts are stored unchanged',
    within(databaseKind, async ({ records }) => {
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: 'binary' }), fc.string(), async (text, id) => {
          const wellFormed = Buffer.from(text).toString()
          if (id.includes('\0')) return
          await records.put(record(id, { payload: JSON.stringify(wellFormed) }))
          assert.equal(JSON.parse((await records.get('Token', id))?.payload ?? ''), wellFormed)
        }),
        cases(50, 20),
      )
    }),
  )

  it(
    'a key with U+0000 finds nothing',
    within(databaseKind, async ({ records }) => {
      await records.put(record('1'))
      for (const key of ['1\0', '\0']) {
        assert.equal(await records.get('Token', key), undefined)
        assert.equal(await records.byAlias('Token', key), undefined)
        assert.deepEqual(await records.byOwner('Token', key), [])
        assert.equal(await records.consume('Token', key), false)
        assert.equal(await records.delete('Token', key), false)
      }
    }),
  )
}
