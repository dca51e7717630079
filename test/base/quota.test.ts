/** The limit of what each caller may have open. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Quota } from '../../src/base/quota.ts'

test('each caller may open up to the limit, independently of others', () => {
  const quota = new Quota(2, 'subscriptions')
  quota.take('ann')
  quota.take('ann')
  assert.throws(() => quota.take('ann'), {
    code: 'RATE_LIMITED',
    message: 'You have 2 open subscriptions; the maximum is 2.',
  })
  quota.take('ben')
  quota.release('ann')
  quota.take('ann')
  assert.throws(() => quota.take('ann'), { code: 'RATE_LIMITED' })
})

test('releasing more often than taking does not raise the limit', () => {
  const quota = new Quota(2, 'subscriptions')
  quota.take('ann')
  for (let round = 0; round < 5; round++) quota.release('ann')
  quota.take('ann')
  quota.take('ann')
  assert.throws(() => quota.take('ann'), { code: 'RATE_LIMITED' })
})
