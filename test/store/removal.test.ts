/** Deletions that take rows along, clear references or are refused: what is left, and the event of each row. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { anyone, collection, model, relation, string } from '../../src/index.ts'
import { checkModel } from '../../src/model/check.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import { Client, withFile } from './blog.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

const storage = checkModel(
  model({
    boxes: collection({
      access,
      fields: {
        label: string({ optional: true }),
        within_id: relation('boxes', { optional: true, onDelete: 'cascade' }),
      },
    }),
    things: collection({
      access,
      updatedAt: true,
      fields: {
        name: string({ searchable: true }),
        box_id: relation('boxes', { onDelete: 'cascade' }),
        spare_box_id: relation('boxes', { optional: true, onDelete: 'clear' }),
      },
    }),
    links: collection({
      access,
      fields: { next_id: relation('links', { onDelete: 'cascade', unique: true }) },
    }),
    hens: collection({ access, fields: { egg_id: relation('eggs', { onDelete: 'cascade' }) } }),
    eggs: collection({ access, fields: { hen_id: relation('hens', { onDelete: 'cascade' }) } }),
    seals: collection({
      access,
      fields: {
        thing_id: relation('things'),
        box_id: relation('boxes', { optional: true, onDelete: 'cascade' }),
      },
    }),
  }),
)

interface Event {
  readonly kind: string
  readonly collection: string
  readonly id: number
  readonly data: Record<string, unknown>
  readonly changed: readonly string[] | null
}

interface Place {
  readonly client: Client
  /** A query on the file, from another connection. */
  rows(query: string): unknown[][]
  /** Runs statements on the file; references are not checked. */
  fill(statements: string): void
  /** The events since the last call. */
  events(): Event[]
}

async function inStorage(use: (place: Place) => Promise<void>): Promise<void> {
  await withFile(async file => {
    const store = openSqlite(storage, { file })
    const other = new DatabaseSync(file)
    const rows = (query: string) =>
      other
        .prepare(query)
        .all()
        .map(row => Object.values(row))
    const fill = (statements: string) =>
      other.exec(`PRAGMA foreign_keys = OFF; ${statements}; PRAGMA foreign_keys = ON`)
    let seen = 0
    const events = (): Event[] => {
      const found = rows(
        `SELECT kind, collection, item_id, data, changed, id FROM _events WHERE id > ${seen}`,
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
      await use({ client: new Client(store, storage), rows, fill, events })
      for (const name of ['boxes', 'things', 'seals', 'links', 'hens', 'eggs']) {
        const [[total] = []] = rows(`SELECT n FROM _totals WHERE collection = '${name}'`)
        assert.deepEqual(rows(`SELECT count(*) FROM ${name}`), [[total]], `the total of ${name}`)
      }
      assert.deepEqual(rows('PRAGMA foreign_key_check'), [])
      assert.deepEqual(rows('SELECT rowid FROM _search_things'), rows('SELECT id FROM things'))
    } finally {
      other.close()
      await store.close()
    }
  })
}

const named = (events: readonly Event[]) =>
  events.map(({ kind, collection: of, id }) => `${kind} ${of} ${id}`).toSorted()

test('what cascades goes with an event each, as it was; what is cleared stays with one of its own', () =>
  inStorage(async ({ client, rows, events }) => {
    const outer = await client.create('boxes', { label: 'outer' })
    const inner = await client.create('boxes', { label: 'inner', within_id: outer.id })
    const other = await client.create('boxes', { label: 'other' })
    const inside = await client.create('things', { name: 'a', box_id: inner.id, spare_box_id: outer.id })
    const outside = await client.create('things', { name: 'b', box_id: other.id, spare_box_id: inner.id })
    const versions = ['boxes', 'things', 'seals', 'links', 'hens', 'eggs'].map(name =>
      client.store.version(name),
    )
    events()
    await client.remove('boxes', outer.id)
    const found = events()
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
    assert.deepEqual([gone?.data.name, gone?.data.box_id, gone?.data.spare_box_id], ['a', inner.id, outer.id])
    assert.deepEqual(rows('SELECT label FROM boxes'), [['other']])
    const grown = ['boxes', 'things', 'seals', 'links', 'hens', 'eggs'].map(name =>
      client.store.version(name),
    )
    assert.ok(Number(grown[0]) > Number(versions[0]) && Number(grown[1]) > Number(versions[1]))
    assert.equal(grown[2], versions[2])
  }))

test('an item that something still refers to keeps everything in place', () =>
  inStorage(async ({ client, rows, events }) => {
    const box = await client.create('boxes', { label: 'a' })
    const thing = await client.create('things', { name: 'a', box_id: box.id })
    const seal = await client.create('seals', { thing_id: thing.id })
    events()
    await assert.rejects(client.remove('boxes', box.id), {
      code: 'CONFLICT',
      message: `Items of seals still refer to item ${thing.id} of things, by thing_id.`,
    })
    assert.deepEqual(events(), [])
    assert.deepEqual(rows('SELECT count(*) FROM things'), [[1]])
    await client.remove('seals', seal.id)
    await client.remove('boxes', box.id)
    assert.deepEqual(rows('SELECT count(*) FROM things'), [[0]])
  }))

test('a reference that must not be lost is no hindrance when its item goes too, on whichever way', () =>
  inStorage(async ({ client, rows, events }) => {
    const outer = await client.create('boxes', { label: 'outer' })
    const inner = await client.create('boxes', { within_id: outer.id })
    const deep = await client.create('things', { name: 'deep', box_id: inner.id })
    const near = await client.create('things', { name: 'near', box_id: outer.id })
    // Found on the way to the outer box, long before the thing that it seals, and long after it.
    const seals = [
      await client.create('seals', { thing_id: deep.id, box_id: outer.id }),
      await client.create('seals', { thing_id: near.id, box_id: inner.id }),
      await client.create('seals', { thing_id: near.id, box_id: outer.id }),
    ]
    events()
    await client.remove('boxes', outer.id)
    assert.equal(events().filter(event => event.kind === 'deleted').length, 4 + seals.length)
    assert.deepEqual(rows('SELECT count(*) FROM seals'), [[0]])
  }))

test('one of many that refer, and does not go too, is enough to refuse', () =>
  inStorage(async ({ client, rows }) => {
    const box = await client.create('boxes', {})
    const thing = await client.create('things', { name: 'a', box_id: box.id })
    for (let n = 0; n < 5; n++) await client.create('seals', { thing_id: thing.id, box_id: box.id })
    const stays = await client.create('seals', { thing_id: thing.id })
    await assert.rejects(client.remove('boxes', box.id), { code: 'CONFLICT' })
    assert.deepEqual(rows('SELECT count(*) FROM seals'), [[6]])
    await client.remove('seals', stays.id)
    await client.remove('boxes', box.id)
    assert.deepEqual(rows('SELECT count(*) FROM seals'), [[0]])
  }))

test('rows that refer to themselves or in a ring go', () =>
  inStorage(async ({ client, rows, events }) => {
    const { id } = await client.create('boxes', {})
    await client.update('boxes', id, { within_id: id })
    const second = await client.create('boxes', { within_id: id })
    await client.update('boxes', id, { within_id: second.id })
    events()
    await client.remove('boxes', second.id)
    assert.deepEqual(named(events()), [`deleted boxes ${id}`, `deleted boxes ${second.id}`])
    assert.deepEqual(rows('SELECT count(*) FROM boxes'), [[0]])
  }))

// Deeper than SQLite lets triggers nest.
const DEPTH = 1500
const WIDTH = 3000
const numbers = (count: number) =>
  `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`
const chain = `INSERT INTO boxes (id, within_id, created_at)
  ${numbers(DEPTH)} SELECT n, nullif(n - 1, 0), '2026-01-01T00:00:00.000Z' FROM numbers`
const insideLast = `INSERT INTO things (name, box_id, spare_box_id, created_at, updated_at)
  ${numbers(WIDTH)} SELECT n, ${DEPTH}, 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' FROM numbers`

test('a ring of any length goes', () =>
  inStorage(async ({ client, rows, events }) => {
    rows(chain)
    await client.update('boxes', 1, { within_id: DEPTH })
    events()
    await client.remove('boxes', 1)
    const found = events()
    assert.equal(new Set(named(found)).size, DEPTH)
    assert.ok(found.every(event => event.kind === 'deleted'))
    assert.equal(found.find(event => event.id === 1)?.data.within_id, DEPTH)
    assert.deepEqual(rows('SELECT count(*) FROM boxes'), [[0]])
  }))

const ring = (table: string, field: string, first: string) => `INSERT INTO ${table} (id, ${field}, created_at)
  ${numbers(DEPTH)} SELECT n, ${first}, '2026-01-01T00:00:00.000Z' FROM numbers`
const next = `n % ${DEPTH} + 1`

test('a ring of references that may not be empty goes too, of one collection or of several', () =>
  inStorage(async ({ client, rows, fill, events }) => {
    fill(ring('links', 'next_id', next))
    fill(ring('hens', 'egg_id', 'n'))
    fill(ring('eggs', 'hen_id', next))
    await client.remove('links', 7)
    assert.equal(new Set(named(events())).size, DEPTH)
    await client.remove('hens', 9)
    assert.equal(new Set(named(events())).size, 2 * DEPTH)
    for (const table of ['links', 'hens', 'eggs'])
      assert.deepEqual(rows(`SELECT count(*) FROM ${table}`), [[0]])
    assert.deepEqual(rows('PRAGMA foreign_key_check'), [])
  }))

test('one that refers to itself, and may not be empty, goes', () =>
  inStorage(async ({ client, rows, fill }) => {
    fill(`INSERT INTO links (id, next_id, created_at) VALUES (1, 1, '2026-01-01T00:00:00.000Z')`)
    await client.remove('links', 1)
    assert.deepEqual(rows('SELECT count(*) FROM links'), [[0]])
  }))

test('a long chain and a wide collection go whole, each row with one event', () =>
  inStorage(async ({ client, rows, events }) => {
    rows(chain)
    rows(insideLast)
    await client.remove('boxes', 1)
    const found = events()
    assert.equal(found.length, DEPTH + WIDTH)
    assert.equal(new Set(named(found)).size, DEPTH + WIDTH)
    assert.ok(found.every(event => event.kind === 'deleted'))
    assert.deepEqual(rows('SELECT count(*) FROM things'), [[0]])
  }))
