import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SteppedClock } from '../../../src/tools/testing/clock.ts'

test('a timer that an earlier due timer cancels does not run', () => {
  const clock = new SteppedClock('2026-01-01T00:00:00Z')
  const ran: string[] = []
  let cancel = () => {}
  clock.after(1000, () => {
    ran.push('first')
    cancel()
  })
  cancel = clock.after(2000, () => ran.push('second'))
  clock.advance({ minutes: 1 })
  assert.deepEqual(ran, ['first'])
})

test('due timers run in the order of their times, each once', () => {
  const clock = new SteppedClock('2026-01-01T00:00:00Z')
  const ran: string[] = []
  clock.after(2000, () => ran.push('second'))
  clock.after(1000, () => ran.push('first'))
  clock.advance({ minutes: 1 })
  clock.advance({ minutes: 1 })
  assert.deepEqual(ran, ['first', 'second'])
})
