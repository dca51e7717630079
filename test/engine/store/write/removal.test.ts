/** Deletions that cascade, clear references or are refused: the remaining rows, and an event for each change. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SlicedDeletion } from '../../../../src/delivery/deletions/sliced-deletion.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import { type Cascade, maxUnreportedCascade } from '../../../../src/engine/store/write/removal/cascades.ts'
import { createRun } from '../../../../src/server/serve/store.ts'
import { Client } from '../blog.ts'
import { databaseKinds } from '../databases.ts'
import { storage } from './storage.ts'

interface Event {
  readonly kind: string
  readonly collection: string
  readonly id: number
  readonly data: Record<string, unknown>
  readonly changed: readonly string[] | null
}

interface Fixture {
  readonly client: Client
  /** Returns the rows of a query on another connection. */
  rows(query: string): Promise<unknown[][]>
  /** Runs statements on one connection of their own. */
  run(statements: string): Promise<void>
  /** The events since the last call. */
  events(): Promise<Event[]>
}

const counted = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)'

const named = (events: readonly Event[]) =>
  events.map(({ kind, collection: of, id }) => `${kind} ${of} ${id}`).toSorted()

for (const { name, within } of databaseKinds) {
  test(`${name}: a deletion that cascades to more than ${maxUnreportedCascade} items is reported, and a smaller one only counted`, () =>
    within(async database => {
      const reported: Cascade[] = []
      const store = await database.open(storage, { cascades: { onLarge: cascade => reported.push(cascade) } })
      try {
        const client = new Client(store, storage)
        const boxes = [await client.create('boxes', {}), await client.create('boxes', {})]
        const [full, other] = boxes.map(box => box.id)
        const spare = await client.create('things', {
          name: 'x',
          box_id: other ?? 0,
          spare_box_id: full ?? 0,
        })
        const insert = (values: string, count: number) =>
          database.run(
            `INSERT INTO boxes (within_id, created_at) ${counted} SELECT ${values}, '' FROM n WHERE i <= ${count}`,
          )
        await insert(String(full), maxUnreportedCascade)
        await insert(String(other), maxUnreportedCascade - 1)
        await client.remove('boxes', full ?? 0)
        assert.deepEqual(
          reported.map(({ durationMs, ...cascade }) => [durationMs > 0, cascade]),
          [
            [
              true,
              {
                collection: 'boxes',
                itemId: full,
                removed: { boxes: maxUnreportedCascade + 1 },
                cleared: { things: 1 },
              },
            ],
          ],
        )
        await client.remove('boxes', other ?? 0)
        assert.equal(reported.length, 1)
        assert.equal(store.counts().cascaded, 2 * maxUnreportedCascade + 1)
        await assert.rejects(client.remove('things', spare.id), { code: 'NOT_FOUND' })
      } finally {
        await store.close()
      }
    }))

  test(`${name}: a deletion that would delete or clear more than the bound is refused as a whole, and done in slices`, () =>
    within(async database => {
      const store = await database.open(storage, { cascades: { maxItems: 4 } })
      try {
        const client = new Client(store, storage)
        const add = async (count: number, create: () => Promise<unknown>) => {
          for (let made = 0; made < count; made++) await create()
        }
        const boxes = async (within_id: number, count: number) => {
          const ids: number[] = []
          await add(count, async () => ids.push((await client.create('boxes', { within_id })).id))
          return ids
        }
        const count = async (table: string) =>
          Number(Object.values((await database.rows(`SELECT count(*) FROM ${table}`))[0] ?? {})[0])
        const outside = await client.create('boxes', {})
        const full = await client.create('boxes', {})
        const [inner = 0] = await boxes(full.id, 3)
        const spare = (spare_box_id: number) =>
          client.create('things', { name: 'x', box_id: outside.id, spare_box_id })
        await spare(full.id)
        // Exactly the bound: three boxes and a cleared reference.
        await client.remove('boxes', full.id)
        assert.deepEqual([await count('boxes'), await count('things')], [1, 1])
        assert.notEqual(inner, 0)

        const large = await client.create('boxes', {})
        const [first = 0] = await boxes(large.id, 3)
        await boxes(first, 7)
        await add(6, () => spare(large.id))
        const tooLarge = {
          code: 'CONFLICT',
          message: `Deleting this item would delete or change more than 4 other items at once. An operator can delete it in slices: \`portico delete boxes ${large.id}\`.`,
        }
        await assert.rejects(client.remove('boxes', large.id), tooLarge)
        assert.deepEqual([await count('boxes'), await count('things')], [12, 7])
        const run = createRun(createGuard(storage), store)
        const deletion = new SlicedDeletion({ model: storage, run })
        await deletion.remove('boxes', large.id)
        assert.deepEqual([await count('boxes'), await count('things')], [1, 7])
        // Six cleared references, and eight of ten boxes: the last two are deleted with theirs.
        assert.equal(deletion.count, 6 + 8)
        const rows = await database.rows('SELECT count(*) FROM things WHERE spare_box_id IS NOT NULL')
        assert.equal(Number(Object.values(rows[0] ?? {})[0]), 0)
        assert.equal((await database.rows(`SELECT 1 FROM _events WHERE kind = 'deleted'`)).length, 15)
      } finally {
        await store.close()
      }
    }))

  const isSqlite = name === 'SQLite'

  /** Counts rows that were not inserted by the store: on PostgreSQL no trigger does. */
  const addTotal = async (table: string, count: number, rows: Fixture['rows']) => {
    if (!isSqlite) await rows(`INSERT INTO _totals VALUES ('${table}', 99, ${count})`)
  }

  const inStorage = (use: (fixture: Fixture) => Promise<void>): Promise<void> =>
    within(async database => {
      const store = await database.open(storage)
      // A count on PostgreSQL is a bigint, which the driver returns as text.
      const plain = (value: unknown) =>
        typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
      const rows = async (text: string) =>
        (await database.rows(text)).map(row => Object.values(row).map(value => plain(value)))
      let seen = 0
      const events = async (): Promise<Event[]> => {
        const found = await rows(
          `SELECT kind, collection, item_id, data, changed, id FROM _events WHERE id > ${seen} ORDER BY id`,
        )
        seen = Number(found.at(-1)?.[5] ?? seen)
        return found.map(([kind, of, id, data, changed]) => ({
          kind: String(kind),
          collection: String(of),
          id: Number(id),
          data: JSON.parse(String(data)),
          changed: changed === null ? null : JSON.parse(String(changed)),
        }))
      }
      try {
        await use({ client: new Client(store, storage), rows, run: text => database.run(text), events })
        for (const table of ['boxes', 'things', 'seals', 'links', 'hens', 'eggs']) {
          const [[total] = []] = await rows(`SELECT sum(n) FROM _totals WHERE collection = '${table}'`)
          assert.deepEqual(
            await rows(`SELECT count(*) FROM ${table}`),
            [[total ?? 0]],
            `the total of ${table}`,
          )
        }
        if (isSqlite) assert.deepEqual(await rows('PRAGMA foreign_key_check'), [])
        assert.deepEqual(
          await rows(`SELECT ${isSqlite ? 'rowid' : 'id'} FROM _search_things ORDER BY 1`),
          await rows('SELECT id FROM things ORDER BY id'),
        )
      } finally {
        await store.close()
      }
    })

  test(`${name}: each deleted row is logged as it was, and each row with a cleared reference as updated`, () =>
    inStorage(async ({ client, rows, events }) => {
      const outer = await client.create('boxes', { label: 'outer' })
      const inner = await client.create('boxes', { label: 'inner', within_id: outer.id })
      const other = await client.create('boxes', { label: 'other' })
      const inside = await client.create('things', { name: 'a', box_id: inner.id, spare_box_id: outer.id })
      const outside = await client.create('things', { name: 'b', box_id: other.id, spare_box_id: inner.id })
      const versions = ['boxes', 'things', 'seals'].map(name => client.store.version(name))
      await events()
      await client.remove('boxes', outer.id)
      const found = await events()
      assert.deepEqual(
        named(found),
        [
          `deleted boxes ${outer.id}`,
          `deleted boxes ${inner.id}`,
          `deleted things ${inside.id}`,
          `updated things ${outside.id}`,
        ].toSorted(),
      )
      const cleared = found.find(event => event.kind === 'updated')
      assert.deepEqual(cleared?.changed, ['spare_box_id', 'updated_at'])
      assert.equal(cleared?.data.spare_box_id, null)
      assert.deepEqual(cleared?.data, await client.item('things', outside.id))
      const gone = found.find(event => event.collection === 'things' && event.kind === 'deleted')
      assert.deepEqual(
        [gone?.data.name, gone?.data.box_id, gone?.data.spare_box_id],
        ['a', inner.id, outer.id],
      )
      assert.deepEqual(await rows('SELECT label FROM boxes'), [['other']])
      const grown = ['boxes', 'things', 'seals'].map(name => client.store.version(name))
      assert.ok(Number(grown[0]) > Number(versions[0]) && Number(grown[1]) > Number(versions[1]))
      assert.equal(grown[2], versions[2])
    }))

  test(`${name}: a deletion is refused as a whole if one of the items is still referenced`, () =>
    inStorage(async ({ client, rows, events }) => {
      const box = await client.create('boxes', { label: 'a' })
      const thing = await client.create('things', { name: 'a', box_id: box.id })
      const seal = await client.create('seals', { thing_id: thing.id })
      await events()
      await assert.rejects(client.remove('boxes', box.id), {
        code: 'CONFLICT',
        message: `Items of seals still refer to item ${thing.id} of things, by thing_id.`,
      })
      assert.deepEqual(await events(), [])
      assert.deepEqual(await rows('SELECT count(*) FROM things'), [[1]])
      await client.remove('seals', seal.id)
      await client.remove('boxes', box.id)
      assert.deepEqual(await rows('SELECT count(*) FROM things'), [[0]])
    }))

  test(`${name}: a restricting reference does not prevent a deletion that also deletes its item, on any path`, () =>
    inStorage(async ({ client, rows, events }) => {
      const outer = await client.create('boxes', { label: 'outer' })
      const inner = await client.create('boxes', { within_id: outer.id })
      const deep = await client.create('things', { name: 'deep', box_id: inner.id })
      const near = await client.create('things', { name: 'near', box_id: outer.id })
      // The seals are found before and after the things that they reference.
      const seals = [
        await client.create('seals', { thing_id: deep.id, box_id: outer.id }),
        await client.create('seals', { thing_id: near.id, box_id: inner.id }),
        await client.create('seals', { thing_id: near.id, box_id: outer.id }),
      ]
      await events()
      await client.remove('boxes', outer.id)
      assert.equal((await events()).filter(event => event.kind === 'deleted').length, 4 + seals.length)
      assert.deepEqual(await rows('SELECT count(*) FROM seals'), [[0]])
    }))

  test(`${name}: a single restricting reference of an item that is not deleted is enough to refuse`, () =>
    inStorage(async ({ client, rows }) => {
      const box = await client.create('boxes', {})
      const thing = await client.create('things', { name: 'a', box_id: box.id })
      for (let n = 0; n < 5; n++) await client.create('seals', { thing_id: thing.id, box_id: box.id })
      const stays = await client.create('seals', { thing_id: thing.id })
      await assert.rejects(client.remove('boxes', box.id), { code: 'CONFLICT' })
      assert.deepEqual(await rows('SELECT count(*) FROM seals'), [[6]])
      await client.remove('seals', stays.id)
      await client.remove('boxes', box.id)
      assert.deepEqual(await rows('SELECT count(*) FROM seals'), [[0]])
    }))

  test(`${name}: rows that reference themselves or each other can be deleted`, () =>
    inStorage(async ({ client, rows, events }) => {
      const { id } = await client.create('boxes', {})
      await client.update('boxes', id, { within_id: id })
      const second = await client.create('boxes', { within_id: id })
      await client.update('boxes', id, { within_id: second.id })
      await events()
      await client.remove('boxes', second.id)
      assert.deepEqual(named(await events()), [`deleted boxes ${id}`, `deleted boxes ${second.id}`])
      assert.deepEqual(await rows('SELECT count(*) FROM boxes'), [[0]])
    }))

  // Deeper than SQLite allows triggers to nest.
  const depth = 1500
  const width = 3000
  const numbers = (count: number) =>
    `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`
  const chain = `INSERT INTO boxes (id, within_id, created_at)
  ${numbers(depth)} SELECT n, nullif(n - 1, 0), '2026-01-01T00:00:00.000Z' FROM numbers`
  const insideLast = `INSERT INTO things (name, box_id, spare_box_id, created_at, updated_at)
  ${numbers(width)} SELECT n, ${depth}, 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' FROM numbers`

  test(`${name}: a long cycle of references can be deleted`, () =>
    inStorage(async ({ client, rows, events }) => {
      await rows(chain)
      await addTotal('boxes', depth, rows)
      await client.update('boxes', 1, { within_id: depth })
      await events()
      await client.remove('boxes', 1)
      const found = await events()
      assert.equal(new Set(named(found)).size, depth)
      assert.ok(found.every(event => event.kind === 'deleted'))
      assert.equal(found.find(event => event.id === 1)?.data.within_id, depth)
      assert.deepEqual(await rows('SELECT count(*) FROM boxes'), [[0]])
    }))

  /** Inserts rows without checking their references. */
  const fill = async (
    table: string,
    statement: string,
    count: number,
    rows: Fixture['rows'],
    run: Fixture['run'],
  ) => {
    const [off, on] = isSqlite
      ? ['PRAGMA foreign_keys = OFF', 'PRAGMA foreign_keys = ON']
      : ['SET session_replication_role = replica', 'SET session_replication_role = origin']
    await run(`${off}; ${statement}; ${on}`)
    await addTotal(table, count, rows)
  }
  const cycle = (table: string, field: string, first: string) =>
    `INSERT INTO ${table} (id, ${field}, created_at) ${numbers(depth)} SELECT n, ${first}, '2026-01-01T00:00:00.000Z' FROM numbers`
  const next = `n % ${depth} + 1`

  test(`${name}: a cycle of required references can be deleted, within one collection or across two`, () =>
    inStorage(async ({ client, rows, run, events }) => {
      await fill('links', cycle('links', 'next_id', next), depth, rows, run)
      await fill('hens', cycle('hens', 'egg_id', 'n'), depth, rows, run)
      await fill('eggs', cycle('eggs', 'hen_id', next), depth, rows, run)
      await client.remove('links', 7)
      assert.equal(new Set(named(await events())).size, depth)
      await client.remove('hens', 9)
      assert.equal(new Set(named(await events())).size, 2 * depth)
      for (const table of ['links', 'hens', 'eggs'])
        assert.deepEqual(await rows(`SELECT count(*) FROM ${table}`), [[0]])
    }))

  test(`${name}: an item whose required reference is to itself can be deleted`, () =>
    inStorage(async ({ client, rows, run }) => {
      const one = `INSERT INTO links (id, next_id, created_at) VALUES (1, 1, '2026-01-01T00:00:00.000Z')`
      await fill('links', one, 1, rows, run)
      await client.remove('links', 1)
      assert.deepEqual(await rows('SELECT count(*) FROM links'), [[0]])
    }))

  test(`${name}: a long chain and many referencing items are deleted completely, with one event per row`, () =>
    inStorage(async ({ client, rows, events }) => {
      await rows(chain)
      await addTotal('boxes', depth, rows)
      await rows(insideLast)
      await addTotal('things', width, rows)
      await client.remove('boxes', 1)
      const found = await events()
      assert.equal(found.length, depth + width)
      assert.equal(new Set(named(found)).size, depth + width)
      assert.ok(found.every(event => event.kind === 'deleted'))
      assert.deepEqual(await rows('SELECT count(*) FROM things'), [[0]])
    }))
}
