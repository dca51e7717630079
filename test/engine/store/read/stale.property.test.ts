/** A store with caches returns the same as a store without. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { user } from '../../../../src/base/principal.ts'
import { totalOrder } from '../../../../src/engine/plan/order.ts'
import type { ListShape } from '../../../../src/engine/plan/plan.ts'
import type { ReadersOptions } from '../../../../src/engine/store/sqlite/settings.ts'
import { cases } from '../../../cases.ts'
import { blog, Client, fields, listOfPosts } from '../blog.ts'
import { databaseKinds, type TestDatabase } from '../databases.ts'

type Action =
  | { readonly kind: 'create'; readonly by: number; readonly text: string }
  | { readonly kind: 'update' | 'remove'; readonly by: number; readonly nth: number; readonly text: string }
  | {
      readonly kind: 'read'
      readonly by: number
      readonly offset: number
      readonly limit: number
      readonly of: number
    }

const by = fc.nat({ max: 1 })
const text = fc.constantFrom('a', 'b', 'c')
const read = fc.record({
  kind: fc.constant('read' as const),
  by,
  offset: fc.nat({ max: 700 }),
  limit: fc.integer({ min: 1, max: 5 }),
  of: fc.nat({ max: 4 }),
})
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('create' as const), by, text }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('update' as const, 'remove' as const),
      by,
      nth: fc.nat(),
      text,
    }),
  },
  { weight: 6, arbitrary: read },
)

const byBody = { field: 'body', descending: false }
const shapes: readonly ListShape[] = [
  listOfPosts,
  { ...listOfPosts, sort: totalOrder([{ field: 'id', descending: true }]) },
  { ...listOfPosts, sort: totalOrder([byBody]), select: fields('id', 'body') },
  { ...listOfPosts, filter: { kind: 'compare', field: 'body', operator: 'ne', param: 2 } },
  { ...listOfPosts, within: { collection: 'users', relation: 'posts', id: 2 } },
]

/** The arguments after offset and limit. */
function rest(of: number, author: number): (string | number)[] {
  if (of === 3) return ['b']
  return of === 4 ? [author] : []
}

/** Runs the actions on two stores of one database and compares each read with a third store without a cache. */
async function compare(
  { open }: TestDatabase,
  rows: number,
  actions: readonly Action[],
  readers?: ReadersOptions,
): Promise<void> {
  const cacheOptions = { cacheBytes: 1_000_000, ...(readers && { readers }) }
  const stores = await Promise.all(
    [cacheOptions, cacheOptions, { cacheBytes: 0 }].map(options => open(blog, options)),
  )
  const [first, second, plain] = stores.map(store => new Client(store))
  assert.ok(first && second && plain)
  try {
    const { id: author } = await first.create('users', { name: 'x', email: `${Math.random()}@example.com` })
    const as = user(author, 'user', 'all')
    const bodies = ['a', null, 'b', 'c']
    const created = Array.from({ length: rows }, (_, index) =>
      first.create('posts', { title: `t${index}`, body: bodies[index % 4] ?? null }, as),
    )
    const ids = (await Promise.all(created)).map(({ id }) => id)
    for (const action of actions) {
      const client: Client = action.by === 0 ? first : second
      if (action.kind === 'read') {
        const shape = shapes[action.of] ?? listOfPosts
        const args = [action.offset, action.limit, ...rest(action.of, author)]
        assert.deepEqual(await client.list(shape, args, as), await offsetOnly(plain, shape, args, as))
        continue
      }
      if (action.kind === 'create') {
        ids.push((await client.create('posts', { title: action.text, body: action.text }, as)).id)
        continue
      }
      if (ids.length === 0) continue
      const index = action.nth % ids.length
      const id = ids[index] ?? 0
      if (action.kind === 'update')
        await client.update('posts', id, { body: action.text, title: action.text }, as)
      else {
        await client.remove('posts', id, as)
        ids.splice(index, 1)
      }
    }
    const [inProcess] = stores
    if (readers) assert.ok((inProcess?.slowReads?.().done ?? 0) > 0)
  } finally {
    for (const store of stores) await store.close()
  }
}

/** The same page, cut from the whole list, so that no anchor is used. */
async function offsetOnly(
  client: Client,
  shape: ListShape,
  [offset = 0, limit = 0, ...others]: readonly (string | number)[],
  as: ReturnType<typeof user>,
) {
  const wholeList = await client.list(shape, [0, 10_000, ...others], as)
  const from = Number(offset)
  return { ...wholeList, items: wholeList.items?.slice(from, from + Number(limit)) ?? null }
}

for (const { name, within } of databaseKinds) {
  test(`${name}: cached answers and deep pages equal those of a store without a cache, whichever store writes in between`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(30, 650), fc.array(action, { maxLength: 40 }), (rows, actions) =>
        within(database => compare(database, rows, actions)),
      ),
      name === 'SQLite' ? cases(60, 20) : cases(15, 5),
    )
  })

  if (name === 'SQLite') {
    test('SQLite: answers of reader processes equal those of a store without a cache', async () => {
      const readers = { count: 1, timeoutMs: 60_000, budgetMs: 0 }
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: 100, maxLength: 200 }), actions =>
          within(database => compare(database, 650, actions, readers)),
        ),
        cases(5, 3),
      )
    })
  }

  test(`${name}: deep pages found by anchors equal pages by offset, also after deletions`, async () => {
    await within(async ({ open }) => {
      const store = await open(blog, { cacheBytes: 0 })
      const client = new Client(store)
      const { id } = await client.create('users', { name: 'x', email: 'x@example.com' })
      const as = user(id, 'user', 'all')
      const created = Array.from({ length: 3000 }, async (_, index) => {
        const title = `t${index}`
        return { title, id: (await client.create('posts', { title }, as)).id }
      })
      const posts = (await Promise.all(created)).toSorted((a, b) => a.id - b.id)
      const titles = posts.map(post => post.title)
      const page = async (offset: number) =>
        (await client.list(listOfPosts, [offset, 3])).items?.map(item => item.title)
      for (const offset of [2500, 1200, 2999, 499, 500, 501, 1000, 3000, 9000, 200]) {
        assert.deepEqual(await page(offset), titles.slice(offset, offset + 3), `offset ${offset}`)
      }
      await client.remove('posts', posts[700]?.id ?? 0, as)
      titles.splice(700, 1)
      await client.create('posts', { title: 'last' }, as)
      titles.push('last')
      for (const offset of [2500, 699, 700, 2997]) {
        assert.deepEqual(await page(offset), titles.slice(offset, offset + 3), `offset ${offset}`)
      }
      await store.close()
    })
  })
}
