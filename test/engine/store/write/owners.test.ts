/** The records of a user are deleted with the user, whichever way the user is deleted. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { user } from '../../../../src/base/principal.ts'
import type { NewRecord } from '../../../../src/base/records.ts'
import type { Store } from '../../../../src/engine/store/store.ts'
import { anyone, collection, model, relation, string, users } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { testOfOthers } from '../../../chosen.ts'
import { seededStores } from '../../../setups/databases/seeded-store.ts'
import { Client } from '../blog.ts'
import { databaseKinds, type TestDatabase } from '../databases.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

const firm = checkModel(
  model({
    teams: collection({ access, fields: { name: string() } }),
    users: users({ fields: { team_id: relation('teams', { optional: true, onDelete: 'cascade' }) } }),
    notes: collection({ access, fields: { by_id: relation('users') } }),
  }),
)

const kinds = ['Consent', 'Grant', 'Passkey', 'Session', 'Totp']

function recordsOf(owner: string | undefined): NewRecord[] {
  return kinds.flatMap(kind =>
    ['a', 'b'].map(name => ({
      kind,
      id: `${owner}:${name}`,
      payload: '{}',
      expiresAt: name === 'a' ? null : Number.MAX_SAFE_INTEGER,
      grant: `g${owner}`,
      owner,
    })),
  )
}

const admin = user(999, 'admin', 'all')
const person = (name: string, team: number | null = null) => ({
  name,
  email: `${name}@example.com`,
  team_id: team,
})

interface Fixture {
  readonly client: Client
  readonly store: Store
  readonly clock: { now: number }
  open(): Promise<Store>
  keep(records: readonly NewRecord[]): Promise<void>
  /** The number of records per owner, as seen by another connection. */
  left(): Promise<Record<string, number>>
}

async function withFixture(database: TestDatabase, use: (fixture: Fixture) => Promise<void>): Promise<void> {
  const clock = { now: 1_000_000 }
  const open = () => database.open(firm, { now: () => clock.now })
  const store = await open()
  try {
    await use({
      client: new Client(store, firm),
      store,
      clock,
      open,
      keep: async all => void (await Promise.all(all.map(record => store.records.put(record)))),
      async left() {
        const text = 'SELECT "owner", count(*) AS "n" FROM "_records" GROUP BY "owner" ORDER BY "owner"'
        return Object.fromEntries((await database.rows(text)).map(({ owner, n }) => [owner, Number(n)]))
      },
    })
  } finally {
    await store.close()
  }
}

for (const databaseKind of databaseKinds) {
  describe(`records of users on ${databaseKind.name}`, () => {
    const within = (use: (fixture: Fixture) => Promise<void>) => () =>
      databaseKind.within(database => withFixture(database, use))

    it(
      'are deleted in the same commit, all kinds, and only those of the user',
      within(async ({ client, store, open, keep, left }) => {
        const [ann, ben] = [
          await client.create('users', person('ann')),
          await client.create('users', person('ben')),
        ]
        await keep([...recordsOf(String(ann.id)), ...recordsOf(String(ben.id)), ...recordsOf(undefined)])
        await keep([{ kind: 'Lasting', id: '1', payload: '{}', expiresAt: null, owner: String(ben.id) }])
        const otherStore = await open()
        const versions = async (store: Store) => {
          await store.refresh()
          return [...kinds, 'Lasting'].map(kind => store.records.version(kind))
        }
        const [before, elsewhere] = [await versions(store), await versions(otherStore)]
        await client.remove('users', ann.id)
        assert.deepEqual(await left(), { [ben.id]: 11, null: 10 })
        assert.deepEqual(await store.records.byOwner('Totp', String(ann.id)), [])
        const [after, there] = [await versions(store), await versions(otherStore)]
        assert.ok(kinds.every((_, index) => Number(after[index]) > Number(before[index])))
        assert.ok(kinds.every((_, index) => Number(there[index]) > Number(elsewhere[index])))
        assert.equal(after.at(-1), before.at(-1))
        await otherStore.close()
      }),
    )

    it(
      'are kept if the deletion is refused',
      within(async ({ client, keep, left }) => {
        const ann = await client.create('users', person('ann'))
        await client.create('notes', { by_id: ann.id })
        await keep(recordsOf(String(ann.id)))
        await assert.rejects(client.remove('users', ann.id), { code: 'CONFLICT' })
        await assert.rejects(client.remove('users', ann.id, user(ann.id, 'user', 'all')), {
          code: 'FORBIDDEN',
        })
        assert.deepEqual(await left(), { [ann.id]: 10 })
      }),
    )

    it(
      'are deleted if the deletion of another item cascades to the user',
      within(async ({ client, keep, left }) => {
        const team = await client.create('teams', { name: 'one' })
        const ids: number[] = []
        for (const name of ['ann', 'ben']) ids.push((await client.create('users', person(name, team.id))).id)
        const cleo = await client.create('users', person('cleo'))
        await keep([...ids, cleo.id].flatMap(id => recordsOf(String(id))))
        await client.remove('teams', team.id)
        assert.deepEqual(await left(), { [cleo.id]: 10 })
      }),
    )

    it(
      'are deleted by a later cleanup if they were stored after the user was deleted, among many others',
      within(async ({ client, clock, keep, left }) => {
        const ann = await client.create('users', person('ann'))
        const ben = await client.create('users', person('ben'))
        await client.remove('users', ben.id)
        const late = recordsOf(String(ben.id))
        const many = Array.from({ length: 1200 }, (_, index) => ({
          kind: `Kind${index % 7}`,
          id: `x${index}`,
          payload: '{}',
          expiresAt: null,
          owner: String(ann.id),
        }))
        const unowned = recordsOf(undefined)
        await keep([...many, ...late, ...unowned])
        for (let count = 0; count < 20 && String(ben.id) in (await left()); count++) {
          clock.now += 5001
          await client.create('teams', { name: 'a write' })
          // PostgreSQL cleans up after the acknowledgement.
          await new Promise(resolve => setTimeout(resolve, 50))
        }
        assert.deepEqual(await left(), { [ann.id]: 1200, null: 10 })
      }),
    )

    it(
      'cannot pass to another user, since ids are not reused',
      within(async ({ client, open, store }) => {
        const ann = await client.create('users', person('ann'))
        await client.remove('users', ann.id)
        const ben = await client.create('users', person('ben'))
        assert.ok(ben.id > ann.id)
        await client.remove('users', ben.id)
        await store.close()
        const again = await open()
        const cleo = await new Client(again, firm).create('users', person('cleo'))
        assert.ok(cleo.id > ben.id)
        await again.close()
      }),
    )
  })
}

testOfOthers(
  'records of users are deleted under row security, for any caller who may delete the user',
  async () => {
    const seededStore = seededStores.find(({ name }) => name === 'PostgreSQL with row security')
    assert.ok(seededStore)
    const clock = { now: 1_000_000 }
    const use = async ({ store }: { readonly store: Store }) => {
      const client = new Client(store, firm)
      const put = (owner: number) =>
        Promise.all(recordsOf(String(owner)).map(record => store.records.put(record)))
      const remainingRecords = async () =>
        (await Promise.all(kinds.map(kind => store.records.all(kind)))).flat().length
      const ann = await client.create('users', person('ann'))
      const ben = await client.create('users', person('ben'))
      await put(ann.id)
      await put(ben.id)
      await client.remove('users', ann.id, admin)
      assert.equal(await remainingRecords(), 10)
      await put(ann.id)
      for (let count = 0; count < 20 && (await remainingRecords()) > 10; count++) {
        clock.now += 5001
        await client.create('teams', { name: 'a write' })
        await new Promise(resolve => setTimeout(resolve, 50))
      }
      assert.equal((await store.records.byOwner('Totp', String(ben.id))).length, 2)
      assert.equal(await remainingRecords(), 10)
    }
    await seededStore.within(firm, {}, use, () => clock.now)
  },
)
