/** Work that no request waits for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createBackground } from '../../src/identity/background.ts'

test('`idle` also waits for work that other work has started', async () => {
  const { background, idle } = createBackground(error => assert.fail(String(error)))
  const done: string[] = []
  background(async () => {
    await setImmediate()
    background(async () => {
      await setImmediate()
      done.push('inner')
    })
    done.push('outer')
  })
  await idle()
  assert.deepEqual(done, ['outer', 'inner'])
})

test('failing work is reported, and other work still finishes', async () => {
  const faults: unknown[] = []
  const { background, idle } = createBackground(error => faults.push(error))
  let isDone = false
  background(() => Promise.reject(new Error('no route to the mail server')))
  background(async () => {
    await setImmediate()
    isDone = true
  })
  await idle()
  assert.equal(isDone, true)
  assert.match(String(faults), /no route/)
})
