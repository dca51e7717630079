/** The guard and the store together: results of every database equal those of the reference. */

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { entityTag } from '../../../src/base/conditional.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { type Principal, system } from '../../../src/base/principal.ts'
import type { ListAnswer, ReadAnswer } from '../../../src/engine/plan/answer.ts'
import { createGuard, namesFor } from '../../../src/engine/plan/guard/guard.ts'
import { totalOrder } from '../../../src/engine/plan/order.ts'
import type { ListShape, Plan, ReadShape, WriteShape } from '../../../src/engine/plan/plan.ts'
import { maxRankedItems } from '../../../src/engine/plan/rank.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Model } from '../../../src/model/model.ts'
import { cases } from '../../cases.ts'
import { type OpenSeededStore, seededStores } from '../../setups/databases/seeded-store.ts'
import { blog, fields, listOfPosts } from '../store/blog.ts'
import { choices, currentTag, datas, principals, readPlans, writePlans } from './random.ts'
import {
  canRead,
  type Data,
  maySee,
  readReference,
  requestTime,
  requestTimeMs,
  writeReference,
} from './reference.ts'
import { smallModel } from './small-model.ts'

const plansPerModel = 25

function parsed(answer: ReadAnswer): unknown {
  const value = answer.text === null ? null : JSON.parse(answer.text)
  if (answer.kind === 'item') return { item: value }
  return { list: value, ...window(answer) }
}

function window({ total, next, hasMore }: ListAnswer) {
  const all = { total, next, hasMore }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

async function attempt<T>(run: () => T | Promise<T>): Promise<{ answer: T } | { refused: ApiError }> {
  try {
    return { answer: await run() }
  } catch (error) {
    if (error instanceof ApiError) return { refused: error }
    throw error
  }
}

async function checkRead(model: Model, data: Data, store: Store, who: Principal, plan: Plan<ReadShape>) {
  const expected = readReference(model, data, who, plan)
  const guard = createGuard(model)
  const outcome = await attempt(() => store.read(guard(plan as Plan<ListShape>, who)))
  if ('errors' in expected) {
    assert.ok('refused' in outcome && expected.errors.has(outcome.refused.code))
  } else {
    assert.ok('answer' in outcome, 'refused' in outcome ? outcome.refused.message : '')
    const answer = parsed(outcome.answer) as Record<string, unknown>
    if (plan.shape.kind === 'list' && expected && 'list' in expected && expected.list === null) {
      assert.equal(answer.list, null)
    } else assert.deepEqual(answer, expected)
  }
}

/** `data` without the rows that reference missing rows. */
function withoutDangling(model: Model, data: Data): Data {
  for (const collection of model.collections.values()) {
    for (const field of collection.fields.values()) {
      const target = field.reference?.target
      if (target === undefined) continue
      const existing = new Set(data[target]?.map(row => row.id))
      const rows = data[collection.name] ?? []
      const remaining = rows.filter(row => row[field.name] === null || existing.has(row[field.name] ?? null))
      if (remaining.length < rows.length)
        return withoutDangling(model, { ...data, [collection.name]: remaining })
    }
  }
  return data
}

function timeless(data: Data): unknown {
  return Object.entries(data).map(([name, rows]) => [
    name,
    rows.map(row => Object.entries({ ...row, created_at: requestTime }).sort()),
  ])
}

/** `data` without internal fields, whose changes alone are not logged. */
function withoutInternal(model: Model, data: Data): Data {
  const visible = (name: string, column: string) => {
    const field = model.collections.get(name)?.fields.get(column)
    return field !== undefined && !field.internal
  }
  return Object.fromEntries(
    Object.entries(data).map(([name, rows]) => [
      name,
      rows.map(row => Object.fromEntries(Object.entries(row).filter(([column]) => visible(name, column)))),
    ]),
  )
}

/** The reference derives the next id from the existing rows, the database from the highest id ever used. */
async function idsAgree(
  { lastId }: OpenSeededStore,
  data: Data,
  { shape }: Plan<WriteShape>,
): Promise<boolean> {
  if (shape.kind !== 'create') return true
  const { collection } = shape
  return (await lastId(collection)) === Math.max(0, ...(data[collection] ?? []).map(row => Number(row.id)))
}

/** Whether the answer to a write contains the item: if the caller can read it afterwards. */
function isShown(
  model: Model,
  after: Data,
  who: Principal,
  { shape }: Plan<WriteShape>,
  id: number,
): boolean {
  const collection = model.collections.get(shape.collection)
  const row = after[shape.collection]?.find(row => row.id === id)
  return collection !== undefined && row !== undefined && canRead(model, after, who, collection, row)
}

/** Whether an update sets a field whose stored value is hidden from the caller. */
function setsUnseen(model: Model, data: Data, who: Principal, { shape, args }: Plan<WriteShape>): boolean {
  const collection = model.collections.get(shape.collection)
  if (shape.kind !== 'update' || !collection) return false
  const row = data[shape.collection]?.find(row => row.id === args[shape.id])
  const names =
    shape.mode === 'merge' ? shape.set.map(assignment => assignment.field) : [...collection.fields.keys()]
  return row !== undefined && !names.every(name => maySee(model, data, who, collection, row, name))
}

/** The arguments of the plan, with `currentTag` replaced by the entity tag of the item for this caller. */
async function withTags(
  model: Model,
  store: Store,
  who: Principal,
  { shape, args }: Plan<WriteShape>,
): Promise<readonly JsonValue[]> {
  const collection = model.collections.get(shape.collection)
  if (shape.kind === 'create' || shape.ifMatch === undefined || !collection) return args
  const select = [...namesFor(model, collection, who.access).fields.keys()].map(name => {
    return { kind: 'field', key: name, field: name } as const
  })
  const item = { kind: 'item', collection: shape.collection, id: 0, select } as const
  const read = await attempt(() =>
    store.read(createGuard(model)({ shape: item, args: [args[shape.id] ?? null] }, who)),
  )
  const text = 'answer' in read ? read.answer.text : null
  const tag = text === null ? '"none"' : entityTag(text)
  const withTag = (value: JsonValue) => (value === currentTag ? tag : value)
  return args.map((value, index) =>
    index === shape.ifMatch && Array.isArray(value) ? value.map(withTag) : value,
  )
}

async function checkWrite(model: Model, seeded: OpenSeededStore, who: Principal, plan: Plan<WriteShape>) {
  const { store } = seeded
  const before = await seeded.dump()
  const isDeleted = who.userId !== null && !before.users?.some(row => row.id === who.userId)
  if (isDeleted || !(await idsAgree(seeded, before, plan))) return
  const log = await seeded.events()
  const next = 1 + (await seeded.lastId(plan.shape.collection))
  const expected = writeReference(model, before, who, plan)
  const guard = createGuard(model)
  const args = await withTags(model, store, who, plan)
  const outcome = await attempt(() => store.write(guard({ shape: plan.shape, args }, who)))
  const after = await seeded.dump()
  // PostgreSQL may retry a refused create with another id, which a rule on ids may allow.
  if (plan.shape.kind === 'create' && 'answer' in outcome && outcome.answer.id > next) return
  if ('errors' in expected) {
    assert.ok('refused' in outcome, `written instead of ${[...expected.errors]}`)
    assert.ok(
      expected.errors.has(outcome.refused.code),
      `${outcome.refused.code}, not ${[...expected.errors]}`,
    )
    assert.deepEqual(after, before)
    assert.deepEqual(await seeded.events(), log)
  } else {
    assert.ok('answer' in outcome, 'refused' in outcome ? outcome.refused.message : '')
    assert.equal(outcome.answer.id, expected.id)
    assert.equal(outcome.answer.text !== null, isShown(model, after, who, plan, expected.id))
    assert.deepEqual(timeless(after), timeless(withoutDangling(model, expected.data)))
    const open = [after, before].map(state => JSON.stringify(timeless(withoutInternal(model, state))))
    const changed = open[0] !== open[1]
    const logged = (await seeded.events()).length > log.length
    // Setting a hidden field counts as a change, whatever its value.
    assert.ok(logged === changed || (logged && setsUnseen(model, before, who, plan)))
  }
}

const many = 10_003

/** Adds posts that all match one word; the oldest has the shortest title. */
async function addPosts({ admin }: OpenSeededStore): Promise<void> {
  const columns = '"id", "title", "author_id", "created_at"'
  const values = `n, CASE n WHEN 1 THEN 'kite' WHEN ${many} THEN 'a long title with a kite' ELSE 'a kite' END, 1, '${requestTime}'`
  if (!admin.startsWith('postgres')) {
    const database = new DatabaseSync(admin, { enableForeignKeyConstraints: false })
    const numbers = `WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < ${many})`
    database.exec(`INSERT INTO "posts" (${columns}) ${numbers} SELECT ${values} FROM g`)
    database.exec(`INSERT INTO "_search_posts" (rowid, "title") SELECT "id", "title" FROM "posts"`)
    database.close()
    return
  }
  const client = new pg.Client({ connectionString: admin })
  await client.connect()
  await client.query('SET session_replication_role = replica')
  await client.query(`INSERT INTO "posts" (${columns}) SELECT ${values} FROM generate_series(1, ${many}) n`)
  await client.query(
    `INSERT INTO "_search_posts" ("id", "_all", "title") SELECT "id", string_to_array("title", ' '), string_to_array("title", ' ') FROM "posts"`,
  )
  await client.end()
}

/** The number of random models: PostgreSQL databases take longer to create than files. */
const models = (name: string) => (name === 'SQLite' ? cases(150, 50) : cases(4, 2))

for (const { name, within } of seededStores) {
  test(`on ${name} the newest ${maxRankedItems} matches are ranked and the others follow, by page and by cursor`, async () => {
    await within(blog, {}, async seeded => {
      await addPosts(seeded)
      const { store } = seeded
      const shape: ListShape = {
        ...listOfPosts,
        search: 2,
        sort: totalOrder([{ field: 'q', descending: true }]),
        select: fields('id'),
      }
      const read = async (list: ListShape, args: JsonValue[]) => {
        const answer = await store.read(createGuard(blog)({ shape: list, args }, system))
        const items = JSON.parse(String(answer.text)) as { id: number }[]
        return [items.map(item => item.id), answer.kind === 'list' ? answer.next : null]
      }
      // The longest title is the last of the ranked ones.
      assert.deepEqual((await read(shape, [0, 2, 'kite']))[0], [many - 1, many - 2])
      assert.deepEqual((await read(shape, [maxRankedItems - 2, 9, 'kite']))[0], [4, many, 3, 2, 1])
      assert.deepEqual((await read(shape, [maxRankedItems + 1, 9, 'kite']))[0], [2, 1])
      const walk = (after: number[] | undefined): ListShape => ({
        ...shape,
        window: { kind: 'cursor', after, limit: 1 },
      })
      const rank = Math.trunc(1_000_000_000 / 106)
      const [ids, next] = await read(walk([3, 4]), [0, 2, 'kite', rank, 5])
      assert.deepEqual(ids, [4, many])
      const [others, beyond] = await read(walk([3, 4]), [0, 2, 'kite', ...(next as number[])])
      assert.deepEqual(
        [others, beyond],
        [
          [3, 2],
          [-1, 2],
        ],
      )
      assert.deepEqual(await read(walk([3, 4]), [0, 2, 'kite', -1, 2]), [[1], null])
    })
  })

  test(`reads on ${name} equal those of the reference, for callers and plans in any order`, async () => {
    const requests = fc.array(fc.tuple(principals, readPlans), {
      minLength: plansPerModel,
      maxLength: plansPerModel,
    })
    const property = fc.asyncProperty(choices.map(smallModel), datas, requests, async (model, data, all) => {
      await within(
        model,
        data,
        async ({ store }) => {
          for (const [who, plan] of all) await checkRead(model, data, store, who, plan)
        },
        () => requestTimeMs,
      )
    })
    await fc.assert(property, models(name))
  })

  test(`writes on ${name} store what the reference stores; refused ones change nothing`, async () => {
    const requests = fc.array(fc.tuple(principals, writePlans), {
      minLength: plansPerModel,
      maxLength: plansPerModel,
    })
    const property = fc.asyncProperty(choices.map(smallModel), datas, requests, async (model, data, all) => {
      await within(
        model,
        data,
        async seeded => {
          for (const [who, plan] of all) await checkWrite(model, seeded, who, plan)
        },
        () => requestTimeMs,
      )
    })
    await fc.assert(property, models(name))
  })
}
