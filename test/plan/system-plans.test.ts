/** The plans of Portico's own reads and writes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ListShape, Plan } from '../../src/plan/plan.ts'
import type { Run } from '../../src/plan/run.ts'
import {
  itemShape,
  listShape,
  readAll,
  readFirst,
  readItem,
  updateShape,
  where,
} from '../../src/plan/system-plans.ts'

/** Returns lists with a slice of `items` and records the arguments. */
function listing(items: readonly unknown[]) {
  const seen: unknown[] = []
  const list = ({ args }: Plan<ListShape>) => {
    seen.push(args)
    const [offset = 0, limit = 0] = args.map(Number)
    return { text: JSON.stringify(items.slice(offset, offset + limit)) }
  }
  return { run: { list } as unknown as Run, seen }
}

test('readAll reads all pages of a list', async () => {
  const all = Array.from({ length: 25_000 }, (_, at) => ({ id: at + 1 }))
  assert.deepEqual(await readAll(listing(all).run, listShape('users', ['id'])), all)
})

test('readAll reads an empty page after a full last page', async () => {
  const all = Array.from({ length: 10_000 }, (_, at) => ({ id: at + 1 }))
  const { run, seen } = listing(all)
  assert.deepEqual(await readAll(run, listShape('users', ['id']), 'x'), all)
  assert.deepEqual(seen, [
    [0, 10_000, 'x'],
    [10_000, 10_000, 'x'],
  ])
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
