/** How a list answer is made from rows: the end of a page and the start of the next. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { always } from '../../../../src/engine/plan/condition.ts'
import type { GuardedSort } from '../../../../src/engine/plan/guarded-conditions.ts'
import type { PageWindow, TotalMode } from '../../../../src/engine/plan/plan.ts'
import { absent, cursorAnswer, pageAnswer } from '../../../../src/engine/store/read/lists.ts'
import { estimated } from '../../../../src/engine/store/sql/estimate.ts'
import { stampOf, Versions } from '../../../../src/engine/store/versions.ts'
import { field, types } from '../../plan/small-model.ts'

const keyOf = (name: string, type: keyof typeof types): GuardedSort => ({
  field: { field: field(name, types[type]), when: always },
  descending: false,
})
const sort = [keyOf('public', 'boolean'), keyOf('note', 'text'), keyOf('id', 'integer')]
/** Rows as `cursorSlice` selects them: the text, then the sort keys. */
const rows = [
  ['{"id":1}', 1, 'a', 1],
  ['{"id":2}', 0, null, 2],
  ['{"id":3}', null, 'c', 3],
]

test('an extra row means that a next page exists, which starts after the last row shown', () => {
  assert.deepEqual(cursorAnswer(rows, 2, sort), {
    kind: 'list',
    text: '[{"id":1},{"id":2}]',
    total: undefined,
    next: [false, null, 2],
  })
  assert.deepEqual(cursorAnswer(rows, 1, sort).next, [true, 'a', 1])
  assert.equal(cursorAnswer(rows, 3, sort).next, null)
  assert.equal(cursorAnswer(rows, 3, sort).text, '[{"id":1},{"id":2},{"id":3}]')
  assert.deepEqual([cursorAnswer([], 3, sort).text, cursorAnswer([], 3, sort).next], ['[]', null])
})

const windowOf = (total: TotalMode): PageWindow => ({ kind: 'page', offset: 0, limit: 1, total })

test('a page contains all its rows, and a total if requested', () => {
  const total = { total: 7, isEstimate: false }
  const page = { kind: 'list', text: '[1,2]', next: undefined }
  assert.deepEqual(pageAnswer([['1'], ['2']], total, windowOf('exact'), [0, 2]), { ...page, total: 7 })
  assert.equal(pageAnswer([], total, windowOf('exact'), [0, 2]).text, '[]')
  const three = [['1'], ['2'], ['3']]
  const none = windowOf('none')
  assert.deepEqual(pageAnswer(three, undefined, none, [0, 2]), { ...page, total: undefined, hasMore: true })
  assert.equal(pageAnswer(three, undefined, none, [0, 3]).hasMore, false)
  assert.equal(pageAnswer(three, undefined, none, [0, 3]).text, '[1,2,3]')
})

test('a page corrects an estimated total by its own rows', () => {
  const rows = (count: number) => Array.from({ length: count }, (_, index) => [String(index)])
  const correctedTotal = (offset: number, count: number) => {
    const estimate = { total: 50_000, isEstimate: true }
    const { total, isEstimate, hasMore } = pageAnswer(rows(count), estimate, windowOf('estimate'), [
      offset,
      2,
    ])
    return [total, isEstimate ?? false, hasMore]
  }
  assert.deepEqual(correctedTotal(0, 3), [50_000, true, true])
  assert.deepEqual(correctedTotal(60_000, 3), [60_003, true, true])
  assert.deepEqual(correctedTotal(60_000, 2), [60_002, false, false])
  assert.deepEqual(correctedTotal(20_000, 1), [20_001, false, false])
  assert.deepEqual(correctedTotal(20_000, 0), [20_000, true, false])
  assert.deepEqual(correctedTotal(70_000, 0), [50_000, true, false])
})

test('an estimate is at least the number counted and at most the size of the collection', () => {
  assert.deepEqual(estimated([10_000, null, 1_000_000]), { total: 10_000, isEstimate: false })
  assert.deepEqual(estimated([10_001, 70_000.4, 1_000_000]), { total: 70_000, isEstimate: true })
  assert.deepEqual(estimated([10_001, 12, 1_000_000]), { total: 10_001, isEstimate: true })
  assert.deepEqual(estimated([10_001, null, 1_000_000]), { total: 10_001, isEstimate: true })
  assert.deepEqual(estimated([10_001, 70_000, 60_000]), { total: 60_000, isEstimate: true })
  assert.deepEqual(estimated([10_001, 70_000, 0]), { total: 70_000, isEstimate: true })
})

test('the list of a missing parent is null, not empty', () => {
  assert.equal(absent({ kind: 'cursor', after: undefined, limit: 0 }).text, null)
  assert.equal(absent({ kind: 'cursor', after: undefined, limit: 0 }).next, null)
  assert.equal(absent({ kind: 'page', offset: 0, limit: 1, total: 'exact' }).next, undefined)
})

test('a stamp changes with each of its versions', () => {
  const versions = new Versions()
  const cells = ['posts', 'users', 'tags'].map(name => versions.cell(name))
  const stamps = new Set([stampOf(cells)])
  for (const name of ['posts', 'users', 'tags', 'posts']) {
    versions.bump([name])
    stamps.add(stampOf(cells))
  }
  versions.bumpAll()
  stamps.add(stampOf(cells))
  assert.equal(stamps.size, 6)
  const before = stampOf(cells)
  versions.bump(['others'])
  assert.equal(stampOf(cells), before)
})
