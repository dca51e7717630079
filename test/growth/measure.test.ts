/** That the measure tells a quadratic call from a linear one. Its clock is the calls' own: no test depends on the machine. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { growthFault } from './measure.ts'

/** A call that takes `ms` milliseconds for each size, on a clock that reads what the call returns. */
function faultOf(ms: (size: number) => number, name = 'it') {
  const input = { name, bound: 8000, call: (size: number) => () => ms(size) }
  return growthFault(input, async run => Number(run()))
}

test('linear and n log n pass, though they take long', async () => {
  assert.equal(await faultOf(n => n / 20), undefined)
  assert.equal(await faultOf(n => (n * Math.log2(n)) / 200), undefined)
})

test('quadratic does not, also where most of a short input is linear', async () => {
  assert.equal(
    await faultOf(n => n ** 2 / 1e6, 'square'),
    'square grows faster than its input. 125: 0.0 ms, 500: 0.3 ms, 2000: 4.0 ms, 4000: 16.0 ms, 8000: 64.0 ms',
  )
  assert.match((await faultOf(n => n / 1e5 + n ** 2 / 1e6, 'mixed')) ?? '', /^mixed grows/)
})

test('quadratic does not, though every size is slow the first time', async () => {
  const known = new Set<number>()
  const cold = (n: number) => {
    const ms = known.has(n) ? n ** 2 / 1e6 : 3 + n ** 2 / 1e6
    known.add(n)
    return ms
  }
  assert.match((await faultOf(cold)) ?? '', /grows faster/)
})

test('what is slow now and then passes', async () => {
  let calls = 0
  assert.equal(await faultOf(n => n / 500 + (calls++ === 4 ? 1000 : 0)), undefined)
})

test('a time that grows once passes', async () => {
  assert.equal(await faultOf(n => n * (n > 4000 ? 0.02 : 0.004)), undefined)
})

test('what is over in no time is harmless', async () => {
  assert.equal(await faultOf(n => n ** 2 / 1e7), undefined)
})

test('what takes seconds is a fault at once', async () => {
  assert.equal(await faultOf(() => 3000), 'it takes too long. 125: 3000.0 ms')
})

test('processor time is the default', async () => {
  const call = (size: number) => () => size
  assert.equal(await growthFault({ name: 'short', bound: 640, call }), undefined)
})
