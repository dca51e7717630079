/** The answer cache: entries are found while they are valid, and memory stays bounded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ItemAnswer } from '../../../../src/engine/plan/answer.ts'
import { Answers, answerKey } from '../../../../src/engine/store/read/answers.ts'
import { cases } from '../../../cases.ts'

const item = (text: string | null): ItemAnswer => ({ kind: 'item', text })

/** The cached answers of the keys. */
function keysFound(
  shape: ReturnType<Answers['shape']>,
  keys: Iterable<number | string>,
  stamp = 1,
): ItemAnswer[] {
  return [...keys].flatMap(key => (shape.get(key, stamp) as ItemAnswer | undefined) ?? [])
}

function* upTo(count: number): Generator<number> {
  for (let n = 0; n < count; n++) yield n
}

test('an answer is found by its shape and key while the versions are unchanged', () => {
  const all = new Answers(100_000)
  const [first, second] = [all.shape(), all.shape()]
  const answer = item('a')
  first.set(1, 7, answer)
  assert.equal(first.get(1, 7), answer)
  assert.equal(first.get(1, 8), undefined)
  assert.equal(first.get('1', 7), undefined)
  assert.equal(second.get(1, 7), undefined)
})

test('an old answer is found while the versions are unchanged, and not after', () => {
  const shape = new Answers(100_000).shape()
  shape.set('kept', 7, item('a'))
  shape.set('stale', 7, item('b'))
  for (const n of upTo(60)) shape.set(`other${n}`, 7, item('x'.repeat(500)))
  assert.equal(shape.get('stale', 8), undefined)
  assert.equal(shape.get('kept', 7)?.text, 'a')
  assert.equal(shape.get('kept', 8), undefined)
})

test('a cache of size zero stores nothing, and a too large answer is not stored', () => {
  const none = new Answers(0).shape()
  none.set(1, 1, item(null))
  assert.equal(none.get(1, 1), undefined)
  const shape = new Answers(100_000).shape()
  shape.set(1, 1, item('x'.repeat(5_000)))
  assert.equal(shape.get(1, 1), undefined)
  shape.set(2, 1, item('x'.repeat(1_000)))
  assert.ok(shape.get(2, 1))
})

test('adjacent numbers and texts that look alike have different keys', () => {
  const all = [[1, 23], [12, 3], [123], ['1,23'], [[1, 23]], [1, '23'], [1, 2, 3]]
  assert.equal(new Set(all.map(args => answerKey(args, null, false))).size, all.length)
})

test('an answer that is read often outlives answers that are read once', () => {
  const shape = new Answers(100_000).shape()
  shape.set('often', 1, item('kept'))
  for (const n of upTo(5_000)) {
    shape.set(n, 1, item('x'.repeat(100)))
    if (n % 20 === 0) assert.equal(shape.get('often', 1)?.text, 'kept')
  }
  assert.equal(shape.get(0, 1), undefined)
})

/** Stores `count` different answers, each of which is rendered after it was stored. */
function flood(
  all: Answers,
  count: number,
  text: string,
  rendered: number,
  key: (n: number) => number | string,
) {
  const shape = all.shape()
  let most = 0
  for (const n of upTo(count)) {
    const answer = item(text)
    shape.set(key(n), 1, answer)
    answer.rendered = { bytes: rendered }
    most = Math.max(most, all.bound.weight)
  }
  return { shape, most }
}

test('the memory for random keys and answers stays within the bound', () => {
  const maxBytes = 400_000
  const sizes = fc.record({
    text: fc.nat({ max: 4_000 }),
    rendered: fc.nat({ max: 20_000 }),
    key: fc.nat({ max: 2_000 }),
  })
  fc.assert(
    fc.property(sizes, ({ text, rendered, key }) => {
      const all = new Answers(maxBytes)
      const keyAt = (n: number) => `${n}${'k'.repeat(key)}`
      const { shape, most } = flood(all, 1_500, 'x'.repeat(text), rendered, keyAt)
      assert.ok(most <= maxBytes * 1.2, `${most} bytes`)
      const keptKeys = keysFound(shape, [...upTo(1_500)].map(keyAt))
      const usedBytes = keptKeys.length * (2 * (text + key) + rendered)
      assert.ok(usedBytes <= maxBytes * 1.2, `${keptKeys.length} answers of ${usedBytes} bytes`)
      assert.ok(keptKeys.length > 0)
    }),
    cases(60, 30),
  )
})

test('the rendered form of an answer is counted once, even if the answer is only found later', () => {
  const all = new Answers(1_000_000)
  const shape = all.shape()
  const late = item('a')
  shape.set(1, 1, late)
  shape.set(2, 1, item('b'))
  const before = all.bound.weight
  late.rendered = { bytes: 5_000 }
  for (const _ of upTo(3)) shape.get(1, 1)
  assert.equal(all.bound.weight, before + 5_000)
  shape.set(1, 2, item('a'))
  assert.equal(all.bound.weight, before)
})

test('keys are equal only for equal arguments and, for personal answers, equal users', () => {
  const argument = fc.oneof(
    fc.string(),
    fc.integer(),
    // Arguments are JSON values, which are finite.
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
  )
  const args = fc.array(argument, { maxLength: 3 })
  const user = fc.option(fc.nat({ max: 3 }))
  fc.assert(
    fc.property(args, args, user, user, fc.boolean(), (a, b, ann, ben, personal) => {
      const equal = JSON.stringify(a) === JSON.stringify(b) && (!personal || ann === ben)
      assert.equal(answerKey(a, ann, personal) === answerKey(b, ben, personal), equal)
    }),
    {
      examples: [
        [[1, 2], ['1,2'], null, null, false],
        [[1], ['1'], 1, 1, false],
        [[1], [], 1, 11, true],
      ],
    },
  )
})

test('if answers are not read again, only a sample of new ones is stored, until answers are read again', () => {
  const shape = new Answers(10_000_000).shape()
  const remember = (from: number, count: number) => {
    const keys = Array.from({ length: count }, (_, n) => from + n)
    for (const key of keys) shape.set(key, 1, item('a'))
    return keys
  }
  remember(0, 256)
  const sampled = remember(1_000, 800)
  assert.equal(keysFound(shape, sampled).length, 100)
  for (const key of upTo(8 * 256)) {
    shape.set(10_000 + key, 1, item('a'))
    shape.get(10_000 + key, 1)
  }
  const all = remember(20_000, 100)
  assert.equal(keysFound(shape, all).length, 100)
})

test('an answer that is read often is stored even if others of its shape are not', () => {
  const shape = new Answers(10_000_000).shape()
  for (const key of upTo(1_000)) shape.set(key, 1, item('a'))
  let asks = 0
  while (shape.get('often', 1) === undefined) {
    shape.set('often', 1, item('b'))
    asks++
  }
  assert.ok(asks <= 8, `remembered after ${asks} asks`)
})
