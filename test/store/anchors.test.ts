/** Where deep pages begin: in the list that is asked for, of whom it is asked for, while nothing before has moved. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { GuardedList } from '../../src/plan/guarded.ts'
import type { PageWindow } from '../../src/plan/plan.ts'
import { AnchoredLists, Anchors } from '../../src/store/anchors.ts'

const window: PageWindow = { kind: 'page', offset: 0, limit: 1, total: 'none' }

function listsOf(personal: boolean): AnchoredLists {
  return new AnchoredLists({ personal } as GuardedList, window)
}

const inputs = (args: readonly (number | string)[], userId: number | null = 1) => ({
  args,
  userId,
  slots: [],
})

test('anchors belong to the arguments, but not to the page', () => {
  const lists = listsOf(false)
  const own = lists.of(inputs([500, 20, 'news']), 1)
  assert.equal(lists.of(inputs([700, 30, 'news']), 1), own)
  assert.notEqual(lists.of(inputs([500, 20, 'sport']), 1), own)
})

test('where the rows depend on who asks, so do the anchors, and nowhere else', () => {
  const [personal, shared] = [listsOf(true), listsOf(false)]
  assert.notEqual(personal.of(inputs([0, 20], 1), 1), personal.of(inputs([0, 20], 2), 1))
  assert.notEqual(personal.of(inputs([0, 20], null), 1), personal.of(inputs([0, 20], 2), 1))
  assert.equal(personal.of(inputs([0, 20], 2), 1), personal.of(inputs([9, 20], 2), 1))
  assert.equal(shared.of(inputs([0, 20], 1), 1), shared.of(inputs([0, 20], 2), 1))
})

test('a change forgets the anchors of all lists', () => {
  const lists = listsOf(false)
  const [one, other] = [lists.of(inputs([0, 20, 'a']), 1), lists.of(inputs([0, 20, 'b']), 1)]
  one.add({ offset: 100, position: [7] })
  assert.equal(lists.of(inputs([0, 20, 'a']), 1).size, 1)
  assert.equal(lists.of(inputs([0, 20, 'a']), 2).size, 0)
  assert.notEqual(lists.of(inputs([0, 20, 'b']), 2), other)
})

test('the nearest anchor at or before an offset is found, whatever the order they came in', () => {
  const anchors = new Anchors()
  assert.equal(anchors.before(1_000_000), undefined)
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 50 }), { maxLength: 40 }), fc.nat({ max: 60 }), (offsets, asked) => {
      const made = new Anchors()
      for (const offset of offsets) made.add({ offset, position: [offset] })
      const nearest = offsets.filter(offset => offset <= asked).sort((one, other) => other - one)[0]
      assert.equal(made.before(asked)?.offset, nearest)
      assert.equal(made.size, new Set(offsets).size)
    }),
  )
})

test('a later anchor at the same offset takes the place of the earlier one', () => {
  const anchors = new Anchors()
  anchors.add({ offset: 100, position: [1] })
  anchors.add({ offset: 100, position: [2] })
  assert.deepEqual(anchors.before(100)?.position, [2])
})
