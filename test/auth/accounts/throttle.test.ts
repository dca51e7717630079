/** How many attempts there are, by whom and from where. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createThrottle } from '../../../src/auth/accounts/throttle.ts'

const allowances = {
  pair: { attempts: 3, window: 60_000 },
  account: { attempts: 5, window: 120_000 },
  address: { attempts: 6, window: 60_000 },
}

function clock() {
  let time = 1_000_000
  return {
    now: () => time,
    pass(milliseconds: number) {
      time += milliseconds
    },
  }
}

test('a pair, an account and an address have their own bounds; the longest wait is told', () => {
  const { now, pass } = clock()
  const throttle = createThrottle(allowances, now)
  const take = (account: string, address: string) => throttle.take(account, address)
  assert.deepEqual(
    [1, 2, 3, 4].map(() => take('ada', 'a')),
    [undefined, undefined, undefined, 60],
  )
  assert.deepEqual(
    [1, 2, 3].map(() => take('ada', 'b')),
    [undefined, undefined, 120],
  )
  assert.deepEqual(
    [1, 2, 3, 4].map(at => take(`other ${at}`, 'a')),
    [undefined, undefined, undefined, 60],
  )
  pass(59_999)
  assert.equal(take('new', 'a'), 1)
  pass(1)
  assert.equal(take('new', 'a'), undefined)
  assert.equal(take('ada', 'c'), 60)
  pass(60_000)
  assert.equal(take('ada', 'c'), undefined)
})

test('success forgives the pair, and gives back only itself elsewhere', () => {
  const throttle = createThrottle(allowances, clock().now)
  for (let count = 0; count < 20; count++) {
    assert.equal(throttle.take('ada', 'a'), undefined)
    throttle.succeed('ada', 'a')
  }
  for (let count = 0; count < 3; count++) throttle.take('ada', 'a')
  throttle.succeed('ada', 'a')
  // Two of those three still count for the account: one attacker cannot clean up behind another's success.
  assert.deepEqual(
    [1, 2, 3].map(() => throttle.take('ada', 'b')),
    [undefined, undefined, undefined],
  )
  assert.equal(throttle.take('ada', 'c'), 120)
})

test('whatever the order, no pair has more failures in a window than it may', () => {
  const attempt = fc.record({
    account: fc.constantFrom('a', 'b', 'c'),
    address: fc.constantFrom('x', 'y'),
    wait: fc.nat(30_000),
  })
  fc.assert(
    fc.property(fc.array(attempt, { maxLength: 60 }), attempts => {
      const { now, pass } = clock()
      const throttle = createThrottle(allowances, now)
      const granted = new Map<string, { start: number; count: number }>()
      for (const { account, address, wait } of attempts) {
        pass(wait)
        if (throttle.take(account, address) !== undefined) continue
        const key = `${account} ${address}`
        const seen = granted.get(key)
        const current =
          seen && now() < seen.start + allowances.pair.window ? seen : { start: now(), count: 0 }
        current.count++
        granted.set(key, current)
        assert.ok(current.count <= allowances.pair.attempts)
      }
    }),
  )
})
