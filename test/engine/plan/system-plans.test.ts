/** The plans of Portico's own reads and writes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { ListShape, Plan } from '../../../src/engine/plan/plan.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import {
  createPlan,
  deleteShape,
  itemShape,
  listShape,
  readAll,
  readFirst,
  readItem,
  updateShape,
  where,
} from '../../../src/engine/plan/system-plans.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { anyone, collection, model, string } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { createRun } from '../../../src/server/serve/store.ts'

/** Returns pages of `items` by offset and records the arguments. */
function listing(items: readonly unknown[]) {
  const requests: unknown[] = []
  const list = ({ args }: Plan<ListShape>) => {
    requests.push(args)
    const [offset = 0, limit = 0] = args.map(Number)
    return { text: JSON.stringify(items.slice(offset, offset + limit)) }
  }
  return { run: { list } as unknown as Run, seen: requests }
}

/** Returns keyset pages of `items` and records the arguments. */
function keysetListing(items: readonly { readonly id: number }[]) {
  const requests: unknown[] = []
  const list = ({ args }: Plan<ListShape>) => {
    requests.push(args)
    const [lastId = 0, limit = 0] = args.map(Number)
    const rows = items.filter(({ id }) => id > lastId)
    const page = rows.slice(0, limit)
    return { text: JSON.stringify(page), next: rows.length > limit ? [page.at(-1)?.id] : null }
  }
  return { run: { list } as unknown as Run, seen: requests }
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => ({ id: index + 1 }))

test('readAll reads all pages of a list', async () => {
  const all = numbered(25_000)
  const { run, seen } = keysetListing(all)
  assert.deepEqual(await readAll(run, listShape('users', ['id']), 'x'), all)
  assert.deepEqual(seen, [
    [0, 10_000, 'x'],
    [10_000, 10_000, 'x'],
    [20_000, 10_000, 'x'],
  ])
})

test('readAll uses one shape for all pages, since shapes are compiled once', async () => {
  const shapes = new Set<ListShape>()
  const list = ({ shape, args: [lastId] }: Plan<ListShape>) => {
    shapes.add(shape)
    return { text: '[]', next: lastId === 0 ? [1] : null }
  }
  const shape = listShape('users', ['id'])
  for (let n = 0; n < 2; n++) await readAll({ list } as unknown as Run, shape)
  assert.equal(shapes.size, 1)
})

async function withNotes(count: number, use: (run: Run) => Promise<void>): Promise<void> {
  const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
  const notes = checkModel(model({ notes: collection({ access, fields: { title: string() } }) }))
  const store = await openSqlite(notes, { file: ':memory:', maxWaiting: count })
  const run = createRun(createGuard(notes), store)
  try {
    const create = ({ id }: { readonly id: number }) =>
      run.write(createPlan('notes', { title: `Note ${id}` }, {}), system)
    await Promise.all(numbered(count).map(create))
    await use(run)
  } finally {
    await store.close()
  }
}

test('readAll neither misses nor repeats items when others are deleted and created between its pages', async () => {
  await withNotes(10_005, async run => {
    let pages = 0
    const list: Run['list'] = async (plan, principal) => {
      const answer = await run.list(plan, principal)
      if (++pages > 1) return answer
      for (const id of [1, 5000, 10_003]) await run.write({ shape: deleteShape('notes'), args: [id] }, system)
      await run.write(createPlan('notes', { title: 'new' }, {}), system)
      return answer
    }
    const items = await readAll<{ readonly id: number }>({ ...run, list }, listShape('notes', ['id']))
    assert.deepEqual(
      items,
      numbered(10_006).filter(({ id }) => id !== 10_003),
    )
    assert.equal(pages, 2)
  })
})

test('the argument of a filter follows the offset and the limit', async () => {
  const { run, seen } = listing([{ id: 1 }, { id: 2 }])
  const shape = listShape('users', ['id'], where('email'))
  assert.deepEqual(shape.filter, { kind: 'compare', field: 'email', operator: 'eq', param: 2 })
  assert.deepEqual(await readFirst(run, shape, 'ann@example.com'), { id: 1 })
  assert.deepEqual(seen, [[0, 1, 'ann@example.com']])
  assert.equal(await readFirst(listing([]).run, shape, 'x'), undefined)
})

test('readItem returns undefined for a missing item', async () => {
  const answering = (text: string | null) => ({ item: () => ({ kind: 'item', text }) }) as unknown as Run
  const shape = itemShape('users', ['id'])
  assert.equal(await readItem(answering(null), shape, 7), undefined)
  assert.deepEqual(await readItem(answering('{"id":7}'), shape, 7), { id: 7 })
})

test('the arguments of an update are the id and then the values in the order of the fields', () => {
  const { id, set } = updateShape('users', ['name', 'email'])
  assert.equal(id, 0)
  assert.deepEqual(set, [
    { field: 'name', param: 1 },
    { field: 'email', param: 2 },
  ])
})
