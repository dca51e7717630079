/** The table locks of an open batch on PostgreSQL: which single writes wait for it, and which do not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { user } from '../../../../../src/base/principal.ts'
import type { CollectionUses } from '../../../../../src/engine/plan/transaction.ts'
import { openPostgres } from '../../../../../src/engine/store/postgres/postgres.ts'
import { TableLocks } from '../../../../../src/engine/store/postgres/write/table-locks.ts'
import { anyone, collection, field, integer, model, related, relation } from '../../../../../src/index.ts'
import { checkModel } from '../../../../../src/model/check/check.ts'
import { type Harness, openHarness } from '../../../../api/contract/rest/harness.ts'
import { query, withPostgres } from '../../../../setups/databases/postgres.ts'

const open = { read: anyone, create: anyone, update: anyone, delete: anyone }
/** Rooms can be changed, and houses deleted, only while the switch of the house is below 50. */
const isOn = field('value').lt(50)
const houses = checkModel(
  model({
    switches: collection({ fields: { value: integer() }, access: open }),
    houses: collection({
      fields: { value: integer(), switch_id: relation('switches') },
      access: { ...open, delete: related('switch', isOn) },
    }),
    rooms: collection({
      fields: { value: integer(), house_id: relation('houses', { onDelete: 'cascade' }) },
      access: { ...open, update: related('house', related('switch', isOn)) },
    }),
    tags: collection({ fields: { value: integer({ unique: true }) }, access: open }),
    /** A member of a club admits others. */
    clubs: collection({ fields: { value: integer() }, access: open }),
    members: collection({
      fields: { value: integer(), club_id: relation('clubs', { inverse: 'members' }) },
      access: { ...open, create: related('club', related('members', field('value').gt(0))) },
    }),
    notes: collection({ fields: { value: integer() }, access: open }),
  }),
)

/** Makes every transaction that inserts a note wait for an advisory lock. */
const waitingTrigger = `CREATE FUNCTION wait_for_lock() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(777); RETURN NULL; END $$;
CREATE TRIGGER wait_for_lock AFTER INSERT ON notes FOR EACH ROW EXECUTE FUNCTION wait_for_lock()`
const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'portico' AND wait_event_type = 'Lock'`

const heldModes = `SELECT relation::regclass::text AS "table", mode FROM pg_locks WHERE granted AND mode IN ('ShareLock', 'ExclusiveLock') AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND relation IS NOT NULL`

const caller = user(1, 'user', 'all')

interface Operation {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Readonly<Record<string, number>>
}

async function statusOf(harness: Harness, { path, ...rest }: Operation): Promise<number> {
  return (await harness.send({ url: `/api/v1${path}`, ...rest }, caller)).status
}

interface OpenBatch {
  readonly harness: Harness
  /** The modes of the tables that are locked against writes. */
  modes(): Promise<Record<string, unknown>>
  /** Resolves once `count` transactions wait, that of the batch included. */
  untilWaiting(count: number): Promise<void>
  /** Lets the batch end, and returns its status. */
  finish(): Promise<number>
}

/** Runs `use` while a batch of these operations and a new note is open. */
function whileBatchIsOpen(operations: readonly Operation[], use: (batch: OpenBatch) => Promise<void>) {
  return withPostgres(async url => {
    const store = await openPostgres(houses, { url, connections: 8 })
    const harness = await openHarness(houses, async () => ({ store, close: () => store.close() }))
    const lockClient = new pg.Client({ connectionString: url })
    await lockClient.connect()
    const untilWaiting = async (count: number) => {
      while ((await query(url, waiting)).length < count) await new Promise(resolve => setImmediate(resolve))
    }
    try {
      for (const id of [1, 2]) {
        await harness.seed('switches', { value: 1 })
        await harness.seed('houses', { value: 1, switch_id: id })
      }
      await harness.seed('rooms', { value: 1, house_id: 1 })
      await harness.seed('clubs', { value: 1 })
      await harness.seed('members', { value: 1, club_id: 1 })
      await lockClient.query(waitingTrigger)
      await lockClient.query('SELECT pg_advisory_lock(777)')
      const note = { method: 'POST', path: '/notes', body: { value: 1 } }
      const body = { operations: [...operations, note] }
      const batch = harness.send({ method: 'POST', url: '/api/v1/batch', body }, caller)
      await untilWaiting(1)
      const finish = async () => {
        await lockClient.query('SELECT pg_advisory_unlock(777)')
        return (await batch).status
      }
      const modes = async () =>
        Object.fromEntries((await query(url, heldModes)).map(({ table, mode }) => [table, mode]))
      await use({ harness, modes, untilWaiting, finish })
    } finally {
      await lockClient.end()
      await harness.close()
    }
  })
}

const readHouse = { method: 'GET', path: '/houses/1' }
const updateHouse = { method: 'PATCH', path: '/houses/1', body: { value: 2 } }
const createRoom = { method: 'POST', path: '/rooms', body: { value: 2, house_id: 1 } }
const updateRoom = { method: 'PATCH', path: '/rooms/1', body: { value: 2 } }

test('a batch that reads an item does not delay writes of the collections that its deletion would change', () =>
  whileBatchIsOpen([readHouse], async ({ harness, finish }) => {
    assert.equal(await statusOf(harness, createRoom), 201)
    assert.equal(await statusOf(harness, updateRoom), 200)
    assert.equal(await finish(), 200)
  }))

test('a batch that updates an item does not delay writes of the collections that its deletion would change', () =>
  whileBatchIsOpen([updateHouse], async ({ harness, finish }) => {
    assert.equal(await statusOf(harness, updateRoom), 200)
    assert.equal(await finish(), 200)
  }))

const deleteHouse = { method: 'DELETE', path: '/houses/1' }

test('a batch that deletes an item locks the tables to which the deletion cascades', () =>
  whileBatchIsOpen([{ method: 'GET', path: '/tags' }, deleteHouse], async ({ modes, finish }) => {
    assert.deepEqual(await modes(), {
      houses: 'ExclusiveLock',
      notes: 'ExclusiveLock',
      rooms: 'ExclusiveLock',
      switches: 'ShareLock',
      tags: 'ShareLock',
    })
    assert.equal(await finish(), 200)
  }))

test('a write of a collection that a batch has read waits for the batch', () =>
  whileBatchIsOpen([readHouse], async ({ harness, untilWaiting, finish }) => {
    let isStored = false
    const update = statusOf(harness, updateHouse).finally(() => {
      isStored = true
    })
    await untilWaiting(2)
    assert.equal(isStored, false)
    assert.equal(await finish(), 200)
    assert.equal(await update, 200)
  }))

const turnOff = { method: 'PATCH', path: '/switches/1', body: { value: 99 } }
/** Its rule holds afterwards in any case: the switch of the second house stays on. */
const moveRoom = { method: 'PATCH', path: '/rooms/1', body: { house_id: 2 } }
const readRoom = { method: 'GET', path: '/rooms/1' }

/** A batch reads the rooms, and forbids the write. Since it has not seen the write, the write comes after it. */
const lateWrites = {
  'an update': moveRoom,
  'an update in a transaction of its own': { ...moveRoom, headers: { 'idempotency-key': 'one' } },
  'a deletion that cascades': deleteHouse,
}

for (const [title, write] of Object.entries(lateWrites)) {
  test(`${title} that waits for a batch is checked against what the batch has changed`, () =>
    whileBatchIsOpen([readRoom, turnOff], async ({ harness, untilWaiting, finish }) => {
      const status = statusOf(harness, write)
      await untilWaiting(2)
      assert.equal(await finish(), 200)
      assert.equal(await status, 403)
    }))
}

const createMember = { method: 'POST', path: '/members', body: { value: 1, club_id: 1 } }

/** Once it is stored, the new member would admit itself. */
for (const [title, headers] of Object.entries({
  'a create': {},
  'a create in a transaction of its own': { 'idempotency-key': 'one' },
})) {
  test(`${title} that waits for a batch is checked against what the batch has changed`, () =>
    whileBatchIsOpen(
      [{ method: 'DELETE', path: '/members/1' }],
      async ({ harness, untilWaiting, finish }) => {
        const status = statusOf(harness, { ...createMember, headers })
        await untilWaiting(2)
        assert.equal(await finish(), 200)
        assert.equal(await status, 403)
      },
    ))
}

test('an update after its group was rolled back is checked against what the batch has changed', () =>
  whileBatchIsOpen([readRoom, turnOff], async ({ harness, untilWaiting, finish }) => {
    const tag = { method: 'POST', path: '/tags', body: { value: 1 } }
    // The database refuses the second one, after which groups use savepoints.
    assert.deepEqual([await statusOf(harness, tag), await statusOf(harness, tag)], [201, 409])
    const status = statusOf(harness, moveRoom)
    await untilWaiting(2)
    assert.equal(await finish(), 200)
    assert.equal(await status, 403)
  }))

/** Books can be read if their shelf is low, and changed if their author is known; loans go with their book. */
const library = checkModel(
  model({
    shelves: collection({ fields: { value: integer() }, access: open }),
    authors: collection({ fields: { value: integer() }, access: open }),
    books: collection({
      fields: { value: integer(), shelf_id: relation('shelves'), author_id: relation('authors') },
      access: { ...open, read: related('shelf', isOn), update: related('author', isOn) },
    }),
    readers: collection({ fields: { value: integer() }, access: open }),
    loans: collection({
      fields: { book_id: relation('books', { onDelete: 'cascade' }), reader_id: relation('readers') },
      access: open,
    }),
  }),
)

test('a read locks its tables and those of its rules, a write its references too, a deletion what it cascades to', () => {
  const locks = new TableLocks(library)
  const modesOf = (uses: CollectionUses) => Object.fromEntries(locks.modesOf(uses))
  assert.deepEqual(modesOf({ reads: ['books'] }), { books: 'SHARE', shelves: 'SHARE' })
  assert.deepEqual(modesOf({ reads: ['shelves'] }), { shelves: 'SHARE' })
  const update = { books: 'EXCLUSIVE', shelves: 'SHARE', authors: 'SHARE' }
  assert.deepEqual(modesOf({ writes: ['books'] }), update)
  const deletion = { ...update, loans: 'EXCLUSIVE', readers: 'SHARE' }
  assert.deepEqual(modesOf({ deletes: ['books'] }), deletion)
  // The strongest mode that any use needs, whatever the order.
  assert.deepEqual(modesOf({ reads: ['loans', 'books'], writes: ['shelves', 'loans'], deletes: ['books'] }), {
    ...deletion,
    shelves: 'EXCLUSIVE',
  })
})

test('tables are locked in the order of their names', () => {
  const locks = new TableLocks(library)
  const texts = locks
    .statements(locks.modesOf({ writes: ['books'], reads: ['readers'] }))
    .map(({ text }) => text)
  assert.deepEqual(texts, [
    'LOCK TABLE "authors" IN SHARE MODE',
    'LOCK TABLE "books" IN EXCLUSIVE MODE',
    'LOCK TABLE "readers" IN SHARE MODE',
    'LOCK TABLE "shelves" IN SHARE MODE',
  ])
})
