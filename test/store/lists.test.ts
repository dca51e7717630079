/** What lists make of their rows: where a page ends, and where the next one begins. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { always } from '../../src/plan/condition.ts'
import type { GuardedSort } from '../../src/plan/guarded.ts'
import { absent, cursorAnswer, pageAnswer } from '../../src/store/lists.ts'
import { stampOf, Versions } from '../../src/store/versions.ts'
import { field, types } from '../plan/small-model.ts'

const by = (name: string, type: keyof typeof types): GuardedSort => ({
  field: { field: field(name, types[type]), when: always },
  descending: false,
})
const sort = [by('public', 'boolean'), by('note', 'text'), by('id', 'integer')]
/** As `cursorSlice` has them: the text, then the sort keys. */
const rows = [
  ['{"id":1}', 1, 'a', 1],
  ['{"id":2}', 0, null, 2],
  ['{"id":3}', null, 'c', 3],
]

test('one row more than is asked for tells that there is a next page, which begins after the last that is shown', () => {
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

test('a page is all of its rows, with the total where it is asked for', () => {
  assert.deepEqual(pageAnswer([['1'], ['2']], 7), { kind: 'list', text: '[1,2]', total: 7, next: undefined })
  assert.equal(pageAnswer([], undefined).text, '[]')
})

test('a list of a parent that is missing is none, and not an empty one', () => {
  assert.equal(absent({ kind: 'cursor', after: undefined, limit: 0 }).text, null)
  assert.equal(absent({ kind: 'cursor', after: undefined, limit: 0 }).next, null)
  assert.equal(absent({ kind: 'page', offset: 0, limit: 1, total: true }).next, undefined)
})

test('the stamp of several versions changes with each of them', () => {
  const versions = new Versions()
  const cells = ['posts', 'users', 'tags'].map(name => versions.cell(name))
  const seen = new Set([stampOf(cells)])
  for (const name of ['posts', 'users', 'tags', 'posts']) {
    versions.bump([name])
    seen.add(stampOf(cells))
  }
  versions.bumpAll()
  seen.add(stampOf(cells))
  assert.equal(seen.size, 6)
  const before = stampOf(cells)
  versions.bump(['others'])
  assert.equal(stampOf(cells), before)
})
