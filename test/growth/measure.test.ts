/** That the measure tells a quadratic call from a linear one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { growthFault } from './measure.ts'

/** Takes time that `steps` says. */
function busy(steps: (size: number) => number) {
  return (size: number) => () => {
    const end = steps(size)
    let sum = 0
    for (let step = 0; step < end; step++) sum = (sum + step) | 0
    return sum
  }
}

test('linear and n log n pass, though they take long', async () => {
  const linear = { name: 'linear', bound: 8000, call: busy(n => n * 4000) }
  const almost = { name: 'n log n', bound: 8000, call: busy(n => n * 300 * Math.log2(n)) }
  assert.equal(await growthFault(linear), undefined)
  assert.equal(await growthFault(almost), undefined)
})

test('quadratic does not, also where most of a short input is linear', async () => {
  const square = { name: 'square', bound: 8000, call: busy(n => n * n) }
  const mixed = { name: 'mixed', bound: 8000, call: busy(n => n * 100 + n * n) }
  assert.match(
    (await growthFault(square)) ?? '',
    /^square grows faster than its input\. \d+: .* ms, \d+: .* ms/,
  )
  assert.match((await growthFault(mixed)) ?? '', /^mixed grows/)
})

test('a time that grows once passes', async () => {
  const jump = { name: 'jump', bound: 8000, call: busy(n => n * (n > 4000 ? 20_000 : 4000)) }
  assert.equal(await growthFault(jump), undefined)
})

test('what is over in no time is harmless', async () => {
  assert.equal(await growthFault({ name: 'short', bound: 640, call: busy(n => n * n) }), undefined)
})
