/** Stored values under 32 concurrent writers of two nodes, after migrations, and in copies. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { ApiError } from '../../../src/base/errors.ts'
import { user } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import { totalOrder } from '../../../src/engine/plan/order.ts'
import type { CompositeShape, ListShape, Plan, WriteShape } from '../../../src/engine/plan/plan.ts'
import { createPlan, deleteShape, updateShape } from '../../../src/engine/plan/system-plans.ts'
import { copyDatabase } from '../../../src/engine/store/copy/copy.ts'
import { applyPostgres } from '../../../src/engine/store/schema/postgres/migrate.ts'
import { listSql } from '../../../src/engine/store/sql/read.ts'
import { sqlite } from '../../../src/engine/store/sql/sqlite.ts'
import { arg, compile } from '../../../src/engine/store/sql/writer.ts'
import { AnswerSize } from '../../../src/engine/store/sqlite/read/answer-size.ts'
import { schemaSql } from '../../../src/engine/store/sqlite/sqlite.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import { boolean, count, field, index, integer, unique } from '../../../src/index.ts'
import type { IndexDeclaration } from '../../../src/model/declaration.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Model } from '../../../src/model/model.ts'
import { caseCount, seed, seeded } from '../../cases.ts'
import { testOfOthers } from '../../chosen.ts'
import { migrationDatabases } from '../../setups/databases/migrations.ts'
import { withOrdinaryDatabase } from '../../setups/databases/ordinary.ts'
import { query, withPostgres } from '../../setups/databases/postgres.ts'
import { withFile } from './blog.ts'
import { postgresLocation, sqliteLocation } from './copy/locations.ts'
import { databaseKinds, type TestDatabase } from './databases.ts'
import { bookings, counted, hiding, modelWith, published, sessions, stored } from './stored-values.ts'

const caller = user(1, 'user', 'all')

/** The stored values of each session, and a recount. */
async function valuesOf(store: Store, declared: Model) {
  const list = async (name: string, keys: readonly string[]) => {
    const select = keys.map(key => ({ kind: 'field', key, field: key }) as const)
    const shape: ListShape = {
      ...{ kind: 'list', collection: name, within: undefined, filter: undefined, search: undefined },
      ...{ sort: [{ field: 'id', descending: false }] as never, select },
      window: { kind: 'page', offset: 0, limit: 1, total: 'none' },
    }
    const { text } = await store.read(createGuard(declared)({ shape, args: [0, 10_000] }, caller))
    return JSON.parse(text ?? '[]')
  }
  const rows = await list('bookings', ['session_id', 'cancelled', 'seats'])
  const values = await list('sessions', ['id', 'booked', 'seats'])
  const recount = values.map(({ id }: { id: number }) => {
    const own = rows.filter((row: { session_id: number }) => row.session_id === id)
    const seats = own.reduce((total: number, row: { seats: number }) => total + row.seats, 0)
    return { id, booked: own.filter((row: { cancelled: boolean }) => !row.cancelled).length, seats }
  })
  return { values, recount }
}

async function requireExact(store: Store, declared = stored): Promise<readonly unknown[]> {
  const { values, recount } = await valuesOf(store, declared)
  assert.deepEqual(values, recount)
  return values
}

const set = (name: string, id: number, values: Readonly<Record<string, JsonValue>>) => ({
  shape: updateShape(name, Object.keys(values)),
  args: [id, ...Object.values(values)],
})

const writers = 32
const rounds = 4

async function run(database: TestDatabase, random: () => number): Promise<void> {
  const below = (bound: number) => Math.floor(random() * bound)
  const guard = createGuard(stored)
  const nodes = [await database.open(stored), await database.open(stored)] as const
  const write = async (plan: Plan<WriteShape>) => {
    const node = nodes[below(2)] ?? nodes[0]
    return node.write(guard(plan, caller)).then(
      ({ id }) => void ids.add(id),
      error => {
        if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND') throw error
      },
    )
  }
  const ids = new Set<number>()
  try {
    for (let n = 0; n < sessions; n++) await nodes[0].write(guard(createPlan('sessions', {}, {}), caller))
    for (let round = 0; round < rounds; round++) {
      const known = [...ids]
      const writes = Array.from({ length: writers }, () => {
        const session_id = 1 + below(sessions)
        const id = known[below(known.length)]
        const kind = below(8)
        // The items whose values the others keep are written at the same time.
        if (kind === 0) return write(set('sessions', session_id, { name: below(100) }))
        if (id === undefined || kind < 4)
          return write(createPlan('bookings', { session_id, seats: below(5) }, {}))
        if (kind < 5) return write({ shape: deleteShape('bookings'), args: [id] })
        if (kind < 6) return write(set('bookings', id, { session_id, seats: below(9) }))
        return write(set('bookings', id, { cancelled: below(2) === 0 }))
      })
      await Promise.all(writes)
      for (const node of nodes) {
        await node.refresh()
        await requireExact(node)
      }
    }
  } finally {
    await Promise.all(nodes.map(node => node.close()))
  }
}

for (const { name, within } of databaseKinds) {
  test(`stored values are exact while 32 writers of two nodes write (${name})`, async () => {
    for (let n = 0; n < caseCount(12, 3); n++) await within(database => run(database, seeded(seed + n)))
  })
}

/** Runs `stored-values.ts` until it is killed. */
async function killAfter(location: string, delayMs: number): Promise<void> {
  const program = join(import.meta.dirname, 'stored-values.ts')
  const flags = ['--conditions=portico-source', '--disable-warning=ExperimentalWarning']
  const child = spawn(process.execPath, [...flags, program, location], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // Its first line says that it writes.
  await once(child.stdout, 'data')
  await wait(delayMs)
  child.kill('SIGKILL')
  await once(child, 'close')
}

for (const database of migrationDatabases) {
  testOfOthers(`stored values are exact after kills of the writing process (${database.name})`, () =>
    database.withEmpty(async location => {
      const random = seeded(seed)
      for (let n = 0; n < caseCount(20, 5); n++) {
        await killAfter(location, Math.floor(random() * 200))
        const store = await database.open(location, stored)
        const values = await requireExact(store)
        await store.close()
        assert.equal(values.length, sessions)
      }
    }),
  )
}

async function book(
  store: Store,
  declared: Model,
  values: Readonly<Record<string, JsonValue>>,
): Promise<void> {
  await store.write(createGuard(declared)(createPlan('bookings', values, {}), caller))
}

for (const database of migrationDatabases) {
  test(`a migration computes stored values, and keeps them when the tables change (${database.name})`, () =>
    database.withEmpty(async location => {
      const allowDestructive = false
      const plain = modelWith({})
      const before = await database.open(location, plain)
      for (let n = 0; n < 2; n++)
        await before.write(createGuard(plain)(createPlan('sessions', {}, {}), caller))
      for (const [session_id, cancelled] of [
        [1, false],
        [1, true],
        [2, false],
        [null, false],
      ] as const)
        await book(before, plain, { session_id, cancelled, seats: 3 })
      await before.close()
      const open = async (declared: Model, use: (store: Store) => Promise<unknown>) => {
        await database.apply(location, declared, { allowDestructive })
        await database.assertConsistent(location)
        assert.deepEqual(await database.plan(location, declared), [])
        const store = await database.open(location, declared, false)
        try {
          await use(store)
        } finally {
          await store.close()
        }
      }
      await open(stored, async store => {
        assert.deepEqual(await requireExact(store), [
          { id: 1, booked: 1, seats: 6 },
          { id: 2, booked: 1, seats: 3 },
        ])
        await book(store, stored, { session_id: 2 })
        await requireExact(store)
      })
      // A node of the older model writes meanwhile.
      const older = await database.open(location, plain, false)
      await book(older, plain, { session_id: 1, seats: 5 })
      await older.close()
      const retyped = modelWith(
        { ...counted(), highest: count('bookings', { where: field('seats').gt(2), ...published }) },
        bookings({ cancelled: boolean({ default: true }), note: integer({ optional: true }) }),
      )
      await open(retyped, async store => {
        await book(store, retyped, { session_id: 1, seats: 7, cancelled: false })
        await requireExact(store, retyped)
      })
      await database.run(location, 'DELETE FROM "bookings" WHERE "id" = 1')
      const noted = modelWith(counted(), bookings({ note: integer({ optional: true }) }))
      await open(noted, async store => void (await requireExact(store, noted)))
      // Without `stored` nothing is lost, so no flag is needed.
      const plainAgain = modelWith({}, bookings({ note: integer({ optional: true }) }))
      await open(plainAgain, store => book(store, plainAgain, { session_id: 1 }))
      await open(noted, async store => void (await requireExact(store, noted)))
    }))
}

for (const { name, within } of databaseKinds) {
  test(`an event of an item is shown with the value that is stored now (${name})`, () =>
    within(async database => {
      const store = await database.open(stored)
      const guard = createGuard(stored)
      try {
        await store.write(guard(createPlan('sessions', {}, {}), caller))
        for (const seats of [1, 4]) await book(store, stored, { session_id: 1, seats })
        const all = await store.changes.after(0, 100)
        assert.deepEqual(
          all.map(({ collection: of, kind }) => [of, kind]),
          [
            ['sessions', 'created'],
            ['bookings', 'created'],
            ['bookings', 'created'],
          ],
        )
        const [created] = all
        assert.ok(created && !created.row.includes('booked'))
        const select = ['id', 'booked', 'seats'].map(key => ({ kind: 'field', key, field: key }) as const)
        const root = { kind: 'item', key: 'item', collection: 'sessions', id: 0, select } as const
        const shape: CompositeShape = {
          kind: 'composite',
          roots: [{ ...root, event: { row: 1, facts: 2, at: 3 } }],
        }
        const args = [1, created.row, '', '2026-01-01T00:00:00.000Z']
        const { text } = await store.composite(guard({ shape, args }, caller))
        assert.deepEqual(JSON.parse(text ?? ''), { item: { id: 1, booked: 2, seats: 5 } })
      } finally {
        await store.close()
      }
    }))
}

test('a list that is sorted by a stored value reads its index', () => {
  const declared = modelWith(counted(), bookings(), [index('-booked')])
  const shape: ListShape = {
    ...{ kind: 'list', collection: 'sessions', within: undefined, filter: undefined, search: undefined },
    sort: totalOrder([{ field: 'booked', descending: true }]),
    window: { kind: 'cursor', after: undefined, limit: 1 },
    select: [{ kind: 'field', key: 'booked', field: 'booked' }],
  }
  const { shape: list } = createGuard(declared)({ shape, args: [] }, caller)
  const window = { after: undefined, limit: sqlite.limit(arg(1)), offset: arg(0), keys: false }
  const database = new DatabaseSync(':memory:')
  new AnswerSize(database)
  database.exec(schemaSql(declared))
  const plan = database
    .prepare(`EXPLAIN QUERY PLAN ${compile(listSql(list, window, sqlite), '?').text}`)
    .all()
  const details = plan.map(({ detail }) => String(detail)).join('\n')
  assert.match(details, /USING (?:COVERING )?INDEX sessions__-?booked__index/)
  assert.doesNotMatch(details, /TEMP B-TREE|bookings/)
})

test('an index of a stored value is not unique, and other computed fields have none', () => {
  const faultOf = (declared: IndexDeclaration) => () =>
    modelWith({ ...counted(), all: count('bookings') }, bookings(), [declared])
  assert.throws(faultOf(unique('booked')), /A stored value cannot be unique/)
  assert.throws(faultOf(index('all')), /`sessions` has no field `all`/)
})

testOfOthers('with row security a migration counts every item, and a write by a caller keeps the value', () =>
  withOrdinaryDatabase(async ({ url, admin }) => {
    const apply = (declared: Model) =>
      applyPostgres(url, declared, { allowDestructive: false, rowSecurity: true })
    await apply(hiding({}))
    await query(
      admin,
      `INSERT INTO "sessions" ("id", "created_at") SELECT n, '2026-01-01T00:00:00.000Z' FROM generate_series(1, 2) AS n`,
    )
    const insert = `INSERT INTO "bookings" ("session_id", "created_at") VALUES (1, '2026-01-01T00:00:00.000Z')`
    await query(admin, insert)
    await apply(hiding(counted()))
    const values = () => query(admin, 'SELECT "id", "booked", "seats" FROM "sessions" ORDER BY "id"')
    const none = { id: 2, booked: 0, seats: 0 }
    assert.deepEqual(await values(), [{ id: 1, booked: 1, seats: 1 }, none])
    const client = new pg.Client(url)
    await client.connect()
    try {
      // A caller who may create bookings, and neither read them nor update sessions.
      await client.query(
        "BEGIN; SELECT set_config('portico.actor', 'user', true), set_config('portico.scopes', '*', true), set_config('portico.writing', '-', true)",
      )
      await client.query(insert)
      const { rows } = await client.query(
        `SELECT current_setting('portico.service', true) AS "service", (SELECT count(*) FROM "bookings") AS "n"`,
      )
      assert.deepEqual(rows, [{ service: '', n: '0' }])
      await client.query('COMMIT')
    } finally {
      await client.end()
    }
    assert.deepEqual(await values(), [{ id: 1, booked: 2, seats: 2 }, none])
  }),
)

testOfOthers('a copy has the stored values, and keeps them', () =>
  withFile(file =>
    withPostgres(async url => {
      const [from, to] = [sqliteLocation(file), postgresLocation(url)]
      const databaseOf = (at: string) => migrationDatabases.find(({ name }) => name === at)
      const openAt = async (at: 'SQLite' | 'PostgreSQL') => {
        const store = await databaseOf(at)?.open(at === 'SQLite' ? file : url, stored)
        assert.ok(store)
        return store
      }
      const source = await openAt('SQLite')
      await source.write(createGuard(stored)(createPlan('sessions', {}, {}), caller))
      for (let n = 0; n < 3; n++) await book(source, stored, { session_id: 1, seats: n })
      await source.close()
      await copyDatabase(stored, { from, to, live: false, onProgress: () => {} })
      const target = await openAt('PostgreSQL')
      assert.deepEqual(await requireExact(target), [{ id: 1, booked: 3, seats: 3 }])
      await book(target, stored, { session_id: 1, seats: 4 })
      assert.deepEqual(await requireExact(target), [{ id: 1, booked: 4, seats: 7 }])
      await target.close()
      await withFile(async back => {
        await copyDatabase(stored, {
          ...{ from: to, to: sqliteLocation(back), live: false },
          onProgress: () => {},
        })
        const store = await databaseOf('SQLite')?.open(back, stored)
        assert.ok(store)
        await book(store, stored, { session_id: 1, cancelled: true })
        assert.deepEqual(await requireExact(store), [{ id: 1, booked: 4, seats: 8 }])
        await store.close()
      })
    }),
  ),
)
