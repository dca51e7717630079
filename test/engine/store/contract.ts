/** The contract that every store fulfils, whatever its database. */

import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { test } from 'node:test'
import { entityTag } from '../../../src/base/conditional.ts'
import { ApiError, type ErrorCode } from '../../../src/base/errors.ts'
import { anonymous, user } from '../../../src/base/principal.ts'
import { totalOrder } from '../../../src/engine/plan/order.ts'
import type { ListShape } from '../../../src/engine/plan/plan.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import { Client, fields, listOfPosts, parsed } from './blog.ts'

/** Opens an empty store of the blog for `use`, and closes and removes it. */
export type WithStore = (use: (store: Store) => Promise<void>) => Promise<void>

/** The expected error, with the field that it names. */
export function failure(code: ErrorCode, field?: string, detail?: string) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof ApiError)
    assert.equal(error.code, code)
    if (field !== undefined) assert.equal(error.details?.[0]?.field, field)
    if (detail !== undefined) assert.equal(error.details?.[0]?.code, detail)
    return true
  }
}

async function withPeople(store: Store) {
  const client = new Client(store)
  const ann = await client.create('users', { name: 'Ann', email: 'ann@example.com' })
  const ben = await client.create('users', { name: 'Ben', email: 'ben@example.com' })
  return {
    client,
    ann: user(ann.id, 'user', 'all'),
    ben: user(ben.id, 'user', 'all'),
    annId: ann.id,
    benId: ben.id,
  }
}

export function storeContract(label: string, withStore: WithStore): void {
  const scenario = (name: string, use: (people: Awaited<ReturnType<typeof withPeople>>) => Promise<void>) =>
    test(`${label}: ${name}`, () => withStore(async store => use(await withPeople(store))))

  creates(scenario)
  changes(scenario)
  deletes(scenario)
  lists(scenario)
  cursors(scenario)
}

type Scenario = (name: string, use: (people: Awaited<ReturnType<typeof withPeople>>) => Promise<void>) => void

/** Syllables that are decomposed into three letters each. */
function randomKorean(length: number): string {
  const syllable = () => String.fromCodePoint(0xac01 + 28 * randomInt(399) + randomInt(27))
  return Array.from({ length }, syllable).join('')
}

function creates(scenario: Scenario): void {
  scenario(
    'a create returns the item with its id, its defaults and its creation time',
    async ({ client, ann, annId }) => {
      const { id, text } = await client.create('posts', { title: 'Hello' }, ann)
      const item = parsed(text) as Record<string, unknown>
      assert.deepEqual(
        { ...item, created_at: 0 },
        { id, title: 'Hello', body: null, author_id: annId, created_at: 0 },
      )
      assert.match(String(item.created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      assert.deepEqual(await client.item('posts', id, anonymous('192.0.2.1')), item)
    },
  )

  scenario('a duplicate of a unique value is a conflict that names the field', async ({ client }) => {
    await assert.rejects(
      client.create('users', { name: 'Other', email: 'ann@example.com' }),
      failure('CONFLICT', 'email', 'taken'),
    )
  })

  scenario('a reference to a missing item is a validation error of its field', async ({ client, ann }) => {
    const admin = user(ann.userId ?? 0, 'admin', 'all')
    await assert.rejects(
      client.create('posts', { title: 'x', author_id: 999 }, admin),
      failure('VALIDATION_FAILED', 'author_id', 'not_found'),
    )
  })

  scenario('a failing write does not fail the writes that arrive with it', async ({ client, annId }) => {
    const emails = ['c@example.com', 'ann@example.com', 'd@example.com', 'c@example.com']
    const results = await Promise.allSettled(
      emails.map(email => client.create('users', { name: 'x', email })),
    )
    assert.deepEqual(
      results.map(result => result.status),
      ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
    )
    const page = await client.list({ ...listOfPosts, collection: 'users', select: fields('email') }, [0, 10])
    assert.equal(page.total, 4)
    assert.equal(page.items?.length, 4)
    assert.ok(annId > 0)
  })

  scenario('unusual texts are stored unchanged', async ({ client, ann }) => {
    for (const title of [
      '',
      '"\\\n\t',
      "'; DROP TABLE posts; --",
      '💚 é ẞ \u2028',
      '\u0001',
      '{"a":1}',
      'null',
    ]) {
      const { id } = await client.create('posts', { title }, ann)
      assert.equal(((await client.item('posts', id)) as { title: string }).title, title)
    }
  })
}

function changes(scenario: Scenario): void {
  scenario('a merge keeps the other fields, a replacement resets them', async ({ client, ann }) => {
    const { id } = await client.create('posts', { title: 'a', body: 'b' }, ann)
    const merged = parsed((await client.update('posts', id, { title: 'c' }, ann)).text) as Record<
      string,
      unknown
    >
    assert.deepEqual([merged.title, merged.body], ['c', 'b'])
    const replaced = parsed((await client.replace('posts', id, { title: 'd' }, ann)).text) as typeof merged
    assert.deepEqual([replaced.title, replaced.body], ['d', null])
    assert.deepEqual(await client.item('posts', id), replaced)
  })

  scenario(
    'changing a missing item is NOT_FOUND, changing another user’s item is FORBIDDEN and has no effect',
    async people => {
      const { client, ann, ben } = people
      const { id } = await client.create('posts', { title: 'a' }, ann)
      await assert.rejects(client.update('posts', 999, { title: 'x' }, ann), failure('NOT_FOUND'))
      await assert.rejects(client.remove('posts', 999, ann), failure('NOT_FOUND'))
      await assert.rejects(client.update('posts', id, { title: 'x' }, ben), failure('FORBIDDEN'))
      await assert.rejects(client.remove('posts', id, ben), failure('FORBIDDEN'))
      assert.equal(((await client.item('posts', id)) as { title: string }).title, 'a')
    },
  )

  scenario('an update cannot transfer an item to another user', async ({ client, ann, benId }) => {
    const { id } = await client.create('posts', { title: 'a' }, ann)
    await assert.rejects(
      client.update('posts', id, { title: 'b', author_id: benId }, ann),
      failure('FORBIDDEN'),
    )
    assert.equal(((await client.item('posts', id)) as { title: string }).title, 'a')
  })

  scenario('If-Match accepts the current tag, a list that contains it, or *', async ({ client, ann }) => {
    const { id, text } = await client.create('posts', { title: 'a' }, ann)
    const tag = entityTag(text ?? '')
    await assert.rejects(
      client.updateIf('posts', id, { title: 'x' }, ['"old"'], ann),
      failure('PRECONDITION_FAILED'),
    )
    await assert.rejects(client.remove('posts', id, ann, ['"old"']), failure('PRECONDITION_FAILED'))
    const next = await client.updateIf('posts', id, { title: 'b' }, ['"old"', tag], ann)
    await assert.rejects(
      client.updateIf('posts', id, { title: 'c' }, [tag], ann),
      failure('PRECONDITION_FAILED'),
    )
    await client.updateIf('posts', id, { title: 'd' }, [entityTag(next.text ?? '')], ann)
    await client.remove('posts', id, ann, '*')
    assert.equal(await client.item('posts', id), null)
    await assert.rejects(client.updateIf('posts', id, { title: 'x' }, '*', ann), failure('NOT_FOUND'))
  })

  scenario(
    'the version of a collection grows with a change and not with an update that changes nothing',
    async ({ client, ann }) => {
      const { id } = await client.create('posts', { title: 'a' }, ann)
      const users = client.store.version('users')
      const before = client.store.version('posts')
      await client.update('posts', id, { title: 'a' }, ann)
      assert.equal(client.store.version('posts'), before)
      await client.update('posts', id, { title: 'b' }, ann)
      assert.ok(client.store.version('posts') > before)
      assert.equal(client.store.version('users'), users)
    },
  )
}

function deletes(scenario: Scenario): void {
  scenario('a deleted item cannot be read, and its id is never reused', async ({ client, ann }) => {
    const { id } = await client.create('posts', { title: 'a' }, ann)
    assert.deepEqual(await client.remove('posts', id, ann), { id, text: null })
    assert.equal(await client.item('posts', id), null)
    assert.ok((await client.create('posts', { title: 'b' }, ann)).id > id)
  })

  scenario('an item that others reference cannot be deleted', async ({ client, ann, annId }) => {
    const { id } = await client.create('posts', { title: 'a' }, ann)
    await assert.rejects(client.remove('users', annId), failure('CONFLICT'))
    await client.remove('posts', id, ann)
    await client.remove('users', annId)
    assert.equal(await client.item('users', annId), null)
  })
}

const byAuthor: ListShape = {
  ...listOfPosts,
  within: { collection: 'users', relation: 'posts', id: 2 },
}

function lists(scenario: Scenario): void {
  scenario('pages are consecutive and share one total', async ({ client, ann }) => {
    for (const title of ['a', 'b', 'c', 'd', 'e']) await client.create('posts', { title }, ann)
    const titles = async (offset: number, limit: number) => {
      const { items, total } = await client.list(listOfPosts, [offset, limit])
      return [items?.map(item => item.title).join(''), total]
    }
    assert.deepEqual(await titles(0, 2), ['ab', 5])
    assert.deepEqual(await titles(4, 2), ['e', 5])
    assert.deepEqual(await titles(6, 2), ['', 5])
  })

  scenario('pages of a search share one total, which is right beyond the last page, too', async people => {
    const { client, ann } = people
    for (const title of ['a word', 'b', 'c word', 'd word']) await client.create('posts', { title }, ann)
    const searched: ListShape = { ...listOfPosts, search: 2 }
    const newestFirst = totalOrder([{ field: 'id', descending: true }])
    const page = async (offset: number, word: string, shape = searched) => {
      const { items, total } = await client.list(shape, [offset, 2, word, 'c'])
      return [items?.map(item => item.title).join(), total]
    }
    assert.deepEqual(await page(0, 'word'), ['a word,c word', 3])
    assert.deepEqual(await page(2, 'word'), ['d word', 3])
    assert.deepEqual(await page(4, 'word'), ['', 3])
    assert.deepEqual(await page(0, 'other'), ['', 0])
    const filter = { kind: 'compare', field: 'title', operator: 'contains', param: 3 } as const
    assert.deepEqual(await page(0, 'word', { ...searched, filter }), ['c word', 1])
    assert.deepEqual(await page(0, 'word', { ...searched, sort: newestFirst }), ['d word,c word', 3])
  })

  scenario(
    'a nested list contains the items of its parent, and is null for a missing parent',
    async people => {
      const { client, ann, ben, annId, benId } = people
      await client.create('posts', { title: 'mine' }, ann)
      await client.create('posts', { title: 'yours' }, ben)
      assert.deepEqual(
        (await client.list(byAuthor, [0, 9, annId], ann)).items?.map(item => item.title),
        ['mine'],
      )
      assert.equal((await client.list(byAuthor, [0, 9, benId], ann)).total, 1)
      assert.equal((await client.list(byAuthor, [0, 9, 999], ann)).items, null)
    },
  )

  scenario(
    'filters select the matching items, and a relation nests the related item',
    async ({ client, ann, annId }) => {
      await client.create('posts', { title: 'x', body: 'one' }, ann)
      await client.create('posts', { title: 'y' }, ann)
      const filtered = async (
        operator: 'eq' | 'in' | 'contains' | 'icontains' | 'starts_with' | 'null' | 'ne',
        field: string,
        value: string[] | string | boolean,
      ) => {
        const shape: ListShape = { ...listOfPosts, filter: { kind: 'compare', field, operator, param: 2 } }
        const { items, total } = await client.list(shape, [0, 9, value], ann)
        assert.equal(items?.length, total)
        return items?.map(item => item.title).join('')
      }
      assert.equal(await filtered('eq', 'title', 'x'), 'x')
      assert.equal(await filtered('in', 'title', ['y', 'z']), 'y')
      assert.equal(await filtered('contains', 'body', 'n'), 'x')
      assert.equal(await filtered('contains', 'body', '%'), '')
      assert.equal(await filtered('icontains', 'body', 'N'), 'x')
      assert.equal(await filtered('starts_with', 'body', 'on'), 'x')
      assert.equal(await filtered('starts_with', 'body', 'n'), '')
      assert.equal(await filtered('starts_with', 'body', 'O'), '')
      assert.equal(await filtered('null', 'body', true), 'y')
      assert.equal(await filtered('null', 'body', false), 'x')
      assert.equal(await filtered('ne', 'body', 'two'), 'x')
      const author = {
        kind: 'relation' as const,
        key: 'author',
        relation: 'author',
        select: fields('id'),
        list: undefined,
      }
      const nested = { ...listOfPosts, select: [author] }
      assert.deepEqual((await client.list(nested, [0, 1], ann)).items, [{ author: { id: annId } }])
    },
  )

  scenario('search finds whole words whatever their order, case and accents', async ({ client, ann }) => {
    await client.create('posts', { title: 'Crème Brûlée', body: 'A dessert' }, ann)
    const { id } = await client.create('posts', { title: 'Dessert wine' }, ann)
    const search: ListShape = { ...listOfPosts, search: 2, select: fields('title') }
    const searchFor = async (words: string) =>
      (await client.list(search, [0, 9, words], ann)).items
        ?.map(item => String(item.title).slice(0, 2))
        .join()
    assert.equal(await searchFor('dessert'), 'Cr,De')
    assert.equal(await searchFor('BRULEE creme'), 'Cr')
    assert.equal(await searchFor('dessert brûlée'), 'Cr')
    assert.equal(await searchFor('dess'), '')
    assert.equal(await searchFor('wine" OR "creme'), '')
    await client.update('posts', id, { title: 'Port' }, ann)
    assert.equal(await searchFor('wine'), '')
    assert.equal(await searchFor('port'), 'Po')
    await client.remove('posts', id, ann)
    assert.equal(await searchFor('port'), '')
    assert.equal(await searchFor('!?'), '')
  })

  scenario(
    'a text with a word too long for the index is stored and found by its other words',
    async people => {
      const { client, ann } = people
      // The last word has the maximal length: three bytes for each character, and random, so it does not compress.
      const words = [
        randomBytes(2000).toString('hex'),
        randomBytes(40_000).toString('hex'),
        randomKorean(266),
      ]
      const short = client.create('posts', { title: 'Short' }, ann)
      const posts = words.map(word =>
        client.create('posts', { title: 'Keys', body: `begins ${word} ends` }, ann),
      )
      await Promise.all([short, ...posts])
      const search: ListShape = { ...listOfPosts, search: 2, select: fields('id') }
      const count = async (text: string) => (await client.list(search, [0, 9, text], ann)).items?.length
      assert.equal(await count('begins ends'), words.length)
      assert.equal(await count(words[2] ?? ''), 1)
    },
  )

  scenario(
    'search results sorted by rank: matches in more fields first, then in shorter fields, then the newest',
    async people => {
      const { client, ann, annId } = people
      const posts = [
        { title: 'Long words about the red kite', body: 'x' },
        { title: 'Kite', body: 'x'.repeat(50) },
        { title: 'x', body: 'A kite over a long, long text' },
        { title: 'Kite', body: 'x' },
        { title: 'A kite', body: 'Of paper: a kite' },
        { title: 'Red', body: 'The kite' },
        { title: 'None' },
      ]
      for (const post of posts) await client.create('posts', post, ann)
      const ranked: ListShape = {
        ...listOfPosts,
        search: 2,
        sort: totalOrder([{ field: 'q', descending: true }]),
        select: fields('id'),
      }
      const ids = async (shape: ListShape, args: JsonValue[]) =>
        (await client.list(shape, args, ann)).items?.map(item => item.id).join()
      assert.equal(await ids(ranked, [0, 9, 'kite']), '5,4,2,6,3,1')
      assert.equal(await ids(ranked, [1, 2, 'kite']), '4,2')
      assert.equal(await ids(ranked, [0, 9, 'red kite']), '1,6')
      assert.equal(await ids(ranked, [0, 9, '!?']), '')
      const within: ListShape = { ...ranked, within: byAuthor.within, search: 3 }
      assert.equal(await ids(within, [0, 3, annId, 'kite']), '5,4,2')
      const met: unknown[] = []
      let after: readonly JsonValue[] = []
      do {
        const window = { kind: 'cursor' as const, after: after.length > 0 ? [3, 4] : undefined, limit: 1 }
        const { items, next } = await client.list({ ...ranked, window }, [0, 2, 'kite', ...after], ann)
        met.push(...(items ?? []).map(item => item.id))
        after = next ?? []
      } while (after.length > 0)
      assert.deepEqual(met, [5, 4, 2, 6, 3, 1])
      const none: ListShape = { ...ranked, filter: { kind: 'or', parts: [] } }
      assert.equal(await ids(none, [0, 9, 'kite']), '')
    },
  )
}

const walk: ListShape = { ...listOfPosts, window: { kind: 'cursor', after: undefined, limit: 0 } }

function cursors(scenario: Scenario): void {
  const bodies = ['b', null, 'a', 'b', null, 'c', 'a']
  for (const descending of [false, true]) {
    scenario(
      `a cursor visits each item once and sorts null as the smallest value, descending ${descending}`,
      async people => {
        const { client, ann } = people
        for (const body of bodies) await client.create('posts', { title: 't', body }, ann)
        const sort = totalOrder([{ field: 'body', descending }])
        const first: ListShape = { ...walk, sort, select: fields('id', 'body') }
        const later: ListShape = { ...first, window: { kind: 'cursor', after: [1, 2], limit: 0 } }
        const met = []
        let page = await client.list(first, [2])
        met.push(...(page.items ?? []))
        while (page.next) {
          page = await client.list(later, [2, ...page.next])
          met.push(...(page.items ?? []))
        }
        const sorted = ['', '', 'a', 'a', 'b', 'b', 'c']
        const expected = descending ? sorted.toReversed() : sorted
        assert.deepEqual(
          met.map(item => item.body ?? ''),
          expected,
        )
        assert.equal(new Set(met.map(item => item.id)).size, bodies.length)
      },
    )
  }

  scenario('the last page has no next cursor, even if it is full', async ({ client, ann }) => {
    for (const title of ['a', 'b']) await client.create('posts', { title }, ann)
    assert.equal((await client.list(walk, [2])).next, null)
    assert.notEqual((await client.list(walk, [1])).next, null)
    assert.deepEqual(
      await client.list({ ...walk, filter: { kind: 'compare', field: 'title', operator: 'eq', param: 1 } }, [
        2,
        'z',
      ]),
      {
        items: [],
        total: undefined,
        next: null,
      },
    )
  })
}
