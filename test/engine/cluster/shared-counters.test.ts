import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import type { Budget, RateCounters } from '../../../src/engine/cluster/cluster.ts'
import { memoryCounters } from '../../../src/engine/cluster/memory-counters.ts'
import { counterMemory, sharedCounters } from '../../../src/engine/cluster/shared-counters.ts'

/** The start of a minute. */
const start = 1_800_000_000_000

function take(counters: RateCounters, key: string, limit: number, cost: number, window?: number): Budget {
  const {
    granted,
    remaining,
    resetAt,
    limit: statedLimit,
  } = counters.take(key, limit, cost, window) as Budget
  return { granted, remaining, resetAt, limit: statedLimit }
}

test('shared counters behave like the counters of a single node, whichever thread uses them', () => {
  const takes = fc.array(
    fc.record({
      by: fc.nat({ max: 1 }),
      kind: fc.constantFrom('take', 'take', 'take', 'give', 'note'),
      key: fc.constantFrom('a', 'b', 'user:1', ''),
      limit: fc.constantFrom(1, 3, 1_000_000_000),
      cost: fc.constantFrom(1, 1, 2, 5),
      window: fc.constantFrom(60, 60, 900),
      seconds: fc.constantFrom(0, 0, 1, 20, 61),
    }),
    { maxLength: 60 },
  )
  fc.assert(
    fc.property(takes, list => {
      let nowMs = start
      const now = () => nowMs
      const memory = counterMemory(1024)
      const threads = [sharedCounters(memory, { now }), sharedCounters(memory, { now })]
      const reference = memoryCounters({ now })
      for (const { by, kind, key, limit, cost, window, seconds } of list) {
        nowMs += seconds * 1000
        const thread = threads[by]
        assert.ok(thread)
        const { resetAt } = take(reference, key, limit, 0, window)
        for (const counters of [thread, reference]) {
          if (kind === 'give') counters.give(key, cost, window)
          if (kind === 'note') counters.setUsed(key, cost, resetAt - (cost === 5 ? window : 0), window)
        }
        assert.deepEqual(take(thread, key, limit, cost, window), take(reference, key, limit, cost, window))
      }
    }),
    { numRuns: 300 },
  )
})

test('windows of different lengths have separate budgets and start at multiples of their length', () => {
  let nowMs = start + 100_000
  const counters = sharedCounters(counterMemory(64), { now: () => nowMs })
  assert.equal(take(counters, 'a', 1, 1, 900).resetAt, start / 1000 + 900)
  assert.equal(take(counters, 'a', 1, 1).granted, true)
  nowMs = start + 899_000
  assert.equal(take(counters, 'a', 1, 1, 900).granted, false)
  nowMs = start + 900_000
  assert.equal(take(counters, 'a', 1, 1, 900).granted, true)
})

test('a thread whose clock is slightly behind counts in the window that another has started', () => {
  const memory = counterMemory(64)
  const ahead = sharedCounters(memory, { now: () => start + 60_000 })
  const behind = sharedCounters(memory, { now: () => start + 59_999 })
  assert.equal(take(behind, 'a', 2, 1).remaining, 1)
  assert.equal(take(ahead, 'a', 2, 1).remaining, 1)
  assert.deepEqual(take(behind, 'a', 2, 1), {
    granted: true,
    remaining: 0,
    resetAt: start / 1000 + 120,
    limit: 2,
  })
  assert.equal(take(ahead, 'a', 2, 1).granted, false)
})

test('a clock that is set back by hours starts a new window', () => {
  let nowMs = start + 7_200_000
  const counters = sharedCounters(counterMemory(64), { now: () => nowMs })
  assert.equal(take(counters, 'a', 1, 1).granted, true)
  nowMs = start
  assert.deepEqual(take(counters, 'a', 1, 1), {
    granted: true,
    remaining: 0,
    resetAt: start / 1000 + 60,
    limit: 1,
  })
})

test('in a full table, a new key replaces the one with the lowest use', () => {
  const counters = sharedCounters(counterMemory(8), { now: () => start })
  for (let key = 0; key < 8; key++) take(counters, `key ${key}`, 100, key + 1)
  assert.equal(take(counters, 'another', 100, 50).remaining, 50)
  assert.equal(take(counters, 'another', 100, 50).remaining, 0)
  for (let key = 1; key < 8; key++) {
    assert.equal(take(counters, `key ${key}`, 100, 0).remaining, 100 - (key + 1))
  }
})

test('a slot of an expired window is replaced first, and its new key starts with a full budget', () => {
  let nowMs = start
  const counters = sharedCounters(counterMemory(8), { now: () => nowMs })
  take(counters, 'old', 100, 99)
  nowMs += 60_000
  for (let key = 0; key < 7; key++) take(counters, `key ${key}`, 100, 1)
  assert.equal(take(counters, 'new', 100, 1).remaining, 99)
  assert.equal(take(counters, 'old', 100, 1).remaining, 99)
})

test('an update by another thread between read and compare-and-exchange is not lost', t => {
  const memory = counterMemory(64)
  const [firstCounters, secondCounters] = [
    sharedCounters(memory, { now: () => start }),
    sharedCounters(memory, { now: () => start }),
  ]
  take(firstCounters, 'a', 10, 1)
  take(secondCounters, 'a', 10, 1)
  const { compareExchange } = Atomics
  let isOver = false
  t.mock.method(Atomics, 'compareExchange', (...args: Parameters<typeof compareExchange>) => {
    if (!isOver) {
      isOver = true
      assert.equal(take(secondCounters, 'a', 10, 3).remaining, 5)
    }
    return compareExchange(...args)
  })
  assert.equal(take(firstCounters, 'a', 10, 1).remaining, 4)
  assert.ok(isOver)
  assert.equal(take(secondCounters, 'a', 10, 0).remaining, 4)
})

test('a key whose slot another thread has reused gets a new slot', () => {
  const memory = counterMemory(1)
  const [firstCounters, secondCounters] = [
    sharedCounters(memory, { now: () => start }),
    sharedCounters(memory, { now: () => start }),
  ]
  assert.equal(take(firstCounters, 'a', 10, 1).remaining, 9)
  assert.equal(take(secondCounters, 'b', 10, 5).remaining, 5)
  assert.equal(take(firstCounters, 'a', 10, 1).remaining, 9, 'unaffected by the other key')
})

test('of two slots, the one whose window ends first is replaced, however much of it is used', () => {
  const counters = sharedCounters(counterMemory(2), { now: () => start })
  take(counters, 'long', 100, 1, 900)
  take(counters, 'short', 100, 90)
  take(counters, 'new', 100, 1)
  assert.equal(take(counters, 'long', 100, 0, 900).remaining, 99)
})

test('concurrent threads together get exactly the limit of each key', async () => {
  const keys = ['a', 'b', 'c']
  const [threads, times, limit] = [4, 20_000, 30_000]
  const memory = counterMemory(1024)
  const workers = Array.from(
    { length: threads },
    () =>
      new Worker(new URL('taker.ts', import.meta.url), {
        workerData: { memory, keys, limit, times, startsAt: start },
      }),
  )
  await Promise.all(workers.map(worker => once(worker, 'message')))
  const answers = workers.map(worker => once(worker, 'message'))
  for (const worker of workers) worker.postMessage('go')
  const granted = (await Promise.all(answers)).map(([counts]) => counts as Record<string, number>)
  for (const key of keys) {
    const total = granted.reduce((sum, counts) => sum + (counts[key] ?? 0), 0)
    assert.equal(total, limit, key)
  }
  await Promise.all(workers.map(worker => worker.terminate()))
})
