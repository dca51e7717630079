/** Limits on attempts by account, by address, and by the pair of both. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { RateCounters } from '../../../../src/engine/cluster/cluster.ts'
import { memoryCounters } from '../../../../src/engine/cluster/memory-counters.ts'
import { createThrottle } from '../../../../src/identity/accounts/sign-in/throttle.ts'

const allowances = {
  pair: { attempts: 3, windowSeconds: 60 },
  account: { attempts: 5, windowSeconds: 120 },
  address: { attempts: 6, windowSeconds: 60 },
}

/** The time in milliseconds: windows of a minute, of two and of an hour begin here. */
const start = 1_800_000_000_000

function steppedClock() {
  let time = start
  return {
    now: () => time,
    advance(milliseconds: number) {
      time += milliseconds
    },
  }
}

function throttleAt(now: () => number, counters: RateCounters = memoryCounters({ now }), name = 'attempt') {
  return createThrottle({ name, allowances, counters, now })
}

const fourthWaits = [undefined, undefined, undefined, 60]

async function inTurn<T>(values: readonly T[], take: (value: T) => Promise<number | undefined>) {
  const waits: (number | undefined)[] = []
  for (const value of values) waits.push(await take(value))
  return waits
}

test('a pair, an account and an address have their own limits; the longest wait is returned', async () => {
  const { now, advance } = steppedClock()
  const { take } = throttleAt(now)
  assert.deepEqual(await inTurn([1, 2, 3, 4], () => take('ada', 'a')), fourthWaits)
  assert.deepEqual(await inTurn([1, 2, 3], () => take('ada', 'b')), [undefined, undefined, 120])
  assert.deepEqual(await inTurn([1, 2, 3, 4], at => take(`other ${at}`, 'a')), fourthWaits)
  advance(59_999)
  assert.equal(await take('new', 'a'), 1)
  advance(1)
  assert.equal(await take('new', 'a'), undefined)
  assert.equal(await take('ada', 'c'), 60)
  advance(60_000)
  assert.equal(await take('ada', 'c'), undefined)
})

test('success refunds one attempt of the account and the address, and all attempts of the pair', async () => {
  const { take, succeed } = throttleAt(steppedClock().now)
  for (let count = 0; count < 20; count++) {
    assert.equal(await take('ada', 'a'), undefined)
    succeed('ada', 'a')
  }
  for (let count = 0; count < 3; count++) await take('ada', 'a')
  succeed('ada', 'a')
  // Two of the three still count for the account: a success in between does not clear another client’s attempts.
  assert.deepEqual(await inTurn([1, 2, 3], () => take('ada', 'b')), [undefined, undefined, undefined])
  assert.equal(await take('ada', 'c'), 120)
})

test('success clears the attempts of its pair', async () => {
  const { take, succeed } = throttleAt(steppedClock().now)
  for (let count = 0; count < 3; count++) await take('ada', 'a')
  succeed('ada', 'a')
  assert.deepEqual(await inTurn([1, 2, 3], () => take('ada', 'a')), [undefined, undefined, undefined])
})

test('an attempt that one limit refuses does not count towards the others', async () => {
  const { take } = throttleAt(steppedClock().now)
  for (let count = 0; count < 50; count++) await take('ada', 'a')
  // Three counted for the account, and three for the address.
  assert.deepEqual(await inTurn([1, 2, 3], () => take('ada', 'b')), [undefined, undefined, 120])
  assert.deepEqual(await inTurn([1, 2, 3, 4], at => take(`other ${at}`, 'a')), fourthWaits)
})

test('a thousand concurrent attempts get no more than the limit, on asynchronous counters', async () => {
  const memory = memoryCounters(steppedClock())
  const later: RateCounters = {
    ...memory,
    take: async (key, limit, cost, window) => ({ ...memory.take(key, limit, cost, window) }),
  }
  const nodes = [1, 2, 3].map(() => throttleAt(steppedClock().now, later))
  const waits = await Promise.all(
    Array.from({ length: 1000 }, (_, at) => nodes[at % 3]?.take('ada', 'a') ?? Promise.reject(new Error())),
  )
  assert.equal(waits.filter(wait => wait === undefined).length, 3)
})

test('a thousand concurrent attempts get exactly the limit, on synchronous counters', async () => {
  const { take } = throttleAt(steppedClock().now)
  const waits = await Promise.all(Array.from({ length: 1000 }, () => take('ada', 'a')))
  assert.equal(waits.filter(wait => wait === undefined).length, 3)
})

test('throttles with different names do not share counters', async () => {
  const { now } = steppedClock()
  const counters = memoryCounters({ now })
  const [one, other] = ['attempt', 'mail'].map(name => throttleAt(now, counters, name))
  for (let count = 0; count < 5; count++) await one?.take('ada', 'a')
  assert.equal(await other?.take('ada', 'a'), undefined)
})

test('in any order, no pair gets more attempts in a window than its limit', async () => {
  const attempt = fc.record({
    account: fc.constantFrom('a', 'b', 'c'),
    address: fc.constantFrom('x', 'y'),
    wait: fc.nat(30_000),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(attempt, { maxLength: 60 }), async attempts => {
      const { now, advance } = steppedClock()
      const { take } = throttleAt(now)
      const granted = new Map<string, number>()
      for (const { account, address, wait } of attempts) {
        advance(wait)
        const window = Math.floor(now() / 1000 / allowances.pair.windowSeconds)
        if ((await take(account, address)) !== undefined) continue
        const key = `${account} ${address} ${window}`
        const count = (granted.get(key) ?? 0) + 1
        granted.set(key, count)
        assert.ok(count <= allowances.pair.attempts)
      }
    }),
  )
})
