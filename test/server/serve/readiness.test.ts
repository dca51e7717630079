/** Readiness checks: one check serves all requests within a second, and no request waits forever. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ApiError } from '../../../src/base/errors.ts'
import { Readiness } from '../../../src/server/serve/monitoring/readiness.ts'

test('requests at the same time, or within the lifetime of a check, share one check', async () => {
  let checks = 0
  const check = async () => void checks++
  const readiness = new Readiness(check, { sharedMs: 60_000 })
  await Promise.all(Array.from({ length: 100 }, () => readiness.require()))
  await readiness.require()
  assert.equal(checks, 1)
})

test('an expired check is repeated', async () => {
  let checks = 0
  const readiness = new Readiness(async () => void checks++, { sharedMs: 0 })
  await readiness.require()
  await readiness.require()
  assert.equal(checks, 2)
})

test('a failure is shared, too, and ends with the next check', async () => {
  let fails = true
  const check = async () => {
    if (fails) throw new ApiError('UNAVAILABLE', 'The disk is full.')
  }
  const readiness = new Readiness(check, { sharedMs: 50 })
  await Promise.all([1, 2].map(() => assert.rejects(readiness.require(), { message: 'The disk is full.' })))
  fails = false
  await assert.rejects(readiness.require(), { message: 'The disk is full.' })
  await wait(60)
  await readiness.require()
})

test('a check that hangs is not started again, and its requests fail in time', async () => {
  let checks = 0
  const hanging = Promise.withResolvers<void>()
  const check = () => {
    checks++
    return hanging.promise
  }
  const readiness = new Readiness(check, { sharedMs: 0, timeoutMs: 20 })
  const timeoutReply = { code: 'UNAVAILABLE', message: 'The database does not answer in time.' }
  await Promise.all([
    assert.rejects(readiness.require(), timeoutReply),
    assert.rejects(readiness.require(), timeoutReply),
  ])
  await assert.rejects(readiness.require(), timeoutReply)
  assert.equal(checks, 1)
  hanging.resolve()
  await wait(0)
  await readiness.require()
  assert.equal(checks, 2)
})
