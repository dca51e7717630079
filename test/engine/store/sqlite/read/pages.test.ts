/** Deep pages, which start at cached anchors, equal those counted from the first row. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Principal, system, user } from '../../../../../src/base/principal.ts'
import { totalOrder } from '../../../../../src/engine/plan/order.ts'
import type { ListShape } from '../../../../../src/engine/plan/plan.ts'
import { openSqlite } from '../../../../../src/engine/store/sqlite/sqlite.ts'
import { anyone, collection, integer, model, owner, relation, role } from '../../../../../src/index.ts'
import { checkModel } from '../../../../../src/model/check/check.ts'
import { Client, fields } from '../../blog.ts'

const numbers = checkModel(
  model({
    numbers: collection({
      fields: { n: integer(), owner_id: relation('users') },
      access: { read: owner('owner_id').or(role('admin')), create: anyone, update: anyone, delete: anyone },
    }),
  }),
)
const postCount = 1_300

async function withNumbers(use: (client: Client, owners: readonly number[]) => Promise<void>): Promise<void> {
  const store = openSqlite(numbers, { file: ':memory:' })
  try {
    const client = new Client(store, numbers)
    const owners: number[] = []
    for (const name of ['ann', 'ben']) {
      owners.push((await client.create('users', { name, email: `${name}@example.com` })).id)
    }
    const values = Array.from({ length: postCount }, (_, n) => ({ n: n % 7, owner_id: owners[n % 2] ?? 0 }))
    await Promise.all(values.map(value => client.create('numbers', value)))
    await use(client, owners)
  } finally {
    await store.close()
  }
}

const byId = (descending: boolean): ListShape => ({
  kind: 'list',
  collection: 'numbers',
  within: undefined,
  filter: undefined,
  search: undefined,
  sort: totalOrder([{ field: 'id', descending }]),
  window: { kind: 'page', offset: 0, limit: 1, total: 'none' },
  select: fields('id'),
})

/** In this order: forward, backward and between anchors. */
const offsets = [1200, 200, 700, 650, 1290, 500, 499, 501, 1000, 201, 1300, 250]

/** `page`: offset and size; a page of 10,000 rows from the first one uses no anchor. */
async function ids(client: Client, shape: ListShape, page: readonly [number, number], as: Principal) {
  const { items } = await client.list(shape, page, as)
  return items?.map(({ id }) => id) ?? assert.fail('there is no list')
}

async function compare(client: Client, shape: ListShape, as: Principal): Promise<void> {
  const all = await ids(client, shape, [0, 10_000], as)
  assert.ok(all.length > 600)
  for (const offset of offsets) {
    const page = await ids(client, shape, [offset, 30], as)
    assert.deepEqual(page, all.slice(offset, offset + 30), `from ${offset}`)
  }
}

const shapes: readonly (readonly [name: string, shape: ListShape])[] = [
  ['in id order', byId(false)],
  ['newest first', byId(true)],
  ['in another order', { ...byId(false), sort: totalOrder([{ field: 'n', descending: true }]) }],
]

for (const [name, shape] of shapes) {
  test(`${name}: pages are correct after rows are added, changed and deleted`, () =>
    withNumbers(async (client, [ann = 0]) => {
      await compare(client, shape, system)
      for (let n = 0; n < 3; n++) await client.create('numbers', { n: 3, owner_id: ann })
      await compare(client, shape, system)
      await client.update('numbers', 40, { n: 6 })
      await compare(client, shape, system)
      for (const id of [1, 600, 601]) await client.remove('numbers', id)
      await compare(client, shape, system)
    }))

  test(`${name}: users with different rows get different pages`, () =>
    withNumbers(async (client, [ann = 0, ben = 0]) => {
      for (const as of [user(ann, 'user', 'all'), user(ben, 'user', 'all'), user(ann, 'admin', 'all')]) {
        await compare(client, shape, as)
      }
    }))
}
