import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { KeyedSemaphore } from '../../../src/server/serve/credentials/keyed-semaphore.ts'

test('a key has a limited number of holders, in the order of their arrival', async () => {
  const semaphore = new KeyedSemaphore(2, 10)
  const order: number[] = []
  let running = 0
  let most = 0
  const work = async (index: number) => {
    const end = await semaphore.acquire('a')
    order.push(index)
    running++
    most = Math.max(most, running)
    await setImmediate()
    running--
    end?.()
  }
  await Promise.all([1, 2, 3, 4, 5, 6].map(work))
  assert.deepEqual([order, most, running], [[1, 2, 3, 4, 5, 6], 2, 0])
})

test('keys do not wait for each other, and a full queue refuses further waiters', async () => {
  const semaphore = new KeyedSemaphore(1, 1)
  const first = await semaphore.acquire('a')
  const second = semaphore.acquire('a')
  assert.ok(await semaphore.acquire('b'))
  assert.equal(await semaphore.acquire('a'), undefined)
  first?.()
  assert.ok(await second)
})

test('releasing twice frees one place', async () => {
  const semaphore = new KeyedSemaphore(1, 10)
  const first = await semaphore.acquire('a')
  const [second, third] = [semaphore.acquire('a'), semaphore.acquire('a')]
  first?.()
  first?.()
  await second
  assert.equal(await Promise.race([third, setImmediate('waits')]), 'waits')
  ;(await second)?.()
  ;(await third)?.()
  assert.ok(await semaphore.acquire('a'))
})
