/** The cached total and anchors of a list belong to its arguments and its caller, until a change. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { GuardedList } from '../../../../src/engine/plan/guarded.ts'
import type { PageWindow } from '../../../../src/engine/plan/plan.ts'
import { Anchors, ListCache, listCacheOptions } from '../../../../src/engine/store/read/list-cache.ts'
import { Versions } from '../../../../src/engine/store/versions.ts'

const window: PageWindow = { kind: 'page', offset: 0, limit: 1, total: 'exact' }

function open(personal: boolean, keepsTotals = true) {
  const versions = new Versions()
  const shape = { personal, reads: ['posts'], window, rows: { kind: 'never' }, sort: [] } as unknown
  const lists = new ListCache(shape as GuardedList, window, listCacheOptions({ versions, keepsTotals }))
  return { lists, changed: () => versions.bump(['posts']) }
}

const inputs = (args: readonly (number | string)[], userId: number | null = 1) => ({
  args,
  userId,
  slots: [],
})

test('the key of a list depends on its arguments, but not on the page', () => {
  const { lists } = open(false)
  const own = lists.keyOf(inputs([500, 20, 'news']))
  assert.equal(lists.keyOf(inputs([700, 30, 'news'])), own)
  assert.notEqual(lists.keyOf(inputs([500, 20, 'sport'])), own)
})

test('the key of a list includes the user only if its rows depend on the user', () => {
  const [{ lists: personal }, { lists: shared }] = [open(true), open(false)]
  assert.notEqual(personal.keyOf(inputs([0, 20], 1)), personal.keyOf(inputs([0, 20], 2)))
  assert.notEqual(personal.keyOf(inputs([0, 20], null)), personal.keyOf(inputs([0, 20], 2)))
  assert.equal(personal.keyOf(inputs([0, 20], 2)), personal.keyOf(inputs([9, 20], 2)))
  assert.equal(shared.keyOf(inputs([0, 20], 1)), shared.keyOf(inputs([0, 20], 2)))
})

test('a change discards anchors and totals, and a total found before the change is not stored after it', () => {
  const { lists, changed } = open(false)
  const before = lists.stamp
  lists.addAnchor('a', before, 300, ['{}', 7])
  lists.addTotal('a', before, { total: 900, isEstimate: false })
  assert.deepEqual(lists.get('a', before)?.anchors.before(310), { offset: 300, position: [7] })
  assert.equal(lists.get('a', before)?.total?.total, 900)
  changed()
  assert.equal(lists.get('a', lists.stamp), undefined)
  lists.addTotal('b', lists.stamp, { total: 800, isEstimate: false })
  lists.addTotal('b', before, { total: 900, isEstimate: false })
  assert.equal(lists.get('b', lists.stamp)?.total?.total, 800)
})

test('a total is kept only if the list has several pages and totals are enabled', () => {
  const { lists } = open(false)
  lists.addTotal('small', lists.stamp, { total: 100, isEstimate: false })
  assert.equal(lists.get('small', lists.stamp), undefined)
  const { lists: none } = open(false, false)
  none.addTotal('large', none.stamp, { total: 900, isEstimate: false })
  assert.equal(none.get('large', none.stamp), undefined)
})

test('anchors keep a minimum distance from each other', () => {
  const { lists } = open(false)
  for (let offset = 200; offset < 2000; offset += 20)
    lists.addAnchor('a', lists.stamp, offset, ['{}', offset])
  assert.equal(lists.get('a', lists.stamp)?.anchors.size, 90)
})

test('the nearest anchor at or before an offset is found, whatever the order of insertion', () => {
  const anchors = new Anchors()
  assert.equal(anchors.before(1_000_000), undefined)
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 50 }), { maxLength: 40 }), fc.nat({ max: 60 }), (offsets, target) => {
      const anchors = new Anchors()
      for (const offset of offsets) anchors.add({ offset, position: [offset] })
      const nearest = offsets.filter(offset => offset <= target).sort((a, b) => b - a)[0]
      assert.equal(anchors.before(target)?.offset, nearest)
      assert.equal(anchors.size, new Set(offsets).size)
    }),
  )
})

test('a later anchor at the same offset replaces the earlier one', () => {
  const anchors = new Anchors()
  anchors.add({ offset: 100, position: [1] })
  anchors.add({ offset: 100, position: [2] })
  assert.deepEqual(anchors.before(100)?.position, [2])
})

test('when there are too many anchors, every second one is dropped and the others stay valid', () => {
  const anchors = new Anchors()
  for (let offset = 0; offset <= 10_000; offset++) anchors.add({ offset, position: [offset] })
  assert.equal(anchors.size, 5001)
  for (const offset of [3, 4999, 10_000]) {
    const anchor = anchors.before(offset)
    assert.deepEqual(anchor?.position, [anchor?.offset])
    assert.ok(offset - (anchor?.offset ?? 0) <= 1)
  }
})
