/** What a batch locks on PostgreSQL while it is open: which single writes wait for it, and which do not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { anyone, collection, field, integer, model, related, relation } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check.ts'
import { user } from '../../../../src/principal.ts'
import { openPostgres } from '../../../../src/store/postgres.ts'
import { type Bench, openBench } from '../../../contract/rest/bench.ts'
import { query, withPostgres } from '../../../databases/postgres.ts'

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
    notes: collection({ fields: { value: integer() }, access: open }),
  }),
)

/** Makes every transaction that inserts a note wait for an advisory lock. */
const gated = `CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(777); RETURN NULL; END $$;
CREATE TRIGGER gate AFTER INSERT ON notes FOR EACH ROW EXECUTE FUNCTION gate()`
const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'portico' AND wait_event_type = 'Lock'`

const caller = user(1, 'user', 'all')

interface Operation {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Readonly<Record<string, number>>
}

async function statusOf(bench: Bench, { path, ...rest }: Operation): Promise<number> {
  return (await bench.send({ url: `/api/v1${path}`, ...rest }, caller)).status
}

interface OpenBatch {
  readonly bench: Bench
  /** Resolves once `count` transactions wait, that of the batch included. */
  untilWaiting(count: number): Promise<void>
  /** Lets the batch end, and returns its status. */
  finish(): Promise<number>
}

/** Runs `use` while a batch of these operations and a new note is open. */
function whileBatchIsOpen(operations: readonly Operation[], use: (batch: OpenBatch) => Promise<void>) {
  return withPostgres(async url => {
    const store = await openPostgres(houses, { url, connections: 8 })
    const bench = await openBench(houses, async () => ({ store, close: () => store.close() }))
    const gate = new pg.Client({ connectionString: url })
    await gate.connect()
    const untilWaiting = async (count: number) => {
      while ((await query(url, waiting)).length < count) await new Promise(resolve => setImmediate(resolve))
    }
    try {
      await bench.seed('switches', { value: 1 })
      await bench.seed('houses', { value: 1, switch_id: 1 })
      await bench.seed('rooms', { value: 1, house_id: 1 })
      await gate.query(gated)
      await gate.query('SELECT pg_advisory_lock(777)')
      const note = { method: 'POST', path: '/notes', body: { value: 1 } }
      const body = { operations: [...operations, note] }
      const batch = bench.send({ method: 'POST', url: '/api/v1/batch', body }, caller)
      await untilWaiting(1)
      const finish = async () => {
        await gate.query('SELECT pg_advisory_unlock(777)')
        return (await batch).status
      }
      await use({ bench, untilWaiting, finish })
    } finally {
      await gate.end()
      await bench.close()
    }
  })
}

const readHouse = { method: 'GET', path: '/houses/1' }
const updateHouse = { method: 'PATCH', path: '/houses/1', body: { value: 2 } }
const createRoom = { method: 'POST', path: '/rooms', body: { value: 2, house_id: 1 } }
const updateRoom = { method: 'PATCH', path: '/rooms/1', body: { value: 2 } }

test('a batch that reads an item does not delay writes of the collections that its deletion would change', () =>
  whileBatchIsOpen([readHouse], async ({ bench, finish }) => {
    assert.equal(await statusOf(bench, createRoom), 201)
    assert.equal(await statusOf(bench, updateRoom), 200)
    assert.equal(await finish(), 200)
  }))

test('a batch that updates an item does not delay writes of the collections that its deletion would change', () =>
  whileBatchIsOpen([updateHouse], async ({ bench, finish }) => {
    assert.equal(await statusOf(bench, updateRoom), 200)
    assert.equal(await finish(), 200)
  }))

test('a write of a collection that a batch has read waits for the batch', () =>
  whileBatchIsOpen([readHouse], async ({ bench, untilWaiting, finish }) => {
    let isStored = false
    const update = statusOf(bench, updateHouse).finally(() => {
      isStored = true
    })
    await untilWaiting(2)
    assert.equal(isStored, false)
    assert.equal(await finish(), 200)
    assert.equal(await update, 200)
  }))

const turnOff = { method: 'PATCH', path: '/switches/1', body: { value: 99 } }
const readRoom = { method: 'GET', path: '/rooms/1' }

/** A batch reads the rooms, and forbids the write. Since it has not seen the write, the write comes after it. */
const lateWrites = {
  'an update': updateRoom,
  'an update in a transaction of its own': { ...updateRoom, headers: { 'idempotency-key': 'one' } },
  'a deletion that cascades': { method: 'DELETE', path: '/houses/1' },
}

for (const [title, write] of Object.entries(lateWrites)) {
  test(`${title} that waits for a batch is checked against what the batch has changed`, () =>
    whileBatchIsOpen([readRoom, turnOff], async ({ bench, untilWaiting, finish }) => {
      const status = statusOf(bench, write)
      await untilWaiting(2)
      assert.equal(await finish(), 200)
      assert.equal(await status, 403)
    }))
}

test('an update after its group was rolled back is checked against what the batch has changed', () =>
  whileBatchIsOpen([readRoom, turnOff], async ({ bench, untilWaiting, finish }) => {
    const tag = { method: 'POST', path: '/tags', body: { value: 1 } }
    // The database refuses the second one, after which groups use savepoints.
    assert.deepEqual([await statusOf(bench, tag), await statusOf(bench, tag)], [201, 409])
    const status = statusOf(bench, updateRoom)
    await untilWaiting(2)
    assert.equal(await finish(), 200)
    assert.equal(await status, 403)
  }))
