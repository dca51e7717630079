/** Which reads run in a reader process, and that their results are the same. */

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { type Principal, system, user } from '../../../../../src/base/principal.ts'
import { createGuard } from '../../../../../src/engine/plan/guard/guard.ts'
import type { GuardedList, GuardedRead } from '../../../../../src/engine/plan/guarded.ts'
import { totalOrder } from '../../../../../src/engine/plan/order.ts'
import type {
  AggregateShape,
  CompositeShape,
  Filter,
  ListShape,
} from '../../../../../src/engine/plan/plan.ts'
import { ListCache, listCacheOptions } from '../../../../../src/engine/store/read/list-cache.ts'
import { shapeRun } from '../../../../../src/engine/store/read/shape-run.ts'
import { ReadBudget } from '../../../../../src/engine/store/sqlite/read/budget.ts'
import { pooledSnapshot, pooledStatements } from '../../../../../src/engine/store/sqlite/read/pooled.ts'
import type { Totals } from '../../../../../src/engine/store/sqlite/read/totals.ts'
import type { ReaderQuery } from '../../../../../src/engine/store/sqlite/reader-processes/messages.ts'
import { openSqlite, type SqliteStore } from '../../../../../src/engine/store/sqlite/sqlite.ts'
import { Versions } from '../../../../../src/engine/store/versions.ts'
import { blog, Client, fields, listOfPosts, withFile } from '../../blog.ts'

const guard = createGuard(blog)
const reader = user(1, 'user', 'all')
/** A budget that is not exhausted even on a busy machine. */
const readers = { count: 1, timeoutMs: 60_000, budgetMs: 60_000 }

/** Inserts posts of three authors without the store. */
function fill(file: string, rows: number): void {
  const database = new DatabaseSync(file)
  database.exec(`INSERT INTO "posts" ("title", "body", "author_id", "created_at")
    WITH RECURSIVE "c"("i") AS (SELECT 1 UNION ALL SELECT "i" + 1 FROM "c" WHERE "i" < ${rows})
    SELECT 'title ' || ("i" * 7919 % 1000), CASE WHEN "i" % 3 THEN 'body ' || "i" END, 1 + "i" % 3, '2026-01-01T00:00:00.000Z'
    FROM "c"`)
  database.close()
}

async function withRows(rows: number, use: (file: string) => Promise<void>): Promise<void> {
  await withFile(async file => {
    const store = openSqlite(blog, { file })
    const client = new Client(store)
    for (const name of ['ann', 'ben', 'cleo']) {
      await client.create('users', { name, email: `${name}@example.com` })
    }
    await client.create('posts', { title: 'a needle', author_id: 1 })
    await store.close()
    fill(file, rows)
    await use(file)
  })
}

const title = { field: 'title', descending: false }
const titled = (operator: 'eq' | 'ne'): Filter => ({ kind: 'compare', field: 'title', operator, param: 2 })
const cursor = { kind: 'cursor', after: [0], limit: 1 } as const
const uncounted: ListShape['window'] = { kind: 'page', offset: 0, limit: 1, total: 'none' }
const ofUser = { collection: 'users', relation: 'posts', id: 2 }

type Case = readonly [name: string, shape: ListShape, args: readonly (string | number)[]]

const fast: readonly Case[] = [
  ['the first page', listOfPosts, [0, 5]],
  ['a page after a cursor', { ...listOfPosts, window: cursor }, [9000, 5]],
  ['a deep page by id', listOfPosts, [9000, 5]],
  ['a filter that most rows match', { ...listOfPosts, filter: titled('ne'), window: uncounted }, [0, 5, 'x']],
  ['a search', { ...listOfPosts, search: 2 }, [0, 5, 'needle']],
  ['the first posts of a user', { ...listOfPosts, within: ofUser, window: { ...uncounted } }, [0, 5, 2]],
]
const slow: readonly Case[] = [
  ['a sorted table', { ...listOfPosts, sort: totalOrder([title]) }, [0, 5]],
  ['the end of a sorted table', { ...listOfPosts, sort: totalOrder([title]) }, [9000, 5]],
  ['a count with a filter', { ...listOfPosts, filter: titled('eq') }, [0, 5, 'title 7']],
  [
    'a sorted cursor',
    { ...listOfPosts, sort: totalOrder([title]), window: { ...cursor, after: undefined } },
    [0, 5],
  ],
]

function readList(store: SqliteStore, shape: ListShape, args: readonly (string | number)[], as: Principal) {
  return store.read(guard({ shape, args }, as) as GuardedRead)
}

test('a read that sorts or counts a large table runs in a process; fast reads and Portico’s own are synchronous', async () => {
  await withRows(10_000, async file => {
    const [store, plain] = [openSqlite(blog, { file, readers }), openSqlite(blog, { file })]
    try {
      for (const [name, shape, args] of fast) {
        const answer = readList(store, shape, args, reader)
        assert.ok(!(answer instanceof Promise), name)
        assert.deepEqual(answer, readList(plain, shape, args, reader), name)
      }
      assert.deepEqual(store.slowReads?.().done, 0)
      for (const [name, shape, args] of slow) {
        const answer = readList(store, shape, args, reader)
        assert.ok(answer instanceof Promise, name)
        assert.equal(
          readList(store, shape, args, reader),
          answer,
          `${name}: an identical read meanwhile shares its promise`,
        )
        assert.deepEqual(await answer, readList(plain, shape, args, reader), name)
        assert.deepEqual(readList(store, shape, args, reader), await answer, `${name}: the answer is cached`)
        assert.ok(!(readList(store, shape, args, system) instanceof Promise), `${name}: for Portico itself`)
      }
      assert.equal(store.slowReads?.().done, slow.length)
    } finally {
      await store.close()
      await plain.close()
    }
  })
})

test('an aggregate of a large table runs in a process, alone and in a composite; one of few rows does not', async () => {
  const authors: AggregateShape = {
    kind: 'aggregate',
    ...{ collection: 'posts', within: undefined, filter: undefined, search: undefined },
    ...{ groups: [{ field: 'author_id' }], measures: [{ kind: 'count' }], sort: [], offset: 0, limit: 1 },
    select: [{ kind: 'measure', key: 'n', index: 0 }],
  }
  const slowOnes: readonly AggregateShape[] = [
    authors,
    { ...authors, groups: [] },
    { ...authors, groups: [{ field: 'title' }], measures: [{ kind: 'max', field: 'body' }] },
    { ...authors, filter: titled('ne') },
  ]
  const few = { kind: 'compare', field: 'id', operator: 'eq', param: 2 } as const
  const all = [...slowOnes, { ...authors, filter: few }]
  await withRows(10_000, async file => {
    const [store, plain] = [openSqlite(blog, { file, readers }), openSqlite(blog, { file })]
    try {
      for (const [index, shape] of all.entries()) {
        const plan = guard({ shape, args: [0, 5, index === slowOnes.length ? 7 : 'x'] }, reader)
        const answer = store.read(plan)
        assert.equal(answer instanceof Promise, index < slowOnes.length, `aggregate ${index}`)
        assert.deepEqual(await answer, plain.read(plan))
        const { collection, within: _, kind, search, ...aggregation } = shape
        const root = { kind, key: 'a', collection, search, aggregation } as const
        const composite = guard({ shape: { kind: 'composite', roots: [root] }, args: plan.args }, reader)
        const compositeAnswer = store.composite(composite)
        assert.equal(compositeAnswer instanceof Promise, index < slowOnes.length, `root ${index}`)
        assert.deepEqual(await compositeAnswer, plain.composite(composite))
      }
    } finally {
      await store.close()
      await plain.close()
    }
  })
})

test('a read that several callers share also queues for each of them', async () => {
  await withRows(20_000, async file => {
    const store = openSqlite(blog, { file, readers: { ...readers, count: 2 }, cacheBytes: 0 })
    const callers: string[] = []
    const shape: ListShape = { ...listOfPosts, sort: totalOrder([title]) }
    const list = async (offset: number, as: Principal) => {
      await readList(store, shape, [offset, 5], as)
      callers.push(as.budgetKey)
    }
    const otherPrincipal = user(2, 'user', 'all')
    try {
      // Starts both processes first, since a start would take longer than the flood.
      await Promise.all([
        readList(store, shape, [100, 5], reader),
        readList(store, shape, [101, 5], otherPrincipal),
      ])
      const flood = Array.from({ length: 30 }, (_, offset) => list(offset, reader))
      await list(29, otherPrincipal)
      assert.ok(callers.length < 15, `${callers.length} of the flood were answered first`)
      await Promise.all(flood)
    } finally {
      await store.close()
    }
  })
})

test('every kind of read returns the same in a process', async () => {
  await withRows(400, async file => {
    const store = openSqlite(blog, { file, readers: { ...readers, budgetMs: 0 }, cacheBytes: 0 })
    const plain = openSqlite(blog, { file })
    try {
      for (const [name, shape, args] of [...fast, ...slow]) {
        const paged = shape.window.kind === 'page' ? [args[0] === 9000 ? 390 : 0, ...args.slice(1)] : args
        assert.deepEqual(
          await readList(store, shape, paged, reader),
          readList(plain, shape, paged, reader),
          name,
        )
      }
      const absent = await readList(store, { ...listOfPosts, within: ofUser }, [0, 5, 99], reader)
      assert.equal(absent.text, null)
      const posts = {
        kind: 'relation',
        key: 'posts',
        relation: 'posts',
        select: fields('id', 'title'),
        list: { filter: undefined, sort: totalOrder([title]), limit: 1, connection: { total: true } },
      } as const
      const shape: CompositeShape = {
        kind: 'composite',
        roots: [{ kind: 'item', key: 'user', collection: 'users', id: 0, select: [...fields('id'), posts] }],
      }
      const plan = guard({ shape, args: [2, 7] }, reader)
      assert.deepEqual(await store.composite(plan), plain.composite(plan))
      assert.ok((store.slowReads?.().done ?? 0) >= slow.length + 2)
    } finally {
      await store.close()
      await plain.close()
    }
  })
})

test('a small table is sorted on the event loop, and in a process once it has grown', async () => {
  await withRows(50, async file => {
    const store = openSqlite(blog, { file, readers, cacheBytes: 0 })
    try {
      const [, shape, args] = slow[0] ?? assert.fail()
      assert.ok(!(readList(store, shape, args, reader) instanceof Promise))
      fill(file, 10_000)
      store.refresh()
      assert.ok(readList(store, shape, args, reader) instanceof Promise)
    } finally {
      await store.close()
    }
  })
})

test('time for which the thread does not run counts towards the budget only when it is twenty times as long', () => {
  const database = new DatabaseSync(':memory:')
  const budget = new ReadBudget(database, 20)
  const sleeping = new Int32Array(new SharedArrayBuffer(4))
  database.function('pause', ms => {
    Atomics.wait(sleeping, 0, 0, Number(ms))
    return 1
  })
  const paused = database.prepare(
    'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 4 AND pause(?) AND _within_budget()) SELECT max(n) AS "n" FROM c',
  )
  assert.equal(
    budget.run(() => paused.get(30)?.n),
    4,
  )
  assert.equal(
    budget.run(() => paused.get(420)?.n),
    undefined,
  )
  database.close()
})

test('a statement is interrupted when its budget is exhausted, and its connection stays usable', () => {
  const database = new DatabaseSync(':memory:')
  const budget = new ReadBudget(database, 1)
  const endless = database.prepare(
    'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c WHERE (n % 61 <> 0 OR _within_budget()) AND n < 0',
  )
  const short = database.prepare('SELECT _within_budget() AS "n"')
  database.exec('BEGIN')
  assert.equal(
    budget.run(() => endless.all()),
    undefined,
  )
  assert.equal(
    budget.run(() => short.get()?.n),
    1,
  )
  assert.equal(short.get()?.n, 1, 'without a budget it is not interrupted')
  assert.ok(database.isTransaction)
  assert.throws(() => budget.run(() => database.exec('SELECT * FROM "gone"')), /no such table/)
})

test('a deep page whose anchor moves during the read is read again', async () => {
  await withRows(2000, async file => {
    const database = new DatabaseSync(file)
    const [versions, orders] = [new Versions(), new Versions()]
    const { shape } = guard({ shape: listOfPosts, args: [0, 5] }, reader) as { shape: GuardedList }
    if (shape.window.kind !== 'page') return assert.fail()
    const memory = listCacheOptions({ versions, orders, keepsTotals: true })
    const lists = new ListCache(shape, shape.window, memory)
    const totals = { of: () => 2000 } as unknown as Totals
    const pooled = shapeRun(shape, pooledStatements({ totals, walkedRows: 1000 }), lists)
    const page = async (offset: number, meanwhile = () => {}) => {
      let requests = 0
      const readList = async (queries: readonly ReaderQuery[]) => {
        if (requests++ === 0) meanwhile()
        return queries.map(({ sql, values }) => {
          const statement = database.prepare(sql)
          statement.setReturnArrays(true)
          return statement.all(...values) as never
        })
      }
      const inputs = { args: [offset, 5], userId: 1, slots: [] }
      const answer = await pooled(inputs, pooledSnapshot(readList, { renewSnapshot() {} }))
      const ids = (JSON.parse(answer.text ?? '') as { id: number }[]).map(({ id }) => id)
      return { ids, requests }
    }
    assert.deepEqual(await page(1600), { ids: [1601, 1602, 1603, 1604, 1605], requests: 2 })
    const inputs = { args: [1600, 5], userId: 1, slots: [] }
    assert.equal(lists.skipped(inputs), 100, 'anchors on the way are known too')
    assert.equal(lists.skipped({ ...inputs, args: [1100, 5] }), 100)
    assert.deepEqual(await page(1600), { ids: [1601, 1602, 1603, 1604, 1605], requests: 1 })
    const remove = () => {
      database.exec('DELETE FROM "posts" WHERE "id" IN (10, 11)')
      orders.bump(['posts'])
    }
    assert.deepEqual(await page(1700, remove), { ids: [1703, 1704, 1705, 1706, 1707], requests: 2 })
    assert.deepEqual(await page(1600), { ids: [1603, 1604, 1605, 1606, 1607], requests: 2 })
    database.close()
  })
})
