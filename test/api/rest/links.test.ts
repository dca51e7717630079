/** The `Link` header of lists: which pages it names. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pageLinks } from '../../../src/api/rest/reply/links.ts'
import type { ListAnswer } from '../../../src/engine/plan/answer.ts'

/** The pages that the header names, by relation. */
function pages(page: number, answer: Partial<ListAnswer>): Readonly<Record<string, number>> {
  const list = { kind: 'list', text: '[]', total: undefined, next: undefined, ...answer } as const
  const [, header = ''] = pageLinks('/api/v1/posts', { linkQuery: '', perPage: 10 }, page, list)
  const links = header.matchAll(/[?&]page=(\d+)[^>]*>; rel="([a-z]+)"/g)
  return Object.fromEntries(Array.from(links, ([, number, relation]) => [relation, Number(number)]))
}

test('a page has the pages around it, and the last one where the total is exact', () => {
  assert.deepEqual(pages(1, { total: 25 }), { next: 2, first: 1, last: 3 })
  assert.deepEqual(pages(2, { total: 25 }), { next: 3, prev: 1, first: 1, last: 3 })
  assert.deepEqual(pages(3, { total: 25 }), { prev: 2, first: 1, last: 3 })
  assert.deepEqual(pages(2, { total: 20 }), { prev: 1, first: 1, last: 2 })
  assert.deepEqual(pages(1, { total: 0 }), { first: 1, last: 1 })
})

test('beyond the end, the previous page is the last one', () => {
  assert.deepEqual(pages(9, { total: 25 }), { prev: 3, first: 1, last: 3 })
})

test('without an exact total, a next page exists where the answer says so', () => {
  assert.deepEqual(pages(2, { hasMore: true }), { next: 3, prev: 1, first: 1 })
  assert.deepEqual(pages(2, { hasMore: false }), { prev: 1, first: 1 })
  assert.deepEqual(pages(2, { total: 25, isEstimate: true, hasMore: true }), { next: 3, prev: 1, first: 1 })
})
