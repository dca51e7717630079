/**
 * The measurement distinguishes quadratic from linear calls. It uses a fake clock, so no test depends on the machine.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { growthFault } from './measure.ts'

/** A call that takes `ms` milliseconds for each size, on a clock that reads the result of the call. */
function faultOf(ms: (size: number) => number, name = 'it') {
  const input = { name, bound: 8000, call: (size: number) => () => ms(size) }
  return growthFault(input, async run => Number(run()))
}

test('linear and n log n calls pass, even if they are slow', async () => {
  assert.equal(await faultOf(n => n / 20), undefined)
  assert.equal(await faultOf(n => (n * Math.log2(n)) / 200), undefined)
})

test('a quadratic call fails, even if a linear part dominates short inputs', async () => {
  assert.equal(
    await faultOf(n => n ** 2 / 1e6, 'square'),
    'square grows faster than its input. 125: 0.0 ms, 500: 0.3 ms, 2000: 4.0 ms, 4000: 16.0 ms, 8000: 64.0 ms',
  )
  assert.match((await faultOf(n => n / 1e5 + n ** 2 / 1e6, 'mixed')) ?? '', /^mixed grows/)
})

test('a quadratic call fails, even if every size is slow at first', async () => {
  const measured = new Set<number>()
  const cold = (n: number) => {
    const ms = measured.has(n) ? n ** 2 / 1e6 : 3 + n ** 2 / 1e6
    measured.add(n)
    return ms
  }
  assert.match((await faultOf(cold)) ?? '', /grows faster/)
})

test('an occasional delay passes', async () => {
  let calls = 0
  assert.equal(await faultOf(n => n / 500 + (calls++ === 4 ? 1000 : 0)), undefined)
})

test('a single increase passes', async () => {
  assert.equal(await faultOf(n => n * (n > 4000 ? 0.02 : 0.004)), undefined)
})

test('a fast call passes, however it grows', async () => {
  assert.equal(await faultOf(n => n ** 2 / 1e7), undefined)
})

test('a call that takes seconds fails immediately', async () => {
  assert.equal(await faultOf(() => 3000), 'it takes too long. 125: 3000.0 ms')
})

test('the default clock is CPU time', async () => {
  const call = (size: number) => () => size
  assert.equal(await growthFault({ name: 'short', bound: 640, call }), undefined)
})
