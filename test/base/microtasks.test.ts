/** Queued microtasks can be run within a turn of the event loop. A change of Node's internals fails here first. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runMicrotasks } from '../../src/base/microtasks.ts'

/** The order in which things ran, within one callback of the event loop. */
function stepsOf(start: (note: (step: string) => void) => void): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    setImmediate(() => {
      try {
        const steps: string[] = []
        start(step => steps.push(step))
        steps.push('started')
        runMicrotasks()
        resolve([...steps, 'drained'])
      } catch (error) {
        reject(error)
      }
    })
  })
}

test('all microtasks run, those that others queue too, and nothing else', async () => {
  const steps = await stepsOf(note => {
    setImmediate(() => note('immediate'))
    setTimeout(() => note('timer'), 0)
    void (async () => {
      for (const step of ['await 1', 'await 2']) {
        await null
        note(step)
      }
      process.nextTick(() => {
        note('tick')
        queueMicrotask(() => note('last'))
      })
    })()
  })
  assert.deepEqual(steps, ['started', 'await 1', 'await 2', 'tick', 'last', 'drained'])
})

test('without queued microtasks nothing happens, and later ones run as usual', async () => {
  assert.deepEqual(await stepsOf(() => undefined), ['started', 'drained'])
  assert.equal(await Promise.resolve(3), 3)
})
