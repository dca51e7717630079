/** How many things each caller may have open at a time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Quota } from '../../src/events/quota.ts'

test('exactly so many are open at a time, of each caller by itself', () => {
  const quota = new Quota(2, 'subscriptions')
  quota.take('ann')
  quota.take('ann')
  assert.throws(() => quota.take('ann'), {
    code: 'RATE_LIMITED',
    message: 'You have 2 open subscriptions, and may have 2.',
  })
  quota.take('ben')
  quota.release('ann')
  quota.take('ann')
  assert.throws(() => quota.take('ann'), { code: 'RATE_LIMITED' })
})

test('what is given back is what was taken, however often', () => {
  const quota = new Quota(2, 'subscriptions')
  quota.take('ann')
  for (let round = 0; round < 5; round++) quota.release('ann')
  quota.take('ann')
  quota.take('ann')
  assert.throws(() => quota.take('ann'), { code: 'RATE_LIMITED' })
})
