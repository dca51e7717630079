import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../src/base/errors.ts'
import { anonymous, app, user } from '../../../src/base/principal.ts'
import type { RateCounters } from '../../../src/engine/cluster/cluster.ts'
import { memoryCounters } from '../../../src/engine/cluster/memory-counters.ts'
import { budgetAddress, createRateLimits, type RateLimited } from '../../../src/engine/cluster/rate-limits.ts'

const minuteMs = 60_000
/** The start of a minute. */
const start = 1_800_000_000_000

function clock(at = start) {
  const time = { at, now: () => time.at }
  return time
}

function headersOf(text: string): Record<string, string> {
  const lines = text.split('\r\n')
  assert.equal(lines.pop(), '', 'every line is terminated')
  return Object.fromEntries(lines.map(line => line.split(': ')))
}

test('a budget counts down to zero, is then refused, and is full again in the next window', () => {
  const time = clock(start + 15_000)
  const counters = memoryCounters(time)
  const take = () => {
    const { granted, limit, remaining, resetAt } = counters.take('a', 2, 1) as Awaited<
      ReturnType<typeof counters.take>
    >
    return [granted, limit, remaining, resetAt]
  }
  const resetAt = (start + minuteMs) / 1000
  assert.deepEqual(take(), [true, 2, 1, resetAt])
  assert.deepEqual(take(), [true, 2, 0, resetAt])
  assert.deepEqual(take(), [false, 2, 0, resetAt])
  time.at = start + minuteMs - 1
  assert.deepEqual(take(), [false, 2, 0, resetAt])
  time.at = start + minuteMs
  assert.deepEqual(take(), [true, 2, 1, resetAt + 60])
})

test('a clock that is set back extends a refusal by at most one window', () => {
  const time = clock()
  const counters = memoryCounters(time)
  const granted = () => (counters.take('a', 1, 1) as { granted: boolean }).granted
  assert.equal(granted(), true)
  assert.equal(granted(), false)
  time.at = start - 10 * minuteMs
  assert.equal(granted(), true)
})

test('a cost above the remaining budget is refused and takes nothing', () => {
  const counters = memoryCounters(clock())
  const take = (cost: number) =>
    ({ ...counters.take('a', 10, cost) }) as { granted: boolean; remaining: number }
  assert.equal(take(8).granted, true)
  assert.deepEqual([take(3).granted, take(2).granted], [false, true])
})

test('windows of different lengths have separate counters and start at multiples of their length', () => {
  const time = clock(start + 100_000)
  const counters = memoryCounters(time)
  const take = (window?: number) => ({ ...counters.take('a', 2, 1, window) })
  const seconds = start / 1000
  assert.deepEqual([take().remaining, take(900).remaining, take(900).remaining], [1, 1, 0])
  assert.deepEqual([take(60).resetAt, take(900).resetAt], [seconds + 120, seconds + 900])
  assert.equal(take(900).granted, false)
  time.at = start + 899_999
  assert.equal(take(900).granted, false)
  time.at = start + 900_000
  assert.equal(take(900).granted, true)
})

test('a refund can be taken again, and never exceeds what was taken', () => {
  const time = clock()
  const counters = memoryCounters(time)
  const remaining = (cost: number) => counters.take('a', 5, cost).remaining
  assert.equal(remaining(3), 2)
  counters.give('a', 2)
  assert.equal(remaining(0), 4)
  counters.give('a', 100)
  counters.give('unknown', 100)
  assert.equal(remaining(0), 5)
  assert.equal(counters.take('unknown', 5, 0).remaining, 5)
  remaining(4)
  time.at += minuteMs
  counters.give('a', 4)
  assert.equal(remaining(0), 5, 'nothing was taken in the new window')
})

test('each key has its own budget, and at most maxKeys are kept', () => {
  const counters = memoryCounters({ now: clock().now, maxKeys: 3 })
  const remaining = (key: string) => (counters.take(key, 10, 1) as { remaining: number }).remaining
  assert.deepEqual(['a', 'b', 'a', 'c'].map(remaining), [9, 9, 8, 9])
  assert.equal(remaining('d'), 9)
  assert.equal(remaining('a'), 9, 'the oldest key was evicted')
  assert.equal(remaining('c'), 8)
})

test('every response has headers with the limit, the remaining budget and the reset time', () => {
  const time = clock(start + 15_400)
  const limits = createRateLimits({ user: 1000, address: 120 }, memoryCounters(time), time.now)
  const answer = { headerLines: '' }
  limits.draw(user(7, 'user', 'all'), answer)
  assert.deepEqual(headersOf(answer.headerLines), {
    'X-RateLimit-Limit': '1000',
    'X-RateLimit-Remaining': '999',
    'X-RateLimit-Reset': String((start + minuteMs) / 1000),
    RateLimit: '"user";r=999;t=45;limit=1000;remaining=999;reset=45',
    'RateLimit-Policy': '"user";q=1000;w=60',
  })
  limits.draw(anonymous('192.0.2.1'), answer)
  assert.equal(headersOf(answer.headerLines)['RateLimit-Policy'], '"address";q=120;w=60')
})

test('a request beyond the limit is RATE_LIMITED with Retry-After and the headers, and is counted', () => {
  const time = clock(start + 59_999)
  const limits = createRateLimits({ user: 1, address: 1 }, memoryCounters(time), time.now)
  const answer = { headerLines: '' }
  const somebody = anonymous('192.0.2.1')
  limits.draw(somebody, answer)
  assert.throws(
    () => limits.draw(somebody, answer),
    (error: unknown) =>
      error instanceof ApiError && error.code === 'RATE_LIMITED' && error.headers?.['Retry-After'] === '1',
  )
  assert.equal(headersOf(answer.headerLines)['X-RateLimit-Remaining'], '0')
  assert.equal(limits.counts.refused, 1)
  limits.draw(anonymous('192.0.2.2'), answer)
  limits.draw(user(1, 'user', 'all'), answer)
})

test('a reply draws one request for each whole mebibyte, and at most what remains', () => {
  const mebibyte = 1024 * 1024
  const limits = createRateLimits({ user: 10, address: 1 }, memoryCounters(clock()))
  const answer: RateLimited = { headerLines: '' }
  const ann = user(1, 'user', 'all')
  limits.draw(ann, answer)
  const remainingAfter = (reply: string) => {
    limits.drawForReply(ann, answer, reply)
    return Number(headersOf(answer.headerLines)['X-RateLimit-Remaining'])
  }
  assert.equal(remainingAfter('x'.repeat(mebibyte - 1)), 9)
  assert.equal(remainingAfter('x'.repeat(mebibyte)), 8)
  assert.equal(remainingAfter('雪'.repeat(mebibyte)), 5)
  assert.equal(remainingAfter('x'.repeat(16 * mebibyte)), 0)
  assert.equal(limits.counts.refused, 0)
  assert.throws(() => limits.draw(ann, answer), { code: 'RATE_LIMITED' })
})

test('an app without a user has its own budget of the size of a user’s', () => {
  const limits = createRateLimits({ user: 1000, address: 1 }, memoryCounters(clock()))
  const answer: RateLimited = { headerLines: '' }
  const [one, other] = [app('app_one', new Set()), app('app_other', new Set())]
  for (const left of [999, 998]) {
    limits.draw(one, answer)
    assert.deepEqual([answer.budget?.limit, answer.budget?.remaining], [1000, left])
  }
  limits.draw(other, answer)
  assert.equal(answer.budget?.remaining, 999)
  limits.give(one)
  limits.draw(one, answer)
  assert.equal(answer.budget?.remaining, 998)
})

test('a limit that is off counts nothing and adds no headers', () => {
  const limits = createRateLimits({ user: 'off', address: 1 }, memoryCounters(clock()))
  const answer = { headerLines: '' }
  for (let at = 0; at < 5; at++) limits.draw(user(7, 'user', 'all'), answer)
  assert.equal(answer.headerLines, '')
})

test('asynchronous counters are awaited', async () => {
  const budget = { limit: 1, remaining: 0, resetAt: start / 1000 + 60, granted: false }
  const limits = createRateLimits(
    { user: 1, address: 1 },
    { take: async () => budget, give() {} },
    () => start,
  )
  const answer = { headerLines: '' }
  await assert.rejects(async () => limits.draw(user(7, 'user', 'all'), answer), { code: 'RATE_LIMITED' })
  assert.equal(headersOf(answer.headerLines)['X-RateLimit-Limit'], '1')
})

test('Retry-After is at least one second, whatever the clock of the counters', async () => {
  const budget = { limit: 1, remaining: 0, resetAt: start / 1000 - 5, granted: false }
  const limits = createRateLimits(
    { user: 1, address: 1 },
    { take: async () => budget, give() {} },
    () => start,
  )
  const answer = { headerLines: '' }
  await assert.rejects(async () => limits.draw(user(7, 'user', 'all'), answer), {
    headers: { 'Retry-After': '1' },
  })
  assert.match(headersOf(answer.headerLines).RateLimit ?? '', /;t=1;/)
})

const addresses = [
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['unknown', 'unknown'],
] as const

for (const [address, budget] of addresses) {
  test(`the address ${address} draws from the budget of ${budget}`, () =>
    assert.equal(budgetAddress(address), budget))
}

test('a draw with a larger cost takes all of it or nothing', () => {
  const limits = createRateLimits({ user: 10, address: 10 }, memoryCounters(clock()))
  const answer: RateLimited = { headerLines: '' }
  const somebody = anonymous('192.0.2.1')
  limits.draw(somebody, answer)
  limits.draw(somebody, answer, 6)
  assert.equal(answer.budget?.remaining, 3)
  assert.throws(() => limits.draw(somebody, answer, 4), /used up/)
  assert.equal(answer.budget?.remaining, 3)
  limits.draw(somebody, answer, 3)
  assert.equal(headersOf(answer.headerLines)['X-RateLimit-Remaining'], '0')
})

/** How ratelimit-header-parser 0.1.0 reads `RateLimit`: it takes no other header where there is this one. */
function readAsParser(header: string) {
  const numberOf = (pattern: RegExp) => Number.parseInt(pattern.exec(header)?.[1] ?? '', 10)
  return {
    limit: numberOf(/limit\s*=\s*(\d+)/i),
    remaining: numberOf(/remaining\s*=\s*(\d+)/i),
    reset: numberOf(/reset\s*=\s*(\d+)/i),
  }
}

test('RateLimit is read by clients of the newest draft, and by the parser of the older ones', () => {
  const time = clock(start + 15_000)
  const limits = createRateLimits({ user: 50, address: 120 }, memoryCounters(time), time.now)
  const answer: RateLimited = { headerLines: '' }
  limits.draw(user(7, 'user', 'all'), answer, 8)
  const { RateLimit = '' } = headersOf(answer.headerLines)
  assert.deepEqual(readAsParser(RateLimit), { limit: 50, remaining: 42, reset: 45 })
  // A list of one item with parameters (RFC 9651, 3.1 and 3.3): of those, draft 10 reads `r` and `t`.
  const [item, ...parameters] = RateLimit.split(';')
  assert.equal(item, '"user"')
  for (const parameter of parameters) assert.match(parameter, /^[a-z]+=\d+$/)
  assert.deepEqual(parameters.slice(0, 2), ['r=42', 't=45'])
})

test('the own limits of an app and of a route hold unless all limits are off', async () => {
  const drawn = async (settings: Parameters<typeof createRateLimits>[0]) => {
    const limits = createRateLimits(settings, memoryCounters(clock()), () => start)
    const appBudget = { key: 'users-of-app:a', limit: 1 }
    const delegate = { app: { id: 1, name: 'One' }, grant: null, thirdParty: true, appBudget }
    const principal = user(1, 'user', 'all', 'user:1:app:a', Number.POSITIVE_INFINITY, delegate)
    const route = { name: 'hook', rateLimit: { requests: 1, seconds: 60 } }
    const granted = async (draw: () => unknown) => {
      try {
        await draw()
        return true
      } catch {
        return false
      }
    }
    const results: boolean[] = []
    for (let n = 0; n < 2; n++) {
      results.push(await granted(() => limits.draw(principal, { headerLines: '' })))
      results.push(await granted(() => limits.drawRoute(route)))
    }
    return results
  }
  for (const settings of [
    { user: 'off', app: 'off', address: 1 },
    { user: 1000, app: 'off', address: 'off' },
    { user: 'off', app: 9, address: 'off' },
  ] as const)
    assert.deepEqual(await drawn(settings), [true, true, false, false], JSON.stringify(settings))
  assert.deepEqual(await drawn({ user: 'off', app: 'off', address: 'off' }), [true, true, true, true])
})

test('an app draws from its own limit too, whether the counters answer at once or later', async () => {
  for (const isLater of [false, true]) {
    const memory = memoryCounters(clock())
    const counters: RateCounters = {
      ...memory,
      take: (...request) =>
        isLater ? Promise.resolve({ ...memory.take(...request) }) : memory.take(...request),
    }
    const limits = createRateLimits({ user: 3, app: 4, address: 1 }, counters, () => start)
    const appBudget = { key: 'users-of-app:a', limit: undefined }
    const through = (id: number) => {
      const delegate = { app: { id: 1, name: 'One' }, grant: null, thirdParty: true, appBudget }
      return user(id, 'user', 'all', `user:${id}:app:a`, Number.POSITIVE_INFINITY, delegate)
    }
    const draw = async (id: number, cost?: number) => {
      const answer: RateLimited = { headerLines: '' }
      await limits.draw(through(id), answer, cost)
      const { 'X-RateLimit-Limit': limit, 'X-RateLimit-Remaining': remaining } = headersOf(answer.headerLines)
      return [limit, remaining]
    }
    assert.deepEqual(await draw(1, 2), ['3', '1'])
    assert.deepEqual(await draw(2), ['4', '1'])
    const refusal = { code: 'RATE_LIMITED', message: /of the app for all of its users/ }
    await assert.rejects(async () => draw(3, 2), refusal)
    // What was refused has been given back to the user.
    limits.give(through(2))
    assert.deepEqual(await draw(3, 2), ['4', '0'])
    await assert.rejects(async () => draw(1), refusal)
    // A large reply takes what is left of both.
    limits.give(through(1))
    const answer: RateLimited = { headerLines: '' }
    await limits.draw(through(4), answer)
    await limits.drawForReply(through(4), answer, 'x'.repeat(5 * 1024 * 1024))
    assert.match(answer.headerLines, /RateLimit: "app";r=0;/)
    await assert.rejects(async () => draw(2), refusal)
    assert.equal(limits.counts.refused, 3)
  }
})
