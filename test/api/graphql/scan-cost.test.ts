/** The cost of lists without a matching index. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scanCost } from '../../../src/api/graphql/limits/scan-cost.ts'
import { totalOrder } from '../../../src/engine/plan/order.ts'
import type { Filter } from '../../../src/engine/plan/plan.ts'
import { anyone, collection, index, integer, model, relation, string } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
const checked = checkModel(
  model({
    shops: collection({ access, fields: { name: string() } }),
    items: collection({
      access,
      fields: {
        shop_id: relation('shops', { inverse: 'items' }),
        code: string({ unique: true }),
        name: string(),
        price: integer(),
        weight: integer(),
      },
      indexes: [index('price', 'weight')],
    }),
  }),
)

const is = (field: string, operator: 'eq' | 'ne' | 'gt' = 'eq'): Filter => ({
  kind: 'compare',
  field,
  operator,
  param: 0,
})
const items = (filter: Filter): Filter => ({ kind: 'related', relation: 'items', filter })
const shop = (filter: Filter): Filter => ({ kind: 'related', relation: 'shop', filter })
const both = (...filters: readonly Filter[]): Filter => ({ kind: 'and', parts: filters })
const either = (...filters: readonly Filter[]): Filter => ({ kind: 'or', parts: filters })

function costOf(
  collection: string,
  filter: Filter | undefined,
  {
    sort,
    search,
    isOfRelation = false,
    countsTotal = false,
  }: { sort?: string; search?: number; isOfRelation?: boolean; countsTotal?: boolean } = {},
): number {
  const target = checked.collections.get(collection) ?? assert.fail(collection)
  const rows = {
    filter,
    ...(search !== undefined && { search }),
    sort: totalOrder(sort === undefined ? [] : [{ field: sort, descending: false }]),
  }
  return scanCost(rows, { model: checked, target, isOfRelation, countsTotal })
}

const filters: readonly (readonly [name: string, filter: Filter | undefined, cost: number])[] = [
  ['no filter', undefined, 0],
  ['the id', is('id'), 0],
  ['a unique field', is('code'), 0],
  ['a reference', is('shop_id'), 0],
  ['the first field of an index', is('price', 'gt'), 0],
  ['the second field of an index', is('weight'), 50],
  ['a field without an index', is('name'), 50],
  ['an inequality', is('code', 'ne'), 50],
  ['a negation', { kind: 'not', part: is('code') }, 50],
  ['a conjunction with one indexed field', both(is('name'), is('code')), 0],
  ['a disjunction of two indexed fields', either(is('id'), is('code')), 0],
  ['a disjunction of one indexed field and one without an index', either(is('name'), is('code')), 50],
  ['an empty disjunction', either(), 50],
  ['a filter along a to-one relation', shop(is('id')), 50],
]

for (const [name, filter, cost] of filters) {
  test(`${name} costs ${cost} in a collection, and a tenth in a related list`, () => {
    assert.equal(costOf('items', filter), cost)
    assert.equal(costOf('items', filter, { isOfRelation: true }), cost / 10)
  })
}

test('nested lists in a filter multiply their cost', () => {
  assert.equal(costOf('shops', items(is('code'))), 50)
  assert.equal(costOf('shops', items(shop(items(is('code'))))), 50 * 50)
  assert.equal(costOf('shops', items(shop(items(shop(items(is('code'))))))), 50 * 50 ** 2)
  assert.equal(costOf('shops', both(items(is('code')), items(is('code')))), 50, 'side by side')
})

test('a search, an order without an index and a filtered total scan all rows', () => {
  assert.equal(costOf('items', undefined, { search: 0 }), 50)
  assert.equal(costOf('items', undefined, { sort: 'name' }), 50)
  assert.equal(costOf('items', undefined, { sort: 'price' }), 0)
  assert.equal(costOf('items', undefined, { countsTotal: true }), 0)
  assert.equal(costOf('items', is('code'), { countsTotal: true }), 50)
})
