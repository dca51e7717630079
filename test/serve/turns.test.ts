import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Turns } from '../../src/serve/turns.ts'

test('so many of a key at once, in the order in which they came', async () => {
  const turns = new Turns(2, 10)
  const order: number[] = []
  let running = 0
  let most = 0
  const work = async (at: number) => {
    const end = await turns.take('a')
    order.push(at)
    running++
    most = Math.max(most, running)
    await setImmediate()
    running--
    end?.()
  }
  await Promise.all([1, 2, 3, 4, 5, 6].map(work))
  assert.deepEqual([order, most, running], [[1, 2, 3, 4, 5, 6], 2, 0])
})

test('keys do not wait for each other, and beyond the bound nobody waits', async () => {
  const turns = new Turns(1, 1)
  const first = await turns.take('a')
  const second = turns.take('a')
  assert.ok(await turns.take('b'))
  assert.equal(await turns.take('a'), undefined)
  first?.()
  assert.ok(await second)
})

test('a turn ends once, however often that is said', async () => {
  const turns = new Turns(1, 10)
  const first = await turns.take('a')
  const [second, third] = [turns.take('a'), turns.take('a')]
  first?.()
  first?.()
  await second
  assert.equal(await Promise.race([third, setImmediate('waits')]), 'waits')
  ;(await second)?.()
  ;(await third)?.()
  assert.ok(await turns.take('a'))
})
