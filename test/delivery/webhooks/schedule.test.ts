/** Retries: their delays, their end, and Retry-After. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryDelayMs } from '../../../src/delivery/consumer/back-off.ts'
import { Timetable } from '../../../src/delivery/consumer/timetable.ts'
import { longestDelayMs, parseRetryAfter, retryAt } from '../../../src/delivery/webhooks/schedule.ts'
import { fakeClock } from './clock.ts'

const secondMs = 1000
const hourMs = 3600 * secondMs
const start = Date.UTC(2026, 0, 1)

test('delays grow by a factor of four up to twelve hours, with a jitter of a fifth', () => {
  const middle = Array.from({ length: 9 }, (_, index) => retryDelayMs(index + 1, 0.5) / secondMs)
  assert.deepEqual(middle, [5, 20, 80, 320, 1280, 5120, 20_480, 43_200, 43_200])
  assert.equal(retryDelayMs(1, 0), 4 * secondMs)
  assert.equal(Math.round(retryDelayMs(1, 1)), 6 * secondMs)
  assert.ok(retryDelayMs(1000, 0.999) <= longestDelayMs)
})

test('a delivery is retried for three days', () => {
  let now = start
  let failures = 0
  for (;;) {
    failures++
    const dueMs = retryAt({ failures, now, retryAfterMs: undefined, random: 0.5 })
    if (dueMs === undefined) break
    assert.ok(dueMs > now)
    now = dueMs
  }
  assert.ok(now - start <= 72 * hourMs)
  assert.ok(now - start > 60 * hourMs)
  assert.equal(failures, 13)
})

test('Retry-After can postpone an attempt by at most a day, and never hasten it', () => {
  const dueAfter = (retryAfterMs: number) => retryAt({ failures: 2, now: start, retryAfterMs, random: 0.5 })
  assert.equal(dueAfter(secondMs), start + 20 * secondMs)
  assert.equal(dueAfter(hourMs), start + hourMs)
  assert.equal(dueAfter(1e15), start + 24 * hourMs)
})

test('Retry-After is seconds or an HTTP date (RFC 9110, 10.2.3)', () => {
  assert.equal(parseRetryAfter('120', start), 120 * secondMs)
  assert.equal(parseRetryAfter('Thu, 01 Jan 2026 00:01:00 GMT', start), 60 * secondMs)
  assert.equal(parseRetryAfter('Thu, 01 Jan 2025 00:01:00 GMT', start), 0)
  for (const none of [
    undefined,
    '',
    '-1',
    '1.5',
    'tomorrow',
    '2026-01-02',
    '99999999999999',
    'Xxx, 99 Yyy 2026 00:00:00 GMT',
  ]) {
    assert.equal(parseRetryAfter(none, start), undefined, String(none))
  }
})

test('the timetable runs entries in the order of their times, not in the order of insertion', async () => {
  const clock = fakeClock()
  const timetable = new Timetable(clock)
  const called: number[] = []
  const delays = Array.from({ length: 200 }, (_, index) => ((index * 7919) % 200) * 1000)
  for (const delay of delays) timetable.add(clock.now() + delay, () => called.push(delay))
  assert.deepEqual(called, [])
  await clock.advance(200_000)
  assert.deepEqual(
    called,
    [...delays].sort((a, b) => a - b),
  )
})

test('the timetable keeps entries days ahead, and runs none after it is closed', async () => {
  const clock = fakeClock()
  const timetable = new Timetable(clock)
  let calls = 0
  timetable.add(clock.now() + 72 * hourMs, () => calls++)
  await clock.advance(72 * hourMs - 1)
  assert.equal(calls, 0)
  await clock.advance(1)
  assert.equal(calls, 1)
  timetable.add(clock.now() + 1, () => calls++)
  timetable.close()
  await clock.advance(hourMs)
  assert.equal(calls, 1)
})
